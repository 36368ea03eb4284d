import type { CompanyContext } from '../../context.ts';
import { awaitWithinTime } from '../../kernel/time-limit.ts';
import { tooManyViewers } from './failures.ts';

/** An execution in progress, whose result equal requests share. */
interface RunningExecution {
  resultPromise: Promise<string>;
  startedAt: number;
}

/** The executions in progress in this isolate, by the key of their results. */
const runningExecutions = new Map<string, RunningExecution>();

/**
 * The maximum age of an execution that equal requests join: longer than the wait for a slot, so that an older execution has died
 * without a result. Milliseconds.
 */
const MAX_WAIT_MS = 30_000;
/**
 * The maximum wait for the result of another request, which may have died: longer than the wait for a slot and the execution
 * together. Milliseconds.
 */
const MAX_RESPONSE_MS = 60_000;

function findRunning(key: string): RunningExecution | undefined {
  const runningExecution = runningExecutions.get(key);
  return runningExecution && Date.now() - runningExecution.startedAt < MAX_WAIT_MS ? runningExecution : undefined;
}

/**
 * Executes once for equal requests: those that arrive during an execution share its result. If the data may change meanwhile,
 * `execute` calls `begin` before it reads; later requests then start an execution of their own.
 * @param key everything that the result depends on @throws tooManyViewers if the execution of another request takes longer than
 *   `MAX_RESPONSE_MS`
 */
export async function executeOnce(
  ctx: CompanyContext,
  key: string,
  execute: (begin: () => void) => Promise<string>,
): Promise<string> {
  const joinsUntil = Date.now() + MAX_RESPONSE_MS;
  for (let runningExecution = findRunning(key); runningExecution !== undefined; runningExecution = findRunning(key)) {
    try {
      return await awaitWithinTime(joinsUntil - Date.now(), runningExecution.resultPromise, tooManyViewers);
    } catch (error) {
      // Another viewer got no slot: that says nothing about this one, who asks for a slot, or joins the next who does.
      if (!tooManyViewers.matches(error) || Date.now() >= joinsUntil) throw error;
    }
  }
  const newExecution: RunningExecution = { resultPromise: Promise.resolve(''), startedAt: Date.now() };
  const begin = () => {
    if (runningExecutions.get(key) === newExecution) runningExecutions.delete(key);
  };
  runningExecutions.set(key, newExecution);
  newExecution.resultPromise = execute(begin).finally(begin);
  // Others may depend on it when the viewer who asked first is gone.
  ctx.defer(newExecution.resultPromise.then(() => undefined).catch(() => undefined));
  return newExecution.resultPromise;
}
