export { mailConsent } from './consent.ts';
export { createDueRuns, purgeRuns, resumeRuns } from './due.ts';
export { mailPaused } from './paused.ts';
export { runSchedules } from './runs.ts';
