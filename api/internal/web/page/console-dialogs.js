// console-dialogs: whatever changes something says first what it will do, in a dialog whose
// button names the deed. A call whose answer was lost can be repeated from there.

import {call, Refusal, Silence} from './api.js';
import {el, text} from './dom.js';
import {t} from './i18n.js';

/**
 * ask opens a dialog; act(form data) does the deed and resolves to what is said after it.
 * It resolves to that, or to null if nothing was done.
 */
export function ask({title, what, fields = [], verb, act, lost = 'silence'}) {
  return new Promise((resolve) => {
    let said = null;
    const fault = el('p', {class: 'fault', role: 'alert'});
    const yes = el('button', {type: 'submit', class: 'main'}, verb);
    const no = el('button', {type: 'button', class: 'quiet', onclick: () => dialog.close()}, t('cancel'));
    const form = el('form', {onsubmit: async (e) => {
      e.preventDefault();
      if (yes.disabled) return;
      yes.disabled = true;
      text(fault, '');
      try {
        said = await act(new FormData(form));
        dialog.close();
      } catch (error) {
        yes.disabled = false;
        text(fault, why(error, lost));
      }
    }}, ...fields, fault, el('div', {class: 'actions'}, yes, no));
    const dialog = el('dialog', {'aria-labelledby': 'dialog-title', 'aria-describedby': 'dialog-text'},
      el('h2', {id: 'dialog-title'}, title), el('p', {id: 'dialog-text'}, what), form);
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(said);
    });
    document.body.append(dialog);
    dialog.showModal();
    if (fields.length === 0) no.focus(); // Enter alone must not end a sale
  });
}

/** why is an error in words for people. */
export function why(error, lost = 'silence') {
  if (error instanceof Silence) return t(lost);
  if (!(error instanceof Refusal)) throw error;
  if (error.code === 'PRECONDITION_FAILED') return t('changedMeanwhile');
  return error.detail ? `${error.message}: ${error.detail}` : error.message;
}

/** field is an input with its label. */
export function field(name, attributes) {
  return el('div', {class: 'field'}, el('label', {for: `ask-${name}`, 'data-t': name}, t(name)), el('input', {id: `ask-${name}`, name, ...attributes}));
}

export const pair = (...fields) => el('div', {class: 'pair'}, ...fields);

/** randomKey names one creation, however often it is tried. */
export function randomKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('');
}

const admin = '/api/v1/admin';

/** create asks for a new sale. */
export function create(now) {
  const key = randomKey();
  const begins = wholeMinutes(Date.parse(now));
  return ask({
    title: t('newSale'), what: t('createText'), verb: t('createDo'),
    fields: [
      field('title', {required: true, maxlength: '200', autocomplete: 'off'}),
      pair(field('total', {type: 'number', required: true, min: '1', max: '100000000', value: '100'}),
        field('price', {type: 'number', required: true, min: '0', value: '9900'})),
      pair(field('begins', {type: 'datetime-local', required: true, step: '1', value: toLocal(begins)}),
        field('ends', {type: 'datetime-local', required: true, step: '1', value: toLocal(begins + 3_600_000)})),
    ],
    act: async (form) => {
      const body = {
        title: form.get('title'), total: Number(form.get('total')), price: Number(form.get('price')),
        beginsAt: toISO(form.get('begins')), endsAt: toISO(form.get('ends')),
      };
      await call('POST', `${admin}/vouchers`, {body, more: {'Idempotency-Key': key}});
      return t('created', {title: body.title});
    },
  });
}

/** change asks what of a sale is to be another; the version that was shown is the one that is changed. */
export function change(v) {
  return ask({
    title: `${t('change')}: ${v.title}`, what: t('changeText'), verb: t('changeDo'),
    fields: [
      field('title', {required: true, maxlength: '200', value: v.title}),
      field('total', {type: 'number', required: true, min: '1', max: '100000000', value: String(v.total)}),
      pair(field('begins', {type: 'datetime-local', required: true, step: '1', value: toLocal(Date.parse(v.beginsAt))}),
        field('ends', {type: 'datetime-local', required: true, step: '1', value: toLocal(Date.parse(v.endsAt))})),
    ],
    act: async (form) => {
      const body = {};
      if (form.get('title') !== v.title) body.title = form.get('title');
      if (Number(form.get('total')) !== v.total) body.total = Number(form.get('total'));
      if (form.get('begins') !== toLocal(Date.parse(v.beginsAt))) body.beginsAt = toISO(form.get('begins'));
      if (form.get('ends') !== toLocal(Date.parse(v.endsAt))) body.endsAt = toISO(form.get('ends'));
      if (Object.keys(body).length > 0) {
        await call('PATCH', `${admin}/vouchers/${v.voucherId}`, {body, more: {'If-Match': `"${v.version}"`}});
      }
      return t('changed', {title: v.title});
    },
  });
}

export const close = (v) => ask({
  title: t('closeSale'), what: t('closeText', v), verb: t('closeDo'),
  act: async () => {
    await call('POST', `${admin}/vouchers/${v.voucherId}/close`);
    return t('closed', v);
  },
});

export const sync = (v) => ask({
  title: t('sync'), what: t('syncText', v), verb: t('syncDo'),
  act: async () => {
    await call('POST', `${admin}/vouchers/${v.voucherId}/sync`);
    return t('synced', v);
  },
});

export const replay = (d) => ask({
  title: t('replay'), what: t('replayText', {user: d.userId}), verb: t('replayDo'), lost: 'silenceDrop',
  act: async () => t('replayed', {order: (await call('POST', `${admin}/dead/${d.id}/replay`)).body.orderId}),
});

export const drop = (d) => ask({
  title: t('drop'), what: t('dropText'), verb: t('dropDo'), lost: 'silenceDrop',
  act: async () => {
    await call('POST', `${admin}/dead/${d.id}/drop`);
    return t('dropped');
  },
});

/** audit shows the books of a sale, compared user by user. */
export function audit(v) {
  const out = el('div', {role: 'status'}, t('auditing'));
  const dialog = el('dialog', {'aria-labelledby': 'audit-title'},
    el('h2', {id: 'audit-title'}, `${t('audit')}: ${v.title}`), el('p', {}, t('auditText')), out,
    el('div', {class: 'actions'}, el('button', {type: 'button', class: 'quiet', onclick: () => dialog.close()}, t('done'))));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  call('GET', `${admin}/vouchers/${v.voucherId}/audit`).then(({body}) => out.replaceChildren(...verdict(body)),
    (error) => out.replaceChildren(el('p', {class: 'fault'}, why(error))));
}

function verdict(r) {
  const live = (r.sql.byStatus.created ?? 0) + (r.sql.byStatus.paid ?? 0);
  const drift = r.drift ?? [];
  const word = r.atRest ? t('auditAtRest') : r.balanced ? t('auditBalanced') : t('auditDrift', {n: drift.length + r.unlisted});
  return [
    el('p', {}, el('span', {class: `badge ${r.balanced ? 'good' : 'bad'}`}, word)),
    el('p', {class: 'number'}, `${t('booksRedis')}: ${r.redis.stock} + ${r.redis.buyers} = ${r.redis.total}`),
    el('p', {class: 'number'}, `${t('booksSQL')}: ${r.sql.stock} + ${live} = ${r.sql.total}`),
    ...(drift.length > 0 ? [el('pre', {tabindex: '0'}, drift.map((d) => JSON.stringify(d)).join('\n'))] : []),
  ];
}

const wholeMinutes = (ms) => Math.floor(ms / 60_000) * 60_000;

/** toLocal writes a time as datetime-local has it, by the clock on the wall; toISO reads it. */
function toLocal(ms) {
  const d = new Date(ms);
  return new Date(ms - d.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
const toISO = (text) => new Date(text).toISOString();
