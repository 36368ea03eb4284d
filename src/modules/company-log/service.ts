export { readAnalytics } from './analytics.ts';
export { deliverStoredRecords } from './deliver-stored.ts';
export { appendToLog, storeInLog } from './feed.ts';
export { type CompanyRecord, exportLog, type LogReader, readLog } from './read.ts';
