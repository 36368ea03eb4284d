import type { CompanyContext } from '../../context.ts';
import { withinTime } from '../../kernel/time-limit.ts';
import { tooManyViewers } from './failures.ts';

/** An execution in progress, whose result equal requests share. */
interface WaitingRequest {
  answer: Promise<string>;
  since: number;
}

/** The executions of this isolate, by the key of their answers. */
const waiting = new Map<string, WaitingRequest>();

/**
 * The maximum age of an execution that others join: longer than the wait for a slot, so that an older one has died without a
 * result. Milliseconds.
 */
const MAX_WAIT_MS = 30_000;
/** The maximum wait for another request's result: longer than the wait for a slot and the execution together. Milliseconds. */
const MAX_RESPONSE_MS = 60_000;

/**
 * Executes once for equal requests: those that arrive during an execution share its result. If the data may change meanwhile,
 * `execute` calls `begin` before it reads; later requests then start an execution of their own.
 * @param key everything that the result depends on
 */
export async function executeOnce(
  ctx: CompanyContext,
  key: string,
  execute: (begin: () => void) => Promise<string>,
): Promise<string> {
  const known = waiting.get(key);
  if (known && Date.now() - known.since < MAX_WAIT_MS) return waitInTime(known.answer);
  const own: WaitingRequest = { answer: Promise.resolve(''), since: Date.now() };
  const begin = () => {
    if (waiting.get(key) === own) waiting.delete(key);
  };
  waiting.set(key, own);
  own.answer = execute(begin).finally(begin);
  // Others may depend on it when the viewer who asked first is gone.
  ctx.defer(own.answer.then(() => undefined).catch(() => undefined));
  return own.answer;
}

/** Waits with a timer of its own: the answer is another request's, which may end without giving one. */
const waitInTime = (answer: Promise<string>): Promise<string> => withinTime(MAX_RESPONSE_MS, answer, tooManyViewers);
