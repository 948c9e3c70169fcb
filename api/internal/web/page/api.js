// api: one call of the API. An answer that is a problem is thrown as a Refusal, none at all
// as a Silence: after that nobody knows whether the call was heard.

import {language} from './i18n.js';
import * as session from './session.js';

const patience = 15_000; // ms for an answer

export class Refusal extends Error {
  constructor(status, problem, retryAfter) {
    super(problem.title);
    this.status = status;
    this.code = problem.code;
    this.detail = problem.detail;
    this.retryAfter = retryAfter; // ms, or null
  }
}

export class Silence extends Error {}

/** headers are those of every call. */
export function headers(more = {}) {
  const all = {'Accept-Language': language() === 'zh' ? 'zh-CN' : 'en', ...more};
  if (session.token()) all.Authorization = `Bearer ${session.token()}`;
  return all;
}

/** refusal reads the problem in an answer; a token that is no longer good is forgotten. */
export async function refusal(response, sent) {
  if (response.status === 401 && sent && sent === session.token()) session.signOut(true);
  const problem = await response.json().catch(() => ({code: 'UNAVAILABLE', title: `HTTP ${response.status}`}));
  const seconds = Number.parseInt(response.headers.get('Retry-After'), 10);
  return new Refusal(response.status, problem, Number.isNaN(seconds) ? null : seconds * 1000);
}

/** call resolves to {status, body, headers}; signal ends it with the signal's reason. */
export async function call(method, path, {body, more, signal} = {}) {
  const sent = session.token();
  const limit = AbortSignal.timeout(patience);
  const init = {method, headers: headers(more), signal: signal ? AbortSignal.any([signal, limit]) : limit};
  if (body !== undefined) {
    init.headers['Content-Type'] = 'application/json';
    init.body = JSON.stringify(body);
  }
  try {
    const response = await fetch(path, init);
    if (!response.ok) throw await refusal(response, sent);
    return {status: response.status, body: await response.json(), headers: response.headers};
  } catch (e) {
    if (e instanceof Refusal) throw e;
    signal?.throwIfAborted();
    throw new Silence(e.message);
  }
}
