import type { RunProblem } from '../../db/schema/schedules.ts';
import type { Delivery } from './run-store.ts';

/** What should have been sent and was not; the rest is nobody's failure, such as a recipient who has left. */
const FAILURES: ReadonlySet<RunProblem> = new Set<RunProblem>([
  'target_deleted',
  'parameters',
  'query_failed',
  'condition_failed',
  'unavailable',
  'mail_refused',
  'unconfirmed',
]);

/** How a delivery with a problem ends. */
export const outcomeOf = (problem: RunProblem): Pick<Delivery, 'status' | 'problem'> => ({
  status: FAILURES.has(problem) ? 'failed' : 'skipped',
  problem,
});
