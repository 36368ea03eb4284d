import type { CompanyContext } from '../../context.ts';
import { withinTime } from '../../kernel/time-limit.ts';
import { tooManyViewers } from './failures.ts';

/** An execution that others may wait for. */
interface WaitingRequest {
  answer: Promise<string>;
  since: number;
}

/** The executions of this isolate, by the key of their answers. */
const waiting = new Map<string, WaitingRequest>();

/** Longer than one waits for a slot: a request that is waited for longer ended without a word. Milliseconds. */
const MAX_WAIT_MS = 30_000;
/** Longer than waiting for a slot and executing take together. Milliseconds. */
const MAX_RESPONSE_MS = 60_000;

/**
 * Executes once for equal requests: those that come while an execution is under way share its answer. Where the data may
 * change meanwhile, `execute` calls `begin` before it reads, and later requests start their own.
 * @param key all that the answer depends on
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
