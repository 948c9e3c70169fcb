// outage: the console while a worker dies and Redis restarts. It never shows what was as what is.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {accessible, base, call, patience, sell, visit} from './harness.mjs';

const has = (where, text) => where.filter({hasText: text}).waitFor(patience);
const befall = (what) => fetch(`${base}/fault/${what}`, {method: 'POST'});

test('a worker dies', async (t) => {
  const page = await visit(t, '/console', {user: 'Admin'});
  const programs = page.locator('#process-rows td:nth-child(2)', {hasText: 'worker'});
  await programs.nth(1).waitFor(patience); // both have spoken
  const {name} = await (await befall('worker')).json();
  await has(page.locator('#troubles'), `${name} has said nothing since`);
  await has(page.locator('#process-rows tr', {hasText: name}), 'silent');
});

test('a message that cannot be stored is buried, and dropped once somebody says so', async (t) => {
  const page = await visit(t, '/console', {user: 'Admin'});
  await has(page.locator('#no-dead'), 'No message is buried.');
  await befall('message');
  await has(page.locator('#dead'), 'malformed');
  await has(page.locator('[data-fact="deadCount"]'), '1');
  await page.locator('#dead').getByRole('button', {name: 'Drop'}).click();
  await page.getByRole('dialog').getByRole('button', {name: 'Cancel'}).click();
  await has(page.locator('#dead'), 'malformed');
  await page.locator('#dead').getByRole('button', {name: 'Drop'}).click();
  await page.getByRole('button', {name: 'Delete it for ever'}).click();
  await has(page.locator('#no-dead'), 'No message is buried.');
  await has(page.locator('#log'), 'drop');
});

test('a message whose buyer can be read is replayed once somebody says so', async (t) => {
  const id = await sell({title: 'Ceylon', total: 3});
  const page = await visit(t, '/console', {user: 'Admin'});
  const replay = page.locator('#dead').getByRole('button', {name: 'Replay'});
  await befall(`message-of-a-buyer?voucher=${id}`);
  await has(page.locator('#dead'), `user 42, voucher ${id}: malformed`);
  await replay.click();
  await has(page.getByRole('dialog'), 'Admits user 42 anew under a new order');
  await accessible(page);
  await page.getByRole('dialog').getByRole('button', {name: 'Cancel'}).click();
  await has(page.locator('#dead'), 'malformed');
  await replay.click();
  await page.getByRole('button', {name: 'Admit the user anew'}).click();
  const accepted = page.locator('#troubles p', {hasText: /Order \d+ is accepted\./});
  const [order] = /\d+/.exec(await accepted.textContent());
  await has(page.locator('#no-dead'), 'No message is buried.');
  await has(page.locator('#log'), 'replay');
  const {body} = await call('Admin', 'GET', `/api/v1/orders/${order}?wait=10s`);
  assert.deepEqual([body.userId, body.voucherId, body.status], ['42', id, 'created']);
  await has(page.locator('article', {hasText: 'Ceylon'}).locator('[data-fact="left"]'), '2 of 3');
});

test('Redis stops, and comes back', async (t) => {
  await sell({title: 'Assam', total: 7});
  const page = await visit(t, '/console', {user: 'Admin'});
  const left = page.locator('article', {hasText: 'Assam'}).locator('[data-fact="left"]');
  const books = page.locator('article', {hasText: 'Assam'}).locator('[data-fact="books"]');
  await has(left, '7 of 7');
  await befall('redis-stops');
  await has(page.locator('#troubles'), 'Redis does not answer (unavailable). Its numbers are from');
  await has(left, 's ago');
  await has(books, 'not known');
  await has(page.locator('[data-fact="waiting"]'), 's ago');
  await has(page.locator('#line'), 'live');
  await accessible(page);
  await befall('redis-starts');
  await has(left, /^7 of 7$/);
  await has(books, 'balance');
});

test('the api stops, and comes back', async (t) => {
  const page = await visit(t, '/console', {user: 'Admin'});
  await has(page.locator('#line'), 'live');
  await befall('api-stops');
  await has(page.locator('#line'), 'no connection');
  await has(page.locator('#troubles'), 'What you see is from then.');
  await befall('api-starts');
  await has(page.locator('#line'), 'live');
});
