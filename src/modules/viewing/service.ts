/** The rights of viewers of a dashboard or visualization, and its execution for them, however it was shared. */

import type { Context } from '../../context.ts';
import type { FrameAncestors } from '../../presentation/viewing.ts';
import { originNotAllowed } from './failures.ts';

export { optionsQuery, optionsView } from '../dashboards/views.ts';
export {
  type ExecutionQuery,
  executeFor,
  listFilterOptions,
  type MailedExecution,
  prepareMailedExecution,
} from './execution.ts';
export {
  dashboardReads,
  getRecord,
  listInputs,
  listVisualizations,
  loadSharedItem,
  makeRules,
  optionsSource,
  requireSharingOf,
  type SharedItem,
  sharedDashboard,
  sharedVisualization,
  viewSharedItem,
  visualizationReads,
} from './shared-item.ts';
export {
  candidatesView,
  downloadMediaTypes,
  EXECUTION,
  embedOptionsView,
  executionQuery,
  filterPolicies,
  origin,
  resultsView,
  resultView,
  sharedItemView,
  viewEmbedOptions,
  viewer,
  viewerAttributes,
} from './views.ts';

/** Refuses requests from origins that the token does not allow. A token without origins allows all. */
export function requireOrigin(ctx: Context, allowed: readonly string[]): void {
  if (allowed.length === 0) return;
  const { fromOwnPage, origin } = ctx.caller();
  if (fromOwnPage || allowed.includes(origin ?? '')) return;
  throw originNotAllowed();
}

/** The origins that may frame a page: those of the token, or any if it names none. */
export const framesFor = (allowed: readonly string[]): FrameAncestors => (allowed.length > 0 ? allowed : 'anywhere');
