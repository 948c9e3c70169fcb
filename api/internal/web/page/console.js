// console: the whole sale as it is now, and what an admin can do about it. It shows one sample
// a second; what could not be reached is said to be old, and from when it is.

import * as lists from './console-lists.js';
import {create} from './console-dialogs.js';
import {age, chart, clock, facts, millis, rate, since} from './console-parts.js';
import {offerRehearsal} from './console-rehearsal.js';
import * as vouchers from './console-vouchers.js';
import {code} from './console-words.js';
import {el, show, text} from './dom.js';
import {number} from './format.js';
import {offerLanguages, onLanguage, t, translate} from './i18n.js';
import * as session from './session.js';
import {offerAccount, openSignIn} from './signin.js';
import {follow} from './stream.js';

const silence = 5000; // ms without a sample: the line is dead
const $ = (id) => document.getElementById(id);

const tiles = facts(['requestsRate', 'acceptedRate', 'storedRate', 'latency', 'waiting', 'pending', 'oldest', 'deadCount'], {kind: 'tiles'});
const requests = chart(['requests']);
const orders = chart(['accepted', 'stored']);
let line; // ends the stream that is read
let alive = null; // whether the line stands; null: not known yet
let sample = null; // the newest
let said = ''; // what was done last
let buried = null; // how many messages were, when they were listed

const label = offerAccount($('account'));
$('tiles').append(tiles.list);
$('charts').append(requests.figure, orders.figure);
$('enter').addEventListener('click', () => openSignIn('admin'));
$('create').addEventListener('click', async () => done(await create(sample.at)));
offerLanguages($('language'));
onLanguage(() => {
  label();
  $('dead').replaceChildren();
  $('log').replaceChildren();
  if (sample) lists.dead(done).then(lists.log);
  draw();
});
session.onSession(begin);
const rehearsed = offerRehearsal($('rehearsal'));
onLanguage(rehearsed);
translate();
begin();

/** begin follows the sale for whoever is signed in now. */
function begin() {
  line?.abort();
  line = new AbortController();
  [alive, sample, buried] = [null, null, null];
  draw();
  if (session.role() !== 'admin') return;
  const {signal} = line;
  follow('/api/v1/admin/live', {
    signal, silence,
    event: (_, data) => heard(data),
    live: (is) => {
      alive = is;
      if (!is) pushGap();
      draw();
    },
    refused: () => session.signOut(),
  });
}

function heard(data) {
  sample = data;
  const stored = data.vouchers.error ? null : data.vouchers.storedPerSecond;
  requests.push([data.traffic.requestsPerSecond]);
  orders.push([data.traffic.acceptedPerSecond, stored]);
  if (!data.queue.error && data.queue.dead !== buried) {
    buried = data.queue.dead;
    lists.dead(done);
  }
  if ($('log').childElementCount === 0) lists.log();
  draw();
}

function pushGap() {
  requests.push([null]);
  orders.push([null, null]);
}

/** done hears what an admin did, and looks at what may have changed by it. */
function done(text) {
  if (!text) return;
  said = text;
  lists.dead(done);
  lists.log();
  draw();
}

function draw() {
  document.title = t('consoleTitle');
  const admin = session.role() === 'admin';
  show($('closed'), !admin, $('main'));
  show($('open'), admin && sample !== null, $('enter'));
  text($('closed-why'), t(session.user() ? 'wrongRole' : 'needAdmin'));
  text($('line'), admin ? t(alive ? 'live' : alive === null ? 'connecting' : 'broken') : '');
  $('line').className = `badge ${alive ? 'good' : alive === null ? '' : 'bad'}`;
  $('line').hidden = !admin;
  tell(troubles());
  if (!sample) return;
  drawTiles();
  requests.draw();
  orders.draw();
  vouchers.show($('vouchers'), sample, done);
  show($('no-vouchers'), sample.vouchers.items.length === 0);
  lists.processes(sample);
  lists.errors(sample.errors);
}

function drawTiles() {
  const {traffic, queue, processes} = sample;
  const own = processes.error ? t('ownOnly') : '';
  const old = age(queue, sample.at);
  tiles.set('requestsRate', rate(traffic.requestsPerSecond), '', own);
  tiles.set('acceptedRate', rate(traffic.acceptedPerSecond), '', own);
  tiles.set('storedRate', sample.vouchers.error ? '–' : rate(sample.vouchers.storedPerSecond), age(sample.vouchers, sample.at));
  tiles.set('latency', `${millis(traffic.p50)} / ${millis(traffic.p99)}`, '', own);
  tiles.set('waiting', number(queue.waiting), old);
  tiles.set('pending', number(queue.pending), old);
  tiles.set('oldest', t('seconds', {n: rate(queue.oldestSeconds)}), old);
  tiles.set('deadCount', number(queue.dead), old);
}

/** troubles are in words that stay the same while they last: they are read out once. */
function troubles() {
  const list = said ? [said] : [];
  if (!sample || session.role() !== 'admin') return list;
  if (alive === false) list.push(t('lineBroken', {time: clock(sample.at)}));
  const {queue, processes} = sample;
  const silent = new Set(processes.items.filter((p) => p.silent).map((p) => p.name));
  if (queue.error) {
    const which = queue.silent.length > 1 || queue.silent[0] > 0 ? ` ${t('partitions', {list: queue.silent.join(', ')})}` : '';
    list.push(t('redisAway', {code: code(queue.error), time: since(queue)}) + which);
  }
  if (sample.vouchers.error) list.push(t('sqlAway', {code: code(sample.vouchers.error), time: since(sample.vouchers)}));
  if (!queue.error) for (const p of processes.items) if (silent.has(p.name)) list.push(t('processSilent', {name: p.name, time: clock(p.at)}));
  return list;
}

function tell(list) {
  const now = [...$('troubles').children].map((p) => p.textContent);
  if (now.join('\n') !== list.join('\n')) $('troubles').replaceChildren(...list.map((line) => el('p', {}, line)));
}
