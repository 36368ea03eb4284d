import type { CompanyContext } from '../../context.ts';
import { logError } from '../../platform/log.ts';

/**
 * Resolves with the value that `work` passes to `respond`, else with its result. After an early value the work continues, and its
 * failure is only logged. @param work gets a context of its own, whose connections are closed when the work is done
 */
export function respondEarly<T>(
  ctx: CompanyContext,
  work: (workContext: CompanyContext, respond: (answer: T) => void) => Promise<T>,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const closers: (() => Promise<void>)[] = [];
  const workContext = { ...ctx, cleanup: (close: () => Promise<void>) => void closers.push(close) };
  let hasResponded = false;
  const respond = (answer: T) => {
    hasResponded = true;
    resolve(answer);
  };
  const handleFailure = (error: unknown) => {
    if (hasResponded) logError('result_not_renewed', error, { company_id: ctx.actor.companyId });
    else reject(error);
  };
  const finishedWork = work(workContext, respond).then(resolve, handleFailure);
  ctx.defer(finishedWork.then(() => Promise.all(closers.map((close) => close()))));
  return promise;
}
