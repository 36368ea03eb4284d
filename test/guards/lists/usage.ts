import { guardsOf } from '../guard.ts';

const TESTS = ['test/usage/quotas.test.ts'];

/** What keeps a company within its quotas. */
export const USAGE_GUARDS = [
  ...guardsOf('drizzle/0036_hold-quotas.sql', TESTS, [
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
  ...guardsOf('drizzle/0035_usage-and-quotas.sql', TESTS, [
    { text: ',\n\tPRIMARY KEY(`company_id`, `day`)', without: '', title: 'counts per day' },
  ]),
  ...guardsOf('src/modules/usage/queries.ts', TESTS, [
    { in: 'countUse', text: 'row, when)', without: 'row, sql`true`)', title: 'the quota of AI model calls per day' },
  ]),
  ...guardsOf(
    'src/modules/schedules/run-store.ts',
    ['test/usage/days.test.ts'],
    [
      {
        in: 'beginDelivery',
        text: '        mayMail({ companyId, at: now }),\n',
        without: '',
        title: 'viewers and schedules',
      },
    ],
  ),
  ...guardsOf('src/modules/managed-tables/room.ts', TESTS, [
    { text: ', `pg_advisory_xact_lock(${MEASURE_LOCK})`', without: '', title: 'two tables at once' },
    { text: ', `pg_advisory_xact_lock${mode}(${ROOM_LOCK})`', without: '', title: 'let ' },
    {
      text: '        await tx.query(`SELECT pg_advisory_lock${mode}(${ROOM_LOCK})`);\n',
      without: '',
      title: 'let ',
    },
    { text: 'error.isDoubtful ?', without: 'false ?', title: 'let ' },
    { text: 'if (hasOthers)', without: 'if (false)', title: 'not committed when an index is built' },
    {
      in: 'requireTableRoom',
      text: ', `pg_advisory_xact_lock(${ROOM_LOCK})`',
      without: '',
      title: 'not committed when an index is built',
    },
  ]),
  ...guardsOf('src/modules/uploads/room.ts', TESTS, [
    {
      text: "  await tx.query('SELECT pg_advisory_xact_lock($1)', [COUNT_LOCK]);\n",
      without: '',
      title: 'two files at once',
    },
  ]),
];
