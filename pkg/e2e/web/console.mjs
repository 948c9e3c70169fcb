// console: what an admin sees and does, on a sale that is well.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {accessible, call, fits, patience, picture, sell, visit} from './harness.mjs';

const card = (page, title) => page.locator('article', {hasText: title});
const fact = (page, title, name) => card(page, title).locator(`[data-fact="${name}"]`);
const has = (where, text) => where.filter({hasText: text}).waitFor(patience);

/** decide opens a dialog by its button, fills it in and confirms; it resolves to the dialog. */
async function decide(page, button, deed, fields = {}) {
  await button.click();
  const dialog = page.getByRole('dialog');
  for (const [label, value] of Object.entries(fields)) await dialog.getByLabel(label, {exact: true}).fill(value);
  await dialog.getByRole('button', {name: deed}).click();
  return dialog;
}

test('it is for admins', async (t) => {
  const nobody = await visit(t, '/console');
  await nobody.getByText('Sign in with a token of role admin').waitFor(patience);
  await accessible(nobody);
  const buyer = await visit(t, '/console', {user: 'Ada'});
  await buyer.getByText('This token is not of role admin.').waitFor(patience);
  assert.equal(await buyer.locator('#tiles').isVisible(), false);
});

test('a sale as it is now', async (t) => {
  const id = await sell({title: 'Jasmine', total: 2});
  const page = await visit(t, '/console', {user: 'Admin'});
  await has(fact(page, 'Jasmine', 'left'), '2 of 2');
  await has(fact(page, 'Jasmine', 'books'), 'balance');
  for (const user of ['Ada', 'Ben', 'Chen']) await call(user, 'POST', `/api/v1/vouchers/${id}/orders`);
  await has(fact(page, 'Jasmine', 'left'), '0 of 2');
  await has(fact(page, 'Jasmine', 'stored'), '2');
  await has(fact(page, 'Jasmine', 'requests'), '3');
  await has(fact(page, 'Jasmine', 'refused'), 'sold out 1');
  await has(card(page, 'Jasmine'), 'sold out');
  await has(page.locator('#process-rows tr', {hasText: 'worker'}).first(), 's ago');
  await accessible(page);
  await page.setViewportSize({width: 360, height: 740});
  await fits(page);
  await page.getByRole('button', {name: '中文'}).click();
  await has(card(page, 'Jasmine'), '已售罄');
  await accessible(page);
});

test('a sale is started, restocked and ended, each after it was confirmed', async (t) => {
  const page = await visit(t, '/console', {user: 'Admin'});
  await decide(page, page.getByRole('button', {name: 'New sale'}), 'Create this sale', {Title: 'Oolong', Units: '5'});
  await has(page.locator('#troubles'), '“Oolong” is created.');
  await has(fact(page, 'Oolong', 'left'), '5 of 5');

  await decide(page, card(page, 'Oolong').getByRole('button', {name: 'Change'}), 'Change this sale', {Units: '8'});
  await has(fact(page, 'Oolong', 'left'), '8 of 8');
  await decide(page, card(page, 'Oolong').getByRole('button', {name: 'Sync'}), 'Rebuild it');
  await has(page.locator('#troubles'), '“Oolong” is rebuilt.');

  await card(page, 'Oolong').getByRole('button', {name: 'Audit'}).click();
  await has(page.getByRole('dialog'), 'The books balance, and nothing is under way.');
  await accessible(page);
  await page.getByRole('button', {name: 'Done'}).click();

  await card(page, 'Oolong').getByRole('button', {name: 'End sale'}).click();
  await page.keyboard.press('Enter'); // whoever only presses Enter ends nothing
  await page.getByRole('dialog').waitFor({state: 'detached', ...patience});
  await has(card(page, 'Oolong'), 'on sale');
  await decide(page, card(page, 'Oolong').getByRole('button', {name: 'End sale'}), 'End the sale now');
  await has(card(page, 'Oolong'), 'ended');
  await has(page.locator('#log'), 'close');
});

test('of two admins the slower one is told', async (t) => {
  const id = await sell({title: 'Matcha'});
  const page = await visit(t, '/console', {user: 'Admin'});
  await card(page, 'Matcha').getByRole('button', {name: 'Change'}).click();
  const {status} = await call('Admin', 'PATCH', `/api/v1/admin/vouchers/${id}`, {total: 20});
  assert.equal(status, 200);
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Units').fill('30');
  await dialog.getByRole('button', {name: 'Change this sale'}).click();
  await has(dialog, 'Somebody changed it meanwhile.');
  await dialog.getByRole('button', {name: 'Cancel'}).click();
  await has(fact(page, 'Matcha', 'left'), '20 of 20');
});

test('a rehearsal with faults, watched', async (t) => {
  const page = await visit(t, '/console', {user: 'Admin', viewport: {width: 1280, height: 1100}});
  const section = page.locator('#rehearsal');
  await section.getByLabel('Buyers').fill('1000');
  await section.getByLabel('Units').fill('100');
  await section.getByLabel('kill a worker').check();
  await section.getByLabel('pause Redis').check();
  await page.locator('#process-rows tr', {hasText: 'worker'}).nth(2).waitFor(patience); // one that was never heard is not missed
  await section.getByRole('button', {name: 'Send the buyers'}).click();
  await has(page.locator('#troubles'), 'Redis does not answer');
  await has(page.locator('#troubles'), 'has said nothing since');
  await has(fact(page, 'Rehearsal', 'latencyShort'), 'ms');
  await page.evaluate(() => scrollTo(0, 0));
  await picture(page, 'console');
  await has(section, /The law holds/);
  await has(section.locator('tr', {hasText: 'stored'}).first(), '100');
  await accessible(page);
});
