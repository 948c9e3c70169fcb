// storefront: puts the page together. State is kept by vouchers, orders and purchases; this
// file draws it a few times a second and passes on what the buyer does.

import './storefront-words.js';
import {call} from './api.js';
import {Card, stateOf} from './card.js';
import * as clock from './clock.js';
import {confirmed} from './confirm.js';
import {demo} from './demo.js';
import {el, show, text} from './dom.js';
import {dateTime} from './format.js';
import {offerLanguages, onLanguage, t, translate} from './i18n.js';
import {Orders} from './orders.js';
import {Purchase, unfinished} from './purchase.js';
import * as session from './session.js';
import {offerAccount, openSignIn} from './signin.js';
import {watch} from './vouchers.js';
import {statusOf} from './way.js';

const endedMax = 6; // sales that are over, shown below the others
const beat = 250; // ms between drawings: a countdown is never a second off
const tone = {queued: 'warn', created: 'warn', paid: 'good', cancelled: '', rejected: 'bad', unknown: 'bad'};
const $ = (id) => document.getElementById(id);

const cards = new Map(); // voucher id -> {card, purchase, deed}
const lines = new Map(); // order id -> its line in my orders
let vouchers = [];
let orders = null;
let canPay = false;
let reachable = true;

/** place finds or makes what belongs to a voucher. */
function place(id) {
  if (!cards.has(id)) {
    const made = {deed: {busy: false}};
    made.purchase = new Purchase(id, {changed: draw, bought: (answer) => orders.accept(answer), unsure: () => orders?.load().catch(() => {})});
    made.card = new Card(id, {
      buy: () => (session.user() ? made.purchase.start() : openSignIn()),
      stop: () => made.purchase.stop(),
      pay: () => act(made, 'pay', () => pay(orders.latest(id))),
      cancel: () => cancel(made, id),
    });
    cards.set(id, made);
  }
  return cards.get(id);
}

/** act does something to an order, once at a time, and shows why it failed. */
async function act(made, name, deed) {
  if (made.deed.busy) return;
  made.deed = {name, busy: true};
  draw();
  try {
    orders.update((await deed()).body);
    made.deed = {busy: false};
  } catch (fault) {
    made.deed = {busy: false, fault};
  }
  draw();
}

const pay = async (order) => call('POST', (await demo()).pay, {body: {orderId: order.orderId}});

async function cancel(made, voucher) {
  const order = orders.latest(voucher);
  const sure = await confirmed({title: t('reallyCancel'), text: t('cancelMeans'), yes: t('giveUp'), no: t('keep')});
  if (sure) await act(made, 'cancel', () => call('POST', `/api/v1/orders/${order.orderId}/cancel`));
}

/** draw shows all there is to know now. */
function draw() {
  if (!clock.known()) return;
  for (const voucher of vouchers) {
    const {card, purchase, deed} = place(voucher.voucherId);
    card.update({voucher, purchase, deed, order: orders?.latest(voucher.voucherId), signedIn: orders !== null, canPay});
  }
  drawOrders();
  text($('notice'), notice());
}

function notice() {
  if (!reachable) return t('old');
  return session.expired() ? t('signInAgain') : '';
}

/** lay puts the cards in their order: by begin, those that are over last. It moves only what has to move. */
function lay() {
  const over = (v) => stateOf(v) === 'ended';
  const byBegin = (a, b) => Date.parse(a.beginsAt) - Date.parse(b.beginsAt);
  const ended = vouchers.filter(over).sort(byBegin).reverse().slice(0, endedMax);
  const roots = [...vouchers.filter((v) => !over(v)).sort(byBegin), ...ended].map((v) => place(v.voucherId).card.root);
  arrange($('vouchers'), roots.length > 0 ? roots : [el('p', {class: 'soft'}, t('nothing'))]);
}

function arrange(parent, children) {
  if (children.length === parent.children.length && children.every((c, i) => c === parent.children[i])) return;
  parent.replaceChildren(...children);
}

function drawOrders() {
  const all = orders?.list() ?? [];
  show($('mine'), all.length > 0);
  show($('more'), Boolean(orders?.next));
  arrange($('orders'), all.map((order) => {
    if (!lines.has(order.orderId)) lines.set(order.orderId, line());
    const its = lines.get(order.orderId);
    text(its.title, vouchers.find((v) => v.voucherId === order.voucherId)?.title ?? order.voucherId);
    text(its.badge, t(statusOf(order)));
    its.badge.className = `badge ${tone[statusOf(order)]}`;
    text(its.id, t('order', {id: order.orderId}));
    text(its.at, order.createdAt ? dateTime(order.createdAt) : '');
    return its.root;
  }));
}

function line() {
  const its = {title: el('strong'), badge: el('span'), id: el('span', {class: 'soft number'}), at: el('span', {class: 'soft number'})};
  its.root = el('li', {}, its.title, its.badge, its.id, its.at);
  return its;
}

/** enter begins anew for whoever is signed in, and goes on with what a reload cut off. */
function enter() {
  orders?.close();
  for (const {purchase} of cards.values()) purchase.stop();
  cards.clear();
  lines.clear();
  orders = session.user() ? new Orders(draw) : null;
  for (const id of session.user() ? unfinished(session.user()) : []) place(id).purchase.start();
  show($('console'), session.role() === 'admin');
  if (clock.known()) lay();
  draw();
}

/** tick draws again with the next beat, or at the very moment a sale opens. */
function tick() {
  draw();
  const opens = vouchers.map((v) => clock.until(v.beginsAt)).filter((ms) => ms > 0);
  setTimeout(tick, Math.min(beat, ...opens));
}

translate();
offerLanguages($('language'));
const label = offerAccount($('account'));
onLanguage(() => {
  label();
  draw();
});
$('more').addEventListener('click', () => orders.load(orders.next).catch(() => {}));
session.onSession(enter);
demo().then((there) => {
  canPay = there !== null;
});
watch({
  changed: (list) => {
    [vouchers, reachable] = [list, true];
    lay();
    draw();
  },
  failed: () => {
    reachable = false;
    draw();
  },
});
enter();
tick();
