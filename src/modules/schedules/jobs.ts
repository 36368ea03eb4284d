export { mailConsentRequest } from './consent.ts';
export { createDueRuns, purgeRuns, resumeRuns } from './due.ts';
export { mailPausedSchedule, runSchedules } from './runs.ts';
