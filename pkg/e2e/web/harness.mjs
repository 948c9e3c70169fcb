// harness: a browser, the stack's API for what others do meanwhile, and what holds for every
// page: no error, nothing from elsewhere, no token in an address, nothing that axe calls serious.

import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {after, before} from 'node:test';
import {fileURLToPath} from 'node:url';
import {chromium} from 'playwright-core';

export const base = process.env.BASE;
export const patience = {timeout: 90_000};

const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
const {users} = await (await fetch(`${base}/demo`)).json();
let browser;

before(async () => {
  browser = await chromium.launch({executablePath: process.env.CHROMIUM, args: ['--disable-dev-shm-usage']});
});
after(() => browser?.close());

export const tokenOf = (name) => users.find((u) => u.name === name).token;

/** call asks the API as a user; it resolves to {status, body, headers}. */
export async function call(user, method, path, body, headers = {}) {
  const response = await fetch(base + path, {
    method, body: body && JSON.stringify(body),
    headers: {...headers, Authorization: `Bearer ${tokenOf(user)}`, ...(body && {'Content-Type': 'application/json'})},
  });
  return {status: response.status, body: await response.json(), headers: response.headers};
}

/** sell creates a voucher; begins and lasts are ms from now. */
export async function sell({title, total = 10, price = 9900, begins = -1000, lasts = 3_600_000}) {
  const at = (ms) => new Date(Date.now() + ms).toISOString();
  const {status, body} = await call('Admin', 'POST', '/api/v1/admin/vouchers',
    {title, total, price, currency: 'CNY', beginsAt: at(begins), endsAt: at(begins + lasts)});
  assert.equal(status, 201, JSON.stringify(body));
  return body.voucherId;
}

/** change alters a voucher, as it is now. */
export async function change(id, what) {
  const {headers} = await call('Admin', 'GET', `/api/v1/vouchers/${id}`);
  const {status, body} = await call('Admin', 'PATCH', `/api/v1/admin/vouchers/${id}`, what, {'If-Match': headers.get('ETag')});
  assert.equal(status, 200, JSON.stringify(body));
}

/** ordersOf lists the statuses of a user's orders of a voucher. */
export async function ordersOf(user, voucher) {
  const {body} = await call(user, 'GET', '/api/v1/orders?limit=100');
  return body.orders.filter((o) => o.voucherId === voucher).map((o) => o.status);
}

/** visit opens path as user, or as nobody, in a browser of its own that ends with the test. */
export async function visit(t, path, {user, ...options} = {}) {
  const context = await browser.newContext({locale: 'en-GB', viewport: {width: 1280, height: 800}, ...options});
  context.setDefaultTimeout(patience.timeout);
  const page = await context.newPage();
  const faults = [];
  page.on('pageerror', (e) => faults.push(String(e)));
  page.on('console', (m) => {
    if (m.type() === 'error' && !m.text().startsWith('Failed to load resource')) faults.push(m.text());
  });
  page.on('request', (r) => {
    if (!r.url().startsWith(`${base}/`) && !r.url().startsWith('data:')) faults.push(`it asked ${r.url()}`);
    if (users.some((u) => r.url().includes(u.token))) faults.push(`a token in ${r.url()}`);
  });
  t.after(async () => {
    await context.close();
    assert.deepEqual(faults, []);
  });
  if (user) {
    await context.addInitScript((token) => {
      if (sessionStorage.getItem('signed')) return; // a reload keeps what the page did since
      sessionStorage.setItem('signed', 'in');
      localStorage.setItem('seckill.token', token);
    }, tokenOf(user));
  }
  await page.goto(base + path);
  return page;
}

/** accessible holds the page to axe, without what it calls minor or moderate. */
export async function accessible(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run({resultTypes: ['violations']}));
  const serious = found.violations.filter((v) => ['serious', 'critical'].includes(v.impact));
  assert.deepEqual(serious.map((v) => `${v.id}: ${v.nodes.map((n) => `${n.html} ${n.failureSummary}`).join('; ')}`), []);
}

/** fits holds the page to the width of its window. */
export async function fits(page) {
  const {content, window: width} = await page.evaluate(() => ({content: document.documentElement.scrollWidth, window: innerWidth}));
  assert.ok(content <= width, `the content is ${content} wide, the window ${width}`);
}

/** picture keeps a screenshot for the README, in as many pixels as fit 150 KB. */
export async function picture(page, name) {
  const image = await page.screenshot({path: `${process.env.PICTURES}/${name}.png`, animations: 'disabled'});
  assert.ok(image.length < 150 << 10, `${name}.png has ${image.length} bytes`);
}
