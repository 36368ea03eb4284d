/** What people who are shown a dashboard or visualization may see and do, whichever way it was shared with them. */
export {
  chartsOf,
  dashboardExhibit,
  dashboardReads,
  dimensionsOf,
  type Exhibit,
  loadExhibit,
  optionsSource,
  requireSharingOf,
  rulesOf,
  subjectOf,
  viewSubject,
  visualizationExhibit,
  visualizationRead,
} from './exhibit.ts';
export { framesFor, requireOrigin } from './origins.ts';
export { executeFor, optionsFor } from './show.ts';
export {
  candidatesView,
  embedOptionsView,
  filterPolicies,
  optionsQuery,
  optionsView,
  origin,
  resultsView,
  resultView,
  subjectView,
} from './views.ts';
