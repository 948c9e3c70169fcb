// A buyer who does not pay in time.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {ordersOf, sell, visit} from './harness.mjs';

test('an order that nobody pays is cancelled while its buyer watches', async (t) => {
  const id = await sell({title: 'Slow'});
  const page = await visit(t, '/', {user: 'Ada'});
  const card = page.getByRole('article', {name: 'Slow'});
  await card.getByRole('button', {name: /Buy for/}).click();
  await card.getByText(/Pay within 0:0\d/).waitFor();
  await card.getByText('Cancelled: it was not paid in time.').waitFor();
  await card.getByRole('button', {name: /Buy again/}).waitFor();
  assert.deepEqual(await ordersOf('Ada', id), ['cancelled']);
});
