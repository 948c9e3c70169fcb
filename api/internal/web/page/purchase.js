// purchase: one buyer's try to get one voucher. It asks until there is an answer that
// stands, at the pace the server names; asking twice is safe, since the same buyer gets the
// same order. That it asks is noted in the browser, so that a reload goes on with it.

import {call, Refusal, Silence} from './api.js';
import * as session from './session.js';
import {backoff, pause} from './wait.js';

const goOnMax = 120_000; // ms after which a reload does not buy any more, but only looks

const noted = (user) => `seckill.asking.${user}`;
const notes = (user) => JSON.parse(localStorage.getItem(noted(user)) ?? '{}');

function note(user, voucher, at) {
  const all = notes(user);
  if (at) all[voucher] = at;
  else delete all[voucher];
  localStorage.setItem(noted(user), JSON.stringify(all));
}

/** unfinished lists the vouchers that user was asking for when the page went away. */
export function unfinished(user) {
  const age = (at) => Date.now() - at;
  return Object.entries(notes(user)).filter(([, at]) => age(at) >= 0 && age(at) < goOnMax).map(([voucher]) => voucher);
}

export class Purchase {
  phase = 'idle'; // asking, waiting, idle
  fault = null; // the Refusal or Silence that came last
  resumes = 0; // performance.now() of the next try, while waiting
  #voucher;
  #on;
  #end = null;

  /** on.changed() hears of each phase, on.bought(answer) of the order, on.unsure() that there may be one. */
  constructor(voucher, on) {
    this.#voucher = voucher;
    this.#on = on;
  }

  get busy() {
    return this.phase !== 'idle';
  }

  async start() {
    if (this.busy) return;
    const user = session.user();
    const end = this.#end = new AbortController();
    note(user, this.#voucher, Date.now());
    this.fault = null;
    const answer = await this.#ask(end.signal);
    note(user, this.#voucher, null);
    this.#set('idle');
    if (user !== session.user()) return;
    if (answer) this.#on.bought(answer);
    else if (end.signal.aborted) this.#on.unsure(); // the last try may have been heard
  }

  /** stop gives up trying. */
  stop() {
    this.#end?.abort();
  }

  /** #ask resolves to the order, or to null where there is none or nobody wants it any more. */
  async #ask(signal) {
    for (let failures = 0; !signal.aborted; failures++) {
      this.#set('asking');
      try {
        return (await call('POST', `/api/v1/vouchers/${this.#voucher}/orders`, {signal})).body;
      } catch (e) {
        if (signal.aborted) return null;
        this.fault = e;
        const wait = e instanceof Silence ? backoff(failures) : e instanceof Refusal ? e.retryAfter : null;
        if (wait === null) return null;
        this.resumes = performance.now() + wait;
        this.#set('waiting');
        await pause(wait, signal);
      }
    }
    return null;
  }

  #set(phase) {
    this.phase = phase;
    this.#on.changed();
  }
}
