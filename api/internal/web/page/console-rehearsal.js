// console-rehearsal: in the demo alone, a crowd of buyers and the faults that befall them.

import {call} from './api.js';
import {el, show, text} from './dom.js';
import {demo} from './demo.js';
import {field, pair, why} from './console-dialogs.js';
import {t} from './i18n.js';
import * as session from './session.js';
import {pause} from './wait.js';

const every = 500; // ms between two looks
const faults = ['worker', 'redis'];

/** offerRehearsal fills in the section where the server has rehearsals; what it returns writes it anew. */
export function offerRehearsal(section) {
  let state = {state: 'idle'};
  let fault = '';
  let there = null;
  const out = el('div', {'aria-live': 'polite'});
  const table = el('div');
  const button = el('button', {type: 'submit', class: 'main', 'data-t': 'rehearse'});
  const form = el('form', {onsubmit: start});

  function write() {
    show(section, Boolean(there?.rehearsal) && session.role() === 'admin');
    button.disabled = state.state === 'running';
    text(button, t('rehearse'));
    text(out, fault || words(state));
    table.replaceChildren(...(state.rows ? [report(state.rows)] : []));
  }

  async function start(e) {
    e.preventDefault();
    const data = new FormData(form);
    const body = {buyers: Number(data.get('buyers')), units: Number(data.get('units')), faults: faults.filter((f) => data.has(f))};
    fault = '';
    try {
      state = (await call('POST', there.rehearsal, {body})).body;
    } catch (error) {
      fault = why(error);
    }
    write();
    watch();
  }

  async function watch() {
    while (state.state === 'running') {
      await pause(every);
      state = await call('GET', there.rehearsal).then((r) => r.body, () => state); // it goes on without us
      write();
    }
  }

  demo().then((d) => {
    there = d;
    if (!d?.rehearsal) return;
    form.append(el('p', {class: 'hint', 'data-t': 'rehearsalText'}, t('rehearsalText')),
      pair(field('buyers', {type: 'number', min: '1', max: '20000', required: true, value: '2000'}), field('units', {type: 'number', min: '1', max: '20000', required: true, value: '100'})),
      el('fieldset', {}, el('legend', {'data-t': 'faults'}, t('faults')), ...faults.map((f) => el('label', {class: 'check'}, el('input', {type: 'checkbox', name: f}), el('span', {'data-t': `fault_${f}`}, t(`fault_${f}`))))), button);
    section.append(form, out, table);
    write();
  });
  session.onSession(write);
  return write;
}

function words(s) {
  switch (s.state) {
    case 'running': return t('rehearsing', {step: t(`step_${s.step}`)});
    case 'failed': return t('rehearsalFailed', {why: s.error});
    case 'done': return s.broken.length === 0 ? t('rehearsalHolds') : t('rehearsalBroken', {faults: s.broken.join('; ')});
    default: return '';
  }
}

function report(rows) {
  return el('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-labelledby': 'rehearsal-title'}, el('table', {},
    el('thead', {}, el('tr', {}, el('th', {scope: 'col'}, t('what')), el('th', {scope: 'col', class: 'right'}, t('howMany')), el('th', {scope: 'col'}, t('meaning')))),
    el('tbody', {}, ...rows.map((r) => el('tr', {}, el('th', {scope: 'row'}, r.name), el('td', {class: 'right'}, r.value), el('td', {}, r.note))))));
}
