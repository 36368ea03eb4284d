import { makeGuards } from '../guard.ts';

const QUOTA_TESTS = ['test/usage/quotas.test.ts'];

/** Guards that keep a company within its quotas. */
export const USAGE_GUARDS = [
  ...makeGuards('drizzle/0036_hold-quotas.sql', QUOTA_TESTS, [
    {
      text: 'CREATE TRIGGER `users_within_quota` AFTER UPDATE OF `living` ON `user_counts` WHEN',
      without: 'CREATE TRIGGER `users_within_quota` AFTER UPDATE OF `living` ON `user_counts` WHEN false AND',
      title: 'the quota of users',
    },
    {
      text: 'CREATE TRIGGER `mails_within_quota` AFTER INSERT ON `mail_requests` WHEN',
      without: 'CREATE TRIGGER `mails_within_quota` AFTER INSERT ON `mail_requests` WHEN false AND',
      title: 'the quota of mails per day',
    },
  ]),
  ...makeGuards('drizzle/0035_usage-and-quotas.sql', QUOTA_TESTS, [
    { text: ',\n\tPRIMARY KEY(`company_id`, `day`)', title: 'counts per day' },
  ]),
  ...makeGuards('src/modules/usage/queries.ts', QUOTA_TESTS, [
    {
      in: 'countUse',
      text: 'row, condition)',
      without: 'row, sql`true`)',
      title: 'the quota of AI model calls per day',
    },
  ]),
  ...makeGuards(
    'src/modules/schedules/run-store.ts',
    ['test/usage/days.test.ts'],
    [{ in: 'beginDelivery', text: '        mayMail({ companyId, at: now }),\n', title: 'viewers and schedules' }],
  ),
  ...makeGuards('src/modules/managed-tables/table-quota.ts', QUOTA_TESTS, [
    { text: ', `pg_advisory_xact_lock(${MEASURE_LOCK_KEY})`', title: 'two tables at once' },
    { text: ', `pg_advisory_xact_lock${mode}(${SPACE_LOCK_KEY})`', title: 'let ' },
    { text: '        await tx.query(`SELECT pg_advisory_lock${mode}(${SPACE_LOCK_KEY})`);\n', title: 'let ' },
    { text: 'error.mayFitAlone', without: 'false', title: 'let ' },
    {
      text: ' || !hasOtherChanges',
      without: ' || true',
      title: 'do not count uncommitted rows of other transactions when an index is built',
    },
    {
      in: 'measureCommittedBytes',
      text: ', `pg_advisory_xact_lock(${SPACE_LOCK_KEY})`',
      title: 'do not count uncommitted rows of other transactions when an index is built',
    },
  ]),
  ...makeGuards('src/modules/managed-tables/indexes.ts', QUOTA_TESTS, [
    { text: '    if (quota) await requireWithinTableQuota(ctx, database, quota);\n', title: 'two indexes' },
  ]),
  ...makeGuards('src/modules/uploads/file-quota.ts', QUOTA_TESTS, [
    {
      text: "  await tx.query('SELECT pg_advisory_xact_lock($1)', [FILE_COUNT_LOCK_ID]);\n",
      title: 'two files at once',
    },
  ]),
];
