// session: who is signed in, by a token that stays in this browser and is sent in a header
// alone. What the token says is shown and never trusted: the server checks it.

const kept = 'seckill.token';
const listeners = new Set();
let current = read(localStorage.getItem(kept));
let refused = false;

/** read returns {token, user, role}, or null for what is no token. */
function read(token) {
  try {
    const part = token.trim().split('.')[1].replaceAll('-', '+').replaceAll('_', '/');
    const {sub, role = ''} = JSON.parse(atob(part));
    return typeof sub === 'string' ? {token: token.trim(), user: sub, role} : null;
  } catch {
    return null;
  }
}

function change(to) {
  current = to;
  listeners.forEach((l) => l());
}

export const user = () => current?.user ?? null;
export const role = () => current?.role ?? null;
export const token = () => current?.token ?? null;

/** expired reports whether the server refused the token that was used last. */
export const expired = () => refused;

/** signIn reports whether text is a token at all. */
export function signIn(text) {
  const next = read(text);
  if (!next) return false;
  localStorage.setItem(kept, next.token);
  refused = false;
  change(next);
  return true;
}

/** signOut forgets the token; the server may be who wants it. */
export function signOut(byServer = false) {
  localStorage.removeItem(kept);
  refused = byServer;
  change(null);
}

export function onSession(listener) {
  listeners.add(listener);
}

// Another tab of this page signed in or out.
addEventListener('storage', (e) => {
  if (e.key === kept) change(read(e.newValue));
});
