// console-vouchers: a card for each sale.

import {age, facts, keyed, millis, rate} from './console-parts.js';
import {audit, change, close, sync} from './console-dialogs.js';
import {code} from './console-words.js';
import {el, text} from './dom.js';
import {dateTime, number} from './format.js';
import {t} from './i18n.js';

const names = ['left', 'held', 'stored', 'rates', 'requests', 'latencyShort', 'refused', 'books', 'window'];
const tones = {open: 'good', soldOut: 'warn', upcoming: '', ended: ''};

/** show draws the sales of a sample; done(text) hears what was done to one. */
export function show(parent, sample, done) {
  keyed(parent, sample.vouchers.items, (v) => v.voucherId, (v) => make(v, done), (card, v) => card.update(v, sample));
}

function make(v, done) {
  let now = v;
  const title = el('h3');
  const state = el('span', {class: 'badge'});
  const bar = el('progress');
  const list = facts(names, {wide: ['refused', 'books', 'window']});
  const button = (key, deed) => el('button', {type: 'button', class: 'quiet', 'data-t': key, 'data-deed': key, onclick: async () => done(await deed(now))}, t(key));
  const over = button('closeSale', close);
  const card = el('article', {class: 'card'}, el('div', {class: 'row'}, title, state), bar, list.list,
    el('div', {class: 'actions'}, button('change', change), over, button('sync', sync), button('audit', audit)));
  card.update = (next, sample) => {
    now = next;
    text(title, `${now.title} · ${now.voucherId}`);
    text(state, t(`state_${now.state}`));
    state.className = `badge ${tones[now.state]}`;
    over.hidden = now.state === 'ended';
    fill(list.set, bar, now, sample);
  };
  return card;
}

function fill(set, bar, v, sample) {
  const {redis, traffic} = v;
  const old = {redis: age(redis, sample.at), sql: age(sample.vouchers, sample.at), others: sample.processes.error ? t('ownOnly') : ''};
  const loaded = redis.state !== '' && redis.state !== undefined;
  bar.max = v.total;
  bar.value = loaded ? Math.max(0, redis.stock) : v.total - v.stored;
  bar.setAttribute('aria-label', `${t('left')}: ${t('of', {n: number(bar.value), total: number(v.total)})}`);
  set('left', loaded ? t('of', {n: number(redis.stock), total: number(v.total)}) : '–', old.redis);
  set('held', loaded ? number(redis.buyers) : '–', old.redis);
  set('stored', number(v.stored), old.sql);
  set('rates', `${rate(traffic.acceptedPerSecond)} / ${sample.vouchers.error ? '–' : rate(v.storedPerSecond)}`, old.sql, old.others);
  set('requests', number(traffic.requests), '', old.others);
  set('latencyShort', `${millis(traffic.p50)} / ${millis(traffic.p99)}`, '', old.others);
  set('refused', refused(traffic.refused), '', old.others);
  set('books', t(`books_${books(redis)}`), old.redis);
  set('window', `${dateTime(v.beginsAt)} – ${dateTime(v.endsAt)}`);
}

function refused(counts) {
  const list = Object.entries(counts).sort(([, a], [, b]) => b - a).map(([c, n]) => `${code(c)} ${number(n)}`);
  return list.join(', ') || t('nobody');
}

/** books is the verdict on what Redis has of a sale. */
export function books(redis) {
  if (redis.error) return 'unknown';
  if (redis.state === 'loading' || redis.state === 'stale') return redis.state;
  if (redis.state === '') return 'none';
  return redis.balanced ? 'balanced' : 'uneven';
}
