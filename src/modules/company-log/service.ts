export { readAnalytics } from './analytics.ts';
export { appendToLog, keepInLog } from './feed.ts';
export { exportLog, type LogReader, type OfCompany, readLog } from './read.ts';
export { deliverStoredRecords } from './undelivered.ts';
