// way: what becomes of an order, step by step, and what its buyer can do about it.

import * as clock from './clock.js';
import {el, enable, show, text} from './dom.js';
import {countdown} from './format.js';
import {has, t} from './i18n.js';

const steps = ['queued', 'created', 'paid'];

/** statusOf is the status to show of an order; the shop may not know one that was accepted. */
export const statusOf = (order) => (order.unknown ? 'unknown' : order.status);

export class Way {
  #steps = steps.map(() => el('li', {}));
  #list = el('ol', {class: 'way'}, ...this.#steps);
  #line = el('p', {role: 'status'});
  #deadline = el('p', {class: 'deadline number'});
  #pay = el('button', {type: 'button', class: 'main number'});
  #cancel = el('button', {type: 'button', class: 'quiet'});
  #actions = el('div', {class: 'actions'}, this.#pay, this.#cancel);
  #fault = el('p', {class: 'fault', role: 'status'});

  constructor(on) {
    this.#pay.addEventListener('click', on.pay);
    this.#cancel.addEventListener('click', on.cancel);
    this.root = el('div', {class: 'order', hidden: true}, this.#list, this.#line, this.#deadline, this.#actions, this.#fault);
  }

  /** update shows the order; deed is {name, busy, fault} of a payment or cancellation. Focus goes to next. */
  update({order, price, deed, canPay}, next) {
    show(this.root, Boolean(order), next);
    if (!order) return;
    const status = statusOf(order);
    this.#walk(status);
    text(this.#line, order.stale ? `${line(order, status)} ${t('stale')}` : line(order, status));
    const left = order.expiresAt ? clock.until(order.expiresAt) : Infinity;
    const open = status === 'created';
    show(this.#deadline, open && left < Infinity, next);
    text(this.#deadline, left > 0 ? `${t('payWithin')} ${countdown(left)}` : t('overdue'));
    this.#offer(open, deed, price, canPay, next);
  }

  #walk(status) {
    const at = steps.indexOf(status);
    show(this.#list, at >= 0);
    this.#steps.forEach((li, i) => {
      text(li, t(i === 0 ? 'accepted' : steps[i]));
      li.className = i <= at ? 'done' : '';
      if (i === at) li.setAttribute('aria-current', 'step');
      else li.removeAttribute('aria-current');
    });
  }

  #offer(open, deed, price, canPay, next) {
    const doing = (name) => deed.busy && deed.name === name;
    text(this.#pay, doing('pay') ? t('paying') : t('pay', {price}));
    text(this.#cancel, doing('cancel') ? t('cancelling') : t('cancel'));
    for (const b of [this.#pay, this.#cancel]) enable(b, !deed.busy, next);
    show(this.#pay, canPay, next);
    show(this.#actions, open, next);
    text(this.#fault, deed.fault ? (deed.fault.code ? deed.fault.message : t('silent')) : '');
  }
}

function line(order, status) {
  const why = order.unknown ?? (has(order.reason) ? t(order.reason) : order.reason);
  return t(status === 'cancelled' && order.reason === 'expired' ? 'expiredLine' : `${status}Line`, {why});
}
