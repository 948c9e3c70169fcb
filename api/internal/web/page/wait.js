// wait: pauses that a signal can end, and how long they are.

/** pause waits ms; it returns early when signal ends, and never throws. */
export function pause(ms, signal) {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    }, {once: true});
  });
}

/** jitter spreads ms by a fifth both ways, so that pages which began together part. */
export const jitter = (ms) => ms * (0.8 + 0.4 * Math.random());

/** backoff is the pause after n failures in a row: from half a second to ten. */
export const backoff = (n) => jitter(Math.min(500 * 2 ** n, 10_000));
