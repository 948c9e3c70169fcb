// clock: the server's clock, as far as answers tell. The clock of this device plays no part:
// it may be wrong, or be set while the page is open.

// The server's time minus performance.now() lies between these: an answer was made after its
// request was sent, and before it came.
let least = -Infinity;
let most = Infinity;

/** heard takes the time an answer names, and performance.now() before and after it. */
export function heard(iso, sent, received) {
  const told = Date.parse(iso);
  const [low, high] = [told - received, told + 1 - sent]; // told is cut to whole ms
  least = Math.max(least, low);
  most = Math.min(most, high);
  if (least > most) [least, most] = [low, high]; // another server, or this device slept
}

export const known = () => least > -Infinity;

/** now is the server's time in Unix ms. */
export const now = () => performance.now() + (least + most) / 2;

/** until is how many ms are left until a time of the server. */
export const until = (iso) => Date.parse(iso) - now();
