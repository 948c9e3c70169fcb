// What a buyer does at the storefront.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {accessible, call, change, fits, ordersOf, picture, sell, tokenOf, visit} from './harness.mjs';

const cardOf = (page, title) => page.getByRole('article', {name: title});
const button = (where, name) => where.getByRole('button', {name});
const says = (where, text) => where.getByText(text).first().waitFor();
const purchases = (page) => {
  const seen = [];
  page.on('request', (r) => r.method() === 'POST' && r.url().endsWith('/orders') && seen.push(r));
  return seen;
};

test('a button opens with the sale', async (t) => {
  const id = await sell({title: 'Opening', begins: 3_600_000});
  const page = await visit(t, '/', {user: 'Ada'});
  const card = cardOf(page, 'Opening');
  const asked = purchases(page);
  assert.ok(await button(card, /Opens in/).isDisabled());
  await change(id, {beginsAt: new Date(Date.now() + 3000).toISOString()});
  await button(card, /Buy for/).click(); // waits until it can be clicked
  await says(card, 'Pay within');
  assert.equal(asked.length, 1);
  assert.equal((await asked[0].response()).status(), 202);
  assert.deepEqual(await ordersOf('Ada', id), ['created']);
});

test('two clicks are one order, and paying ends it', async (t) => {
  const id = await sell({title: 'Twice'});
  const page = await visit(t, '/', {user: 'Ada'});
  const card = cardOf(page, 'Twice');
  const asked = purchases(page);
  await button(card, /Buy for/).dblclick();
  await says(card, /Pay within 1[45]:\d\d/);
  assert.equal(asked.length, 1);
  await button(card, /Pay ¥99.00/).dblclick();
  await says(card, 'Paid. Thank you!');
  assert.deepEqual(await ordersOf('Ada', id), ['paid']);
});

test('an order goes on after a reload, even if nobody heard the answer', async (t) => {
  const id = await sell({title: 'Reload'});
  const page = await visit(t, '/', {user: 'Ada'});
  let heard;
  const bought = new Promise((resolve) => { heard = resolve; });
  await page.route('**/orders', async (route) => {
    await route.fetch();
    heard(); // by the server; the page never gets the answer
  }, {times: 1});
  await button(cardOf(page, 'Reload'), /Buy for/).click();
  await bought;
  await page.reload();
  await says(cardOf(page, 'Reload'), 'Pay within');
  assert.deepEqual(await ordersOf('Ada', id), ['created']);
});

test('an order that waits is shown, a reload later too, and then goes its way', async (t) => {
  await sell({title: 'Waiting'});
  const page = await visit(t, '/', {user: 'Ada'});
  const card = cardOf(page, 'Waiting');
  let stored;
  const wait = new Promise((resolve) => { stored = resolve; });
  for (const news of ['**/events', '**/api/v1/orders?*']) {
    await page.route(news, async (route) => {
      await wait;
      await route.continue().catch(() => {}); // the reload took it back
    });
  }
  await button(card, /Buy for/).click();
  await says(card, 'Accepted: a unit is kept for you.');
  await page.reload();
  await says(card, 'Accepted: a unit is kept for you.');
  stored();
  await says(card, 'Pay within');
});

test('a rejected order says why', async (t) => {
  const id = await sell({title: 'Rejected'});
  const page = await visit(t, '/', {user: 'Chen'});
  await page.route('**/events', (route) => {
    const [, orderId] = route.request().url().match(/orders\/(\d+)/);
    const order = {orderId, voucherId: id, userId: '44', status: 'rejected', reason: 'short'};
    return route.fulfill({contentType: 'text/event-stream', body: `event: order\ndata: ${JSON.stringify(order)}\n\n`});
  });
  await button(cardOf(page, 'Rejected'), /Buy for/).click();
  await says(cardOf(page, 'Rejected'), 'The order was not accepted in the end: no unit was left.');
});

test('a lost answer is asked for again', async (t) => {
  const id = await sell({title: 'Lost'});
  const page = await visit(t, '/', {user: 'Ada'});
  const asked = purchases(page);
  await page.route('**/orders', async (route) => {
    await route.fetch();
    await route.abort('connectionreset');
  }, {times: 1});
  await button(cardOf(page, 'Lost'), /Buy for/).click();
  await says(cardOf(page, 'Lost'), 'Pay within');
  assert.equal(asked.length, 2);
  assert.equal((await asked[1].response()).status(), 200);
  assert.deepEqual(await ordersOf('Ada', id), ['created']);
});

test('a line that breaks is said, and mends', async (t) => {
  await sell({title: 'Offline'});
  const page = await visit(t, '/', {user: 'Ada'});
  await button(cardOf(page, 'Offline'), /Buy for/).waitFor();
  await page.context().setOffline(true);
  await says(page, 'The shop cannot be reached');
  await button(cardOf(page, 'Offline'), /Buy for/).click();
  await says(cardOf(page, 'Offline'), 'No answer yet');
  await page.context().setOffline(false);
  await says(cardOf(page, 'Offline'), 'Pay within');
  await page.getByText('The shop cannot be reached').waitFor({state: 'detached'});
});

test('a busy shop is asked again at its own pace, until the buyer has had enough', async (t) => {
  const id = await sell({title: 'Busy'});
  const page = await visit(t, '/', {user: 'Ada'});
  const card = cardOf(page, 'Busy');
  const asked = purchases(page);
  await page.route('**/orders', (route) => route.fulfill({status: 503, contentType: 'application/problem+json',
    headers: {'Retry-After': '60'}, json: {code: 'OVERLOADED', title: 'Too busy'}}));
  await button(card, /Buy for/).click();
  await says(card, 'Too busy');
  assert.ok(await button(card, /Trying again in/).isDisabled());
  await button(card, 'Stop trying').click();
  await button(card, /Buy for/).waitFor();
  assert.equal(asked.length, 1);
  assert.deepEqual(await ordersOf('Ada', id), []);
});

test('what is sold out opens again for whoever watches', async (t) => {
  const id = await sell({title: 'Last one', total: 1});
  const page = await visit(t, '/', {user: 'Ada'});
  const card = cardOf(page, 'Last one');
  await says(card, '1 of 1 left');
  await call('Ben', 'POST', `/api/v1/vouchers/${id}/orders`);
  await says(card, '0 of 1 left');
  assert.ok(await button(card, 'Sold out').isDisabled());
  await change(id, {total: 2});
  await button(card, /Buy for/).click();
  await says(card, 'Pay within');
});

test('a cancelled order gives way to a new one', async (t) => {
  const id = await sell({title: 'Second thoughts'});
  const page = await visit(t, '/', {user: 'Ada'});
  const card = cardOf(page, 'Second thoughts');
  await button(card, /Buy for/).click();
  await button(card, 'Cancel order').click();
  await button(page, 'Keep it').click();
  await button(card, 'Cancel order').click();
  await button(page, 'Give it up').click();
  await says(card, 'You cancelled this order.');
  await button(card, /Buy again/).click();
  await says(card, 'Pay within');
  assert.deepEqual((await ordersOf('Ada', id)).sort(), ['cancelled', 'created']);
});

test('keys are enough', async (t) => {
  await sell({title: 'Keys'});
  const page = await visit(t, '/');
  await button(page, 'Sign in').first().focus();
  await page.keyboard.press('Enter');
  await accessible(page);
  await button(page, 'Ben').focus();
  await page.keyboard.press('Enter');
  await says(page, 'User 43 · Sign out');
  await button(cardOf(page, 'Keys'), /Buy for/).focus();
  await page.keyboard.press('Enter');
  await says(cardOf(page, 'Keys'), 'Pay within');
  assert.ok(await cardOf(page, 'Keys').evaluate((card) => card.contains(document.activeElement)), 'focus is lost');
});

test('a token that is refused is forgotten, and that is said', async (t) => {
  const page = await visit(t, '/', {user: 'Ada'});
  await button(page, 'User 42 · Sign out').waitFor();
  await page.evaluate(() => localStorage.setItem('seckill.token', `${localStorage.getItem('seckill.token')}x`));
  await page.reload();
  await says(page, 'Your token is not valid any more.');
  await button(page, 'Sign in').first().waitFor();
});

test('a token can be pasted', async (t) => {
  const page = await visit(t, '/');
  await button(page, 'Sign in').first().click();
  await page.getByLabel('Token').fill('nonsense');
  await button(page, 'Use this token').click();
  await says(page, 'This is not a token.');
  await page.getByLabel('Token').fill(tokenOf('Chen'));
  await button(page, 'Use this token').click();
  await says(page, 'User 44 · Sign out');
  await page.reload();
  await button(page, 'User 44 · Sign out').click();
  await button(page, 'Sign in').first().waitFor();
});

for (const [name, look] of Object.entries({light: {}, dark: {colorScheme: 'dark'}, phone: {viewport: {width: 320, height: 640}, hasTouch: true, isMobile: true}, still: {reducedMotion: 'reduce'}})) {
  test(`it is readable in two languages: ${name}`, async (t) => {
    await sell({title: `看 ${name}`, begins: 3_600_000});
    const page = await visit(t, '/', {user: 'Ada', locale: 'zh-CN', ...look});
    await button(cardOf(page, `看 ${name}`), /距开始/).waitFor();
    await page.getByRole('heading', {name: '我的订单'}).waitFor();
    await fits(page);
    await accessible(page);
    await button(page, 'English').click();
    await button(cardOf(page, `看 ${name}`), /Opens in/).waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.lang), 'en');
    await fits(page);
    await accessible(page);
    await page.reload();
    await button(page, '中文').waitFor();
  });
}

test('a picture for the README', async (t) => {
  const all = (await call('Admin', 'GET', '/api/v1/vouchers?limit=100')).body.items;
  const ids = [
    await sell({title: 'Dragon Well tea, 250 g', total: 8}),
    await sell({title: 'Concert, row A', total: 6, price: 58000}),
    await sell({title: 'Ceramic tea set', total: 20, price: 16900, begins: 95_000}),
  ];
  for (const user of ['Ben', 'Chen', 'Admin']) await call(user, 'POST', `/api/v1/vouchers/${ids[1]}/orders`);
  await call('Chen', 'POST', `/api/v1/vouchers/${ids[0]}/orders`);
  const page = await visit(t, '/', {user: 'Ben', viewport: {width: 1100, height: 670}});
  await page.route('**/api/v1/vouchers?*', async (route) => { // without those of the other tests
    const response = await route.fetch();
    const body = await response.json();
    body.items = body.items.filter((v) => !all.some((a) => a.voucherId === v.voucherId));
    await route.fulfill({response, json: body});
  });
  await page.route('**/api/v1/orders?*', async (route) => {
    const response = await route.fetch();
    const body = await response.json();
    body.orders = body.orders.filter((o) => ids.includes(o.voucherId));
    await route.fulfill({response, json: body});
  });
  await page.reload();
  await button(cardOf(page, 'Dragon Well'), /Buy for/).waitFor();
  await says(cardOf(page, 'Concert'), 'Pay within');
  await picture(page, 'storefront');
});
