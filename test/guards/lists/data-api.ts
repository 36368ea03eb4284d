import { makeGuards } from '../guard.ts';

const JOB_TESTS = ['test/data-api/jobs.test.ts'];
const EXPORT_TESTS = ['test/company-exports/exports.test.ts'];
const RACE_TESTS = ['test/data-api/races.test.ts'];

export const DATA_API_GUARDS = [
  ...makeGuards('src/modules/data-api/store.ts', RACE_TESTS, [
    { in: 'insertEndpoint', text: 'isPublishable(record)', without: 'sql`true`' },
    { in: 'updateEndpoint', text: 'isPublishable(changedEndpoint),' },
    { in: 'updateEndpoint', text: 'eq(vizApiEndpoints.version, version),' },
    { in: 'isPublishable', text: ', not(hasFormatParameter)' },
  ]),
  ...makeGuards('src/modules/data-api/job-store.ts', JOB_TESTS, [
    {
      in: 'insertJob',
      text: ' < ${maxUnfinishedJobs}`',
      without: ' < ${maxUnfinishedJobs + 1_000}`',
      title: 'twenty unfinished Data API jobs',
    },
    {
      in: 'makeFreeSlotSql',
      text: ' < ${maxRunningJobs}`',
      without: ' < ${maxRunningJobs + 1_000}`',
      title: 'two at a time',
    },
    { in: 'makeFreeSlotSql', text: ', gt(dataJobs.dueAt, now)', title: 'two at a time' },
    { in: 'giveUpJob', text: ', isUnleased(dataJobs, now)', title: 'five attempts' },
    { in: 'giveUpJob', text: ', gte(dataJobs.attempt, maxAttempts)', title: 'each format' },
  ]),
  ...makeGuards('src/db/job-leases.ts', JOB_TESTS, [
    { in: 'claimJob', text: ', isUnleased(jobs, now)', title: 'is delivered twice at the same time' },
    {
      in: 'updateAttempt',
      text: 'isCurrentAttempt(jobs, attempt)',
      without: 'undefined',
      title: 'leaves the result to a later attempt',
    },
    { in: 'claimDueJobs', text: 'isUnfinished(jobs), ', title: 'five attempts' },
    { in: 'claimDueJobs', text: ' lte(jobs.dueAt, now),', title: 'five attempts' },
    { in: 'isUnleased', text: ', lte(dueAt, now)', title: 'after an interruption' },
    { in: 'isCurrentAttempt', text: ", eq(jobs.status, 'running')", tests: EXPORT_TESTS, title: 'stays complete' },
    { in: 'isCurrentAttempt', text: ', eq(jobs.attempt, attempt)', title: 'leaves the result to a later attempt' },
  ]),
  ...makeGuards('src/modules/visualizations/store.ts', RACE_TESTS, [
    {
      in: 'updateVisualization',
      text: 'onlyUnpublished ? not(existsSql(vizApiEndpoints, isPublicationOf(companyId, id))) : undefined',
      without: 'undefined',
    },
  ]),
  ...makeGuards('drizzle/0017_publish-visualizations.sql', RACE_TESTS, [
    { text: 'UNIQUE INDEX `viz_api_endpoints_slug`', without: 'INDEX `viz_api_endpoints_slug`' },
    {
      text: ',\n\tFOREIGN KEY (`visualization_id`) REFERENCES `visualizations`(`id`) ON UPDATE no action ON DELETE no action',
    },
  ]),
];
