/** The rights of viewers of a dashboard or visualization, and its execution for them, however it was shared. */

import type { Context } from '../../context.ts';
import type { FrameAncestors } from '../../presentation/viewing.ts';
import { originNotAllowed } from './failures.ts';

export {
  type ExecutionQuery,
  executeForViewer,
  listFilterOptions,
  type MailedExecution,
  prepareMailedExecution,
} from './execution.ts';
export {
  getOptionsSource,
  getSharedRecord,
  listInputs,
  listVisualizations,
  loadSharedItem,
  makeRules,
  requireMayShareItem,
  type SharedItem,
  selectSharedDashboard,
  selectSharedVisualization,
  toSharedDashboard,
  toSharedVisualization,
  viewSharedItem,
} from './shared-item.ts';

/** Rejects requests from origins that the token does not allow. A token without origins allows all. */
export function requireAllowedOrigin(ctx: Context, allowedOrigins: readonly string[]): void {
  if (allowedOrigins.length === 0) return;
  const { isFromOwnPage, origin } = ctx.caller();
  if (isFromOwnPage || allowedOrigins.includes(origin ?? '')) return;
  throw originNotAllowed();
}

/** Returns the origins that may frame a page: those of the token, or any if it names none. */
export const listFrameAncestors = (allowedOrigins: readonly string[]): FrameAncestors =>
  allowedOrigins.length > 0 ? allowedOrigins : 'anywhere';
