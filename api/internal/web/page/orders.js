// orders: those of the buyer who is signed in. What was accepted is kept in the browser with
// its receipt until it ends, and the receipt is shown with each question: by it the server
// finds the order even where the sale has lost it.

import {call, Refusal} from './api.js';
import * as session from './session.js';
import {follow} from './stream.js';
import {jitter, pause} from './wait.js';

const linesMax = 2; // orders followed at a time: a browser has six connections to a server
const lookEvery = 10_000; // ms between looks at the others

const final = (order) => order.status === 'paid' || order.status === 'cancelled' || order.status === 'rejected';
const kept = (user) => `seckill.orders.${user}`;

export class Orders {
  #user = session.user();
  #orders = new Map();
  #lines = new Map(); // order id -> AbortController
  #end = new AbortController();
  #changed;
  next = null; // the cursor of older orders

  /** changed(order) hears of each order whose status is news, changed() of the whole list. */
  constructor(changed) {
    this.#changed = changed;
    for (const o of this.#kept()) this.#orders.set(o.orderId, {...o, status: 'queued'});
    this.#lookAgain();
  }

  /** list is newest first. */
  list() {
    return [...this.#orders.values()].sort((a, b) => (BigInt(a.orderId) < BigInt(b.orderId) ? 1 : -1));
  }

  /** latest is the order of a voucher that counts: the live one, else the newest. */
  latest(voucher) {
    const all = this.list().filter((o) => o.voucherId === voucher);
    return all.find((o) => o.status !== 'cancelled' && o.status !== 'rejected') ?? all[0];
  }

  /** load asks for the newest orders, or with a cursor for older ones. */
  async load(cursor = '') {
    const {body} = await call('GET', `/api/v1/orders?limit=20&cursor=${cursor}`, {signal: this.#end.signal});
    if (cursor || this.next === null) this.next = body.next ?? '';
    for (const o of body.orders) this.#put(o);
    this.#follow();
    this.#changed();
  }

  /** accept takes the answer to a purchase. */
  accept({orderId, voucherId, status, receipt}) {
    this.#keep([...this.#kept().filter((o) => o.orderId !== orderId), {orderId, voucherId, receipt}]);
    this.#put({...this.#orders.get(orderId), orderId, voucherId, status, receipt});
    this.#follow();
    this.#changed();
  }

  /** update takes an order as an answer shows it. */
  update(order) {
    this.#put(order);
    this.#follow();
    this.#changed();
  }

  close() {
    this.#end.abort();
  }

  #put(order) {
    const before = this.#orders.get(order.orderId);
    if (before && final(before) && !final(order)) return; // an answer that was overtaken
    this.#orders.set(order.orderId, {...order, receipt: order.receipt ?? before?.receipt});
    if (final(order)) this.#keep(this.#kept().filter((o) => o.orderId !== order.orderId));
    if (before?.status !== order.status) this.#changed(order);
  }

  /** #follow holds a line for each of the newest orders that can still change. */
  #follow() {
    const open = this.list().filter((o) => !final(o) && !o.unknown).slice(0, linesMax).map((o) => o.orderId);
    for (const [id, line] of this.#lines) {
      if (open.includes(id)) continue;
      line.abort();
      this.#lines.delete(id);
    }
    for (const id of open) {
      if (!this.#lines.has(id)) this.#hold(id);
    }
  }

  #hold(id) {
    const line = new AbortController();
    this.#lines.set(id, line);
    const {receipt} = this.#orders.get(id);
    follow(`/api/v1/orders/${id}/events`, {
      more: receipt ? {'Seckill-Receipt': receipt} : {},
      signal: AbortSignal.any([line.signal, this.#end.signal]),
      event: (name, order) => this.update(order),
      live: (is) => this.#mark(id, {stale: !is}),
      refused: (e) => this.#mark(id, {unknown: e.message}),
    });
  }

  #mark(id, how) {
    this.#orders.set(id, {...this.#orders.get(id), ...how});
    if (how.unknown) this.#follow();
    this.#changed();
  }

  /** #lookAgain finds what happens to orders without a line. */
  async #lookAgain() {
    for (const {signal} = this.#end; !signal.aborted;) {
      const others = this.list().some((o) => !final(o) && !this.#lines.has(o.orderId));
      if (this.next === null || (others && !document.hidden)) {
        await this.load().catch((e) => e instanceof Refusal && e.status === 401 && this.close());
      }
      await pause(jitter(this.next === null ? 1000 : lookEvery), signal);
    }
  }

  #kept() {
    return JSON.parse(localStorage.getItem(kept(this.#user)) ?? '[]');
  }

  #keep(orders) {
    localStorage.setItem(kept(this.#user), JSON.stringify(orders));
  }
}
