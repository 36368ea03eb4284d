export { readAnalytics } from './analytics.ts';
export { appendToLog, storeInLog } from './feed.ts';
export { type CompanyRecord, exportLog, type LogReader, readLog } from './read.ts';
export { deliverStoredRecords } from './undelivered.ts';
