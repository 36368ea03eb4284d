/** What viewers of a dashboard or visualization may see and do, however it was shared. */

import type { Context } from '../../context.ts';
import type { FrameAncestors } from '../../kernel/viewing.ts';
import { originNotAllowed } from './failures.ts';

export { executeFor, optionsFor } from './execution.ts';
export {
  dashboardReads,
  inputsOf,
  loadSharedItem,
  optionsSource,
  recordOf,
  requireSharingOf,
  rulesOf,
  type SharedItem,
  sharedDashboard,
  sharedVisualization,
  viewSharedItem,
  visualizationsOf,
} from './shared-item.ts';
export {
  candidatesView,
  embedOptionsView,
  filterPolicies,
  optionsQuery,
  optionsView,
  origin,
  resultsView,
  resultView,
  sharedItemView,
} from './views.ts';

/** Allows requests from the pages that a token names, or from any when it names none. */
export function requireOrigin(ctx: Context, allowed: readonly string[]): void {
  if (allowed.length === 0) return;
  const { fromOwnPage, origin } = ctx.caller();
  if (fromOwnPage || allowed.includes(origin ?? '')) return;
  throw originNotAllowed();
}

/** Who may show a page in a frame: the origins allowed, or anybody when none is named. */
export const framesFor = (allowed: readonly string[]): FrameAncestors => (allowed.length > 0 ? allowed : 'anywhere');
