import type { CompanyContext } from '../../context.ts';
import { logError } from '../../platform/log.ts';

/**
 * Resolves with the value that `work` passes to `tell`, else with its result. After an early value the work continues, and its
 * failure is only logged.
 * @param work gets a context of its own, whose connections are closed when the work is done
 */
export function respondEarly<T>(
  ctx: CompanyContext,
  work: (own: CompanyContext, tell: (answer: T) => void) => Promise<T>,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const closers: (() => Promise<void>)[] = [];
  const own = { ...ctx, cleanup: (close: () => Promise<void>) => void closers.push(close) };
  let isTold = false;
  const tell = (answer: T) => {
    isTold = true;
    resolve(answer);
  };
  const fail = (error: unknown) => {
    if (isTold) logError('result_not_renewed', error, { company_id: ctx.actor.companyId });
    else reject(error);
  };
  const whole = work(own, tell).then(resolve, fail);
  ctx.defer(whole.then(() => Promise.all(closers.map((close) => close()))));
  return promise;
}
