// i18n: words in English and Chinese. A page adds its own words, marks elements with
// data-t="key" (data-t-label for aria-label), and hears when the language changes.

const remembered = 'seckill.language';
const words = {en: {}, zh: {}};
const listeners = new Set();
let current = initial();

function initial() {
  const kept = localStorage.getItem(remembered);
  if (kept in words) return kept;
  const wanted = navigator.languages.find((l) => /^(en|zh)\b/i.test(l)) ?? 'en';
  return wanted.slice(0, 2).toLowerCase();
}

export const language = () => current;

/** add takes {en: {key: text}, zh: {key: text}}; both have the same keys. */
export function add(more) {
  for (const l of Object.keys(words)) Object.assign(words[l], more[l]);
}

/** t is the text of key; {name} in it becomes values.name. */
export function t(key, values = {}) {
  const text = words[current][key];
  if (text === undefined) throw new Error(`no word for ${key}`);
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

/** has reports whether there is a word for key: codes may be newer than this page. */
export const has = (key) => key in words[current];

/** translate fills in all marked elements below root, and names the language of the page. */
export function translate(root = document) {
  document.documentElement.lang = current === 'zh' ? 'zh-CN' : 'en';
  for (const e of root.querySelectorAll('[data-t]')) e.textContent = t(e.dataset.t);
  for (const e of root.querySelectorAll('[data-t-label]')) e.setAttribute('aria-label', t(e.dataset.tLabel));
}

export function onLanguage(listener) {
  listeners.add(listener);
}

/** offerLanguages makes button switch to the other language, which it names in itself. */
export function offerLanguages(button) {
  const label = () => {
    const other = current === 'en' ? 'zh' : 'en';
    button.textContent = {en: 'English', zh: '中文'}[other];
    button.lang = other;
  };
  button.addEventListener('click', () => {
    current = current === 'en' ? 'zh' : 'en';
    localStorage.setItem(remembered, current);
    label();
    translate();
    listeners.forEach((l) => l());
  });
  label();
}
