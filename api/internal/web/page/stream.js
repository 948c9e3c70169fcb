// stream: server-sent events read with fetch, so that the token goes in a header. It
// reconnects by itself, and says when what it told last may be old.

import {headers, Refusal, refusal} from './api.js';
import * as session from './session.js';
import {backoff, pause} from './wait.js';

/**
 * follow reads until signal ends it, or the server refuses with anything but "later".
 * event(name, data) hears each event; live(is) whether the line stands; refused(Refusal)
 * why it ended. Silence is how many ms without a byte mean that the line is dead. A page
 * that is hidden holds no connection: over HTTP/1.1 a browser has six for all its tabs.
 */
export async function follow(path, {event, live = () => {}, refused = () => {}, more = {}, silence = 40_000, signal}) {
  for (let failures = 0; !signal.aborted; failures++) {
    await visible(signal);
    let least = 0; // ms that the server asks for
    try {
      await read(path, more, silence, signal, (name, data) => {
        failures = 0;
        live(true);
        event(name, data);
      });
    } catch (e) {
      if (signal.aborted) return;
      if (e instanceof Refusal && e.retryAfter === null && e.status < 500) return refused(e);
      least = e.retryAfter ?? 0;
    }
    if (signal.aborted) return;
    if (!document.hidden) live(false);
    await pause(Math.max(least, backoff(failures)), signal);
  }
}

/** read follows one connection to its end. */
async function read(path, more, silence, signal, event) {
  const line = new AbortController();
  const hide = () => document.hidden && line.abort();
  let watch = setTimeout(() => line.abort(), silence);
  document.addEventListener('visibilitychange', hide);
  try {
    const sent = session.token();
    const init = {headers: headers({Accept: 'text/event-stream', ...more}), signal: AbortSignal.any([signal, line.signal])};
    const response = await fetch(path, init);
    if (!response.ok) throw await refusal(response, sent);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ''; ;) {
      const {done, value} = await reader.read();
      if (done) return;
      clearTimeout(watch);
      watch = setTimeout(() => line.abort(), silence);
      const blocks = (text + value).split('\n\n');
      text = blocks.pop();
      blocks.forEach((block) => tell(block, event));
    }
  } finally {
    clearTimeout(watch);
    document.removeEventListener('visibilitychange', hide);
  }
}

function tell(block, event) {
  let name = 'message';
  const data = [];
  for (const line of block.split('\n')) {
    if (line.startsWith('event: ')) name = line.slice(7);
    if (line.startsWith('data: ')) data.push(line.slice(6));
  }
  if (data.length > 0) event(name, JSON.parse(data.join('\n')));
}

/** visible waits until somebody looks at the page. */
function visible(signal) {
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener('visibilitychange', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
    signal.addEventListener('abort', look, {once: true});
    look();
  });
}
