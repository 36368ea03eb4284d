export { mailConsentRequest } from './consent.ts';
export { createDueRuns, purgeRuns, resumeRuns } from './due.ts';
export { mailPausedSchedule } from './paused.ts';
export { runSchedules } from './runs.ts';
