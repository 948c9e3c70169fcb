// vouchers: all of them, asked for once a second in one request.

import {call} from './api.js';
import * as clock from './clock.js';
import {backoff, jitter, pause} from './wait.js';

const every = 1000; // ms
const everyHidden = 15_000;
const pageSize = 100;

/** watch tells changed(list) after each look, and failed(error) after one that found nothing out. */
export async function watch({changed, failed}) {
  const found = new Map();
  let after = ''; // those up to here have ended, and are not asked for again
  for (let failures = 0; ;) {
    try {
      for (const v of await pages(after)) found.set(v.voucherId, v);
      after = lastOfEnded([...found.values()], after);
      failures = 0;
      changed([...found.values()]);
    } catch (e) {
      failures++;
      failed(e);
    }
    await rest(failures > 0 ? backoff(failures) : jitter(document.hidden ? everyHidden : every));
  }
}

async function pages(cursor) {
  const all = [];
  do {
    const sent = performance.now();
    const {body} = await call('GET', `/api/v1/vouchers?limit=${pageSize}&cursor=${cursor}`);
    if (body.items.length > 0) clock.heard(body.items[0].now, sent, performance.now());
    all.push(...body.items);
    cursor = body.next;
  } while (cursor);
  return all;
}

/** lastOfEnded is the id before the first voucher that has not ended; ids ascend, and are cursors. */
function lastOfEnded(list, after) {
  for (const v of list) {
    if (v.state !== 'ended') break;
    after = v.voucherId;
  }
  return after;
}

/** rest ends early when somebody comes back to the page. */
async function rest(ms) {
  const end = new AbortController();
  const look = () => document.hidden || end.abort();
  document.addEventListener('visibilitychange', look);
  await pause(ms, end.signal);
  document.removeEventListener('visibilitychange', look);
}
