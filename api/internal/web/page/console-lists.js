// console-lists: processes, dead letters, warnings, and the log of what admins did.

import {call} from './api.js';
import {clock, keyed} from './console-parts.js';
import {drop, replay, why} from './console-dialogs.js';
import {el, show, text} from './dom.js';
import {dateTime, number} from './format.js';
import {t} from './i18n.js';

const $ = (id) => document.getElementById(id);
const silentAfter = 10; // seconds without a read of a consumer that was not heard

/** processes joins those that speak with those that Redis knows as consumers. */
export function processes(sample) {
  const all = new Map(sample.processes.items.map((p) => [p.name, {...p, idle: (Date.parse(sample.at) - Date.parse(p.at)) / 1000}]));
  for (const c of sample.queue.consumers) {
    const p = all.get(c.name) ?? {name: c.name, program: '–', silent: c.idleSeconds > silentAfter, idle: c.idleSeconds};
    all.set(c.name, {...p, holds: c.holds});
  }
  keyed($('process-rows'), [...all.values()], (p) => p.name, (p) => {
    const row = el('tr', {}, el('td', {class: 'name'}, p.name), el('td'), el('td', {class: 'right'}), el('td', {class: 'right'}));
    row.badge = el('span', {class: 'badge warn'});
    row.heard = document.createTextNode('');
    row.lastElementChild.append(row.badge, ' ', row.heard);
    return row;
  }, (row, p) => {
    text(row.children[1], p.program);
    text(row.children[2], p.holds === undefined ? '–' : number(p.holds));
    const heard = t('ago', {n: number(Math.max(0, Math.round(p.idle)))});
    if (row.heard.data !== heard) row.heard.data = heard;
    text(row.badge, t('silent'));
    row.badge.hidden = !p.silent;
  });
}

/** errors shows the newest lines of the logs. */
export function errors(list) {
  show($('no-errors'), list.length === 0);
  keyed($('errors'), list.map((e, i) => ({...e, key: `${e.at} ${e.process} ${list.length - i}`})), (e) => e.key, (e) => el('li', {},
    el('time', {datetime: e.at}, clock(e.at)), el('span', {class: `badge ${e.level === 'ERROR' ? 'bad' : 'warn'}`}, e.level), ' ',
    el('code', {}, e.text), el('div', {class: 'soft'}, e.process)));
}

/** dead reads the buried messages; done(text) hears what was done to one. */
export async function dead(done) {
  try {
    const {body} = await call('GET', '/api/v1/admin/dead?limit=100');
    text($('no-dead'), t('noDead'));
    show($('no-dead'), body.items.length === 0);
    keyed($('dead'), body.items, (d) => d.id, (d) => letter(d, done));
  } catch (e) {
    text($('no-dead'), t('deadUnknown', {why: why(e)}));
    show($('no-dead'), true);
  }
}

function letter(d, done) {
  const what = {order: d.orderId ?? '–', user: d.userId ?? '–', voucher: d.voucherId ?? '–', reason: d.reason, attempts: number(d.attempts)};
  const button = (key, deed) => el('button', {type: 'button', class: 'quiet', 'data-t': key, onclick: async () => done(await deed(d))}, t(key));
  return el('li', {}, el('time', {datetime: d.buriedAt}, dateTime(d.buriedAt)), t('deadLine', what),
    el('div', {class: 'actions'}, ...(d.userId && d.voucherId ? [button('replay', replay)] : []), button('drop', drop)));
}

/** log reads what admins did last. */
export async function log() {
  const {body} = await call('GET', '/api/v1/admin/log?limit=20').catch(() => ({body: null}));
  if (!body) return; // what is there stays: it is the past, and still true
  keyed($('log'), body.items, (d) => d.id, (d) => el('li', {},
    el('time', {datetime: d.at}, dateTime(d.at)), t(d.voucherId ? 'deedOn' : 'deed', {actor: d.actor, action: d.action, voucher: d.voucherId}), ' ',
    el('code', {class: 'soft'}, JSON.stringify(d.detail) === '{}' ? '' : JSON.stringify(d.detail))));
}
