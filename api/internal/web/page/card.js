// card: one voucher, what the buyer may do about it, and the way of the buyer's order.

import * as clock from './clock.js';
import {el, enable, show, text} from './dom.js';
import {countdown, dateTime, money, number} from './format.js';
import {t} from './i18n.js';
import {Way} from './way.js';

const tone = {upcoming: 'warn', open: 'good', soldOut: 'bad', ended: ''};

/** stateOf is the state by the server's clock now: an answer may be a second old. */
export function stateOf(v) {
  if (clock.until(v.beginsAt) > 0) return 'upcoming';
  if (clock.until(v.endsAt) <= 0) return 'ended';
  return v.left > 0 ? 'open' : 'soldOut';
}

export class Card {
  #title = el('h3', {});
  #badge = el('span', {class: 'badge'});
  #price = el('p', {class: 'price'});
  #left = el('p', {class: 'soft number'});
  #bar = el('progress', {});
  #when = el('p', {class: 'soft number'});
  #buy = el('button', {type: 'button', class: 'main buy number'});
  #stop = el('button', {type: 'button', class: 'quiet'});
  #actions = el('div', {class: 'actions'}, this.#buy, this.#stop);
  #fault = el('p', {class: 'hint', role: 'status'});
  #way;

  /** on.buy, on.stop, on.pay and on.cancel hear the buttons. */
  constructor(voucherId, on) {
    this.#title.id = `voucher-${voucherId}`;
    this.#way = new Way(on);
    this.#buy.addEventListener('click', on.buy);
    this.#stop.addEventListener('click', on.stop);
    this.root = el('article', {class: 'card', tabindex: '-1', 'aria-labelledby': this.#title.id},
      el('header', {}, this.#title, this.#badge), this.#price, this.#left, this.#bar, this.#when,
      this.#way.root, this.#actions, this.#fault);
  }

  /** update shows {voucher, order, purchase, deed, signedIn, canPay} as they are now. */
  update(view) {
    const {voucher: v, order} = view;
    const state = stateOf(v);
    const price = v.price > 0 ? money(v.price, v.currency) : t('free');
    text(this.#title, v.title);
    text(this.#badge, t(state));
    this.#badge.className = `badge ${tone[state]}`;
    text(this.#price, price);
    text(this.#left, t('left', {left: number(v.left), total: number(v.total)}));
    this.#bar.max = Math.max(1, v.total);
    this.#bar.value = v.left;
    this.#bar.setAttribute('aria-label', t('stock'));
    text(this.#when, when(v, state));
    this.#way.update({order, price, ...view}, this.root);
    this.#offer(view, state, price);
  }

  #offer({voucher, order, purchase, signedIn}, state, price) {
    const holds = order && !order.unknown && ['queued', 'created', 'paid'].includes(order.status);
    const {label, enabled} = button({voucher, order, purchase, signedIn}, state, price);
    text(this.#buy, label);
    enable(this.#buy, Boolean(enabled), this.root);
    show(this.#buy, !holds, this.root);
    text(this.#stop, t('stop'));
    show(this.#stop, purchase.phase === 'waiting', this.root);
    show(this.#actions, !this.#buy.hidden || !this.#stop.hidden);
    text(this.#fault, holds ? '' : complaint(purchase, state));
  }
}

/** button is what the main button says, and whether it can be pressed. */
function button({voucher, order, purchase, signedIn}, state, price) {
  if (purchase.phase === 'asking') return {label: t('asking')};
  if (purchase.phase === 'waiting') return {label: t('tryingIn', {time: countdown(purchase.resumes - performance.now())})};
  if (state === 'ended' || state === 'soldOut') return {label: t(state)};
  if (!signedIn) return {label: t('signInToBuy'), enabled: true};
  if (state === 'upcoming') return {label: `${t('opensIn')} ${countdown(clock.until(voucher.beginsAt))}`};
  return {label: t(order ? 'buyAgain' : 'buy', {price}), enabled: true};
}

/** complaint is why there is no order yet. */
function complaint({fault, phase}, state) {
  if (!fault) return '';
  if (!fault.code) return t('silent');
  if (fault.code !== 'SOLD_OUT') return fault.message;
  return state === 'soldOut' && phase === 'idle' ? t('soldOutSorry') : '';
}

const far = 24 * 3600_000; // ms from which on a date says more than a countdown

function when(v, state) {
  if (state === 'ended') return t('endedAt', {at: dateTime(v.endsAt)});
  if (state !== 'upcoming') return `${t('endsIn')} ${countdown(clock.until(v.endsAt))}`;
  const left = clock.until(v.beginsAt);
  return left > far ? t('opensAt', {at: dateTime(v.beginsAt)}) : `${t('opensIn')} ${countdown(left)}`;
}
