// format: numbers, money and times as people of the chosen language read them.

import {language, t} from './i18n.js';

const locale = () => (language() === 'zh' ? 'zh-CN' : 'en-GB');

export const number = (n) => n.toLocaleString(locale());

/** money takes minor units: 9900 of CNY is 99 yuan, of JPY 9,900 yen. */
export function money(minor, currency) {
  const format = new Intl.NumberFormat(locale(), {style: 'currency', currency, currencyDisplay: 'narrowSymbol'});
  return format.format(minor / 10 ** format.resolvedOptions().maximumFractionDigits);
}

export const dateTime = (iso) => new Date(iso).toLocaleString(locale(), {dateStyle: 'medium', timeStyle: 'medium'});

/** countdown writes milliseconds as 14:59, 3:14:59 or "2 days 3:14:59", rounded up: it shows 0:00 only when it is over. */
export function countdown(ms) {
  const s = Math.max(0, Math.ceil(ms / 1000));
  const two = (n) => String(n).padStart(2, '0');
  const hours = Math.floor(s / 3600) % 24;
  const days = Math.floor(s / 86400);
  const rest = `${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
  if (days > 0) return `${t('days', {n: days})} ${hours}:${rest}`;
  return hours > 0 ? `${hours}:${rest}` : rest.replace(/^0/, '');
}
