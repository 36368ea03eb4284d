/** What viewers of a dashboard or visualization may see and do, whichever way it was shared. */

export { executeFor, optionsFor } from './execution.ts';
export { framesFor, requireOrigin } from './origins.ts';
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
