// signin: the dialog in which a token is pasted or, in the demo, a user chosen.

import {demo} from './demo.js';
import {el} from './dom.js';
import {add, t} from './i18n.js';
import * as session from './session.js';

add({
  en: {
    signIn: 'Sign in', signOut: 'Sign out', close: 'Close', signedInAs: 'User {user}', demoUser: 'Sign in as',
    token: 'Token', tokenHint: 'Paste a bearer token. It stays in this browser.', noToken: 'This is not a token.', use: 'Use this token',
  },
  zh: {
    signIn: '登录', signOut: '退出登录', close: '关闭', signedInAs: '用户 {user}', demoUser: '登录为',
    token: '令牌', tokenHint: '粘贴 Bearer 令牌，仅保存在本浏览器中。', noToken: '这不是有效的令牌。', use: '使用该令牌',
  },
});

/** offerAccount makes button sign in and out. */
export function offerAccount(button) {
  const label = () => {
    button.textContent = session.user() ? `${t('signedInAs', {user: session.user()})} · ${t('signOut')}` : t('signIn');
  };
  button.addEventListener('click', () => (session.user() ? session.signOut() : openSignIn()));
  session.onSession(label);
  label();
  return label;
}

/** openSignIn asks who is there; in the demo it offers the users of a role alone, if one is named. */
export async function openSignIn(role) {
  if (document.querySelector('dialog[open]')) return;
  const there = await demo();
  const users = (there?.users ?? []).filter((u) => role === undefined || u.role === role);
  const fault = el('p', {class: 'fault', id: 'token-fault', role: 'alert'});
  const field = el('textarea', {id: 'token', rows: '4', autocomplete: 'off', spellcheck: 'false', 'aria-describedby': 'token-hint token-fault'});
  const dialog = el('dialog', {'aria-labelledby': 'sign-in'},
    el('h2', {id: 'sign-in'}, t('signIn')),
    ...choices(users, () => dialog.close()),
    el('form', {onsubmit: (e) => {
      e.preventDefault();
      if (session.signIn(field.value)) return dialog.close();
      fault.textContent = t('noToken');
      field.focus();
    }},
    el('label', {for: 'token'}, t('token')), field,
    el('p', {class: 'hint', id: 'token-hint'}, t('tokenHint')), fault,
    el('div', {class: 'actions'},
      el('button', {type: 'submit', class: users.length > 0 ? 'quiet' : 'main'}, t('use')),
      el('button', {type: 'button', class: 'quiet', onclick: () => dialog.close()}, t('close')))));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function choices(users, done) {
  if (users.length === 0) return [];
  return [el('p', {id: 'choices'}, t('demoUser')),
    el('div', {class: 'actions', role: 'group', 'aria-labelledby': 'choices'}, ...users.map((u) => el('button', {type: 'button', class: 'main', onclick: () => {
      session.signIn(u.token);
      done();
    }}, u.name)))];
}
