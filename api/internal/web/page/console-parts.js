// console-parts: what the console is made of. Each part is made once and changed in place.

import {el, text} from './dom.js';
import {language, t} from './i18n.js';
import {number} from './format.js';

const locale = () => (language() === 'zh' ? 'zh-CN' : 'en-GB');

/** clock is a time of the day, to the second. */
export const clock = (iso) => new Date(iso).toLocaleTimeString(locale(), {timeStyle: 'medium'});

/** known reports whether a part of a sample was ever measured. */
export const known = (part) => part.at !== undefined;

/** since is from when the numbers of a part are. */
export const since = (part) => (known(part) ? clock(part.at) : t('never'));

/** age says how old the numbers of a part are, "" if they are of now. */
export function age(part, now) {
  if (!part.error) return '';
  return known(part) ? t('ago', {n: number(Math.round((Date.parse(now) - Date.parse(part.at)) / 1000))}) : t('never');
}

/** rate writes a number per second; millis a time that is told in ms. */
export const rate = (n) => number(n < 10 ? Math.round(n * 10) / 10 : Math.round(n));
export function millis(n) {
  if (n === 0) return '–';
  if (n >= 1000) return t('seconds', {n: rate(n / 1000)});
  return t('ms', {n: n < 0.1 ? `< ${number(0.1)}` : rate(n)});
}

/** facts is a list of names and values; wide ones take a line of their own. */
export function facts(keys, {kind = 'facts', wide = []} = {}) {
  const cells = {};
  const list = el('dl', {class: kind}, ...keys.map((key) => {
    const value = document.createTextNode('');
    const note = el('small');
    cells[key] = {value, note, cell: el('dd', {'data-fact': key}, value, note)};
    return el('div', {class: wide.includes(key) ? 'wide' : ''}, el('dt', {'data-t': key}, t(key)), cells[key].cell);
  }));
  /** set writes a value; old says how old it is, "" if it is of now, and note what else to know of it. */
  const set = (key, value, old = '', note = '') => {
    const c = cells[key];
    if (c.value.data !== value) c.value.data = value;
    text(c.note, old || note);
    c.cell.classList.toggle('old', old !== '');
  };
  return {list, set};
}

/** keyed keeps one child of parent for each item, in their order; make and update write it. */
export function keyed(parent, items, key, make, update) {
  const there = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  items.forEach((item, i) => {
    let child = there.get(key(item));
    there.delete(key(item));
    if (!child) {
      child = make(item);
      child.dataset.key = key(item);
    }
    if (parent.children[i] !== child) parent.insertBefore(child, parent.children[i] ?? null);
    update?.(child, item);
  });
  for (const gone of there.values()) gone.remove();
}

const minute = 60; // samples
const kept = 5 * minute;
const svg = (tag, attributes) => {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  return e;
};

/** chart draws the last minutes of some series; null is a gap: nobody knows. */
export function chart(series) {
  const paths = series.map((s) => svg('path', {class: s}));
  const picture = svg('svg', {preserveAspectRatio: 'none', role: 'img'});
  picture.append(...paths);
  const top = el('span');
  const span = el('span'); // whole minutes, as many as there are
  const figure = el('figure', {class: 'chart'},
    el('figcaption', {}, el('span', {}, ...series.flatMap((s) => [el('span', {class: `key ${s}`, 'data-t': `series_${s}`}, t(`series_${s}`)), '  '])), top),
    picture, el('div', {class: 'axis'}, span));
  const points = [];

  /** push takes a value for each series, or null. */
  const push = (values) => {
    points.push(values);
    if (points.length > kept) points.shift();
  };
  const draw = () => {
    const width = minute * Math.max(1, Math.ceil(points.length / minute));
    const minutes = t('lastMinutes', {n: number(width / minute)});
    picture.setAttribute('viewBox', `0 0 ${width - 1} 100`);
    const most = Math.max(1, ...points.flat().filter((n) => n !== null));
    paths.forEach((path, s) => path.setAttribute('d', line(points.map((p) => p[s]), most, width)));
    text(top, t('most', {n: rate(most)}));
    text(span, minutes);
    const latest = points.at(-1) ?? [];
    const list = series.map((s, i) => `${t(`series_${s}`)} ${latest[i] == null ? t('never') : rate(latest[i])}`).join(', ');
    picture.setAttribute('aria-label', t('chartSays', {name: minutes, list}));
  };
  return {figure, push, draw};
}

function line(values, most, width) {
  let d = '';
  let pen = 'M';
  values.forEach((n, i) => {
    if (n === null) {
      pen = 'M';
      return;
    }
    d += `${pen}${width - values.length + i} ${(100 - (n / most) * 96).toFixed(1)}`;
    pen = 'L';
  });
  return d;
}
