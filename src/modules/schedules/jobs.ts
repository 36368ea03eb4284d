export { mailConsent } from './consent.ts';
export { handOutDue, purgeRuns, resumeRuns } from './due.ts';
export { mailPaused } from './paused.ts';
export { runSchedules } from './runs.ts';
