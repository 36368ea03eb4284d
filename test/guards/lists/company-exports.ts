import { makeGuards } from '../guard.ts';

const EXPORT_TESTS = ['test/company-exports/exports.test.ts'];

export const COMPANY_EXPORT_GUARDS = [
  ...makeGuards('src/modules/company-exports/store.ts', EXPORT_TESTS, [
    { in: 'insertExport', text: '.onConflictDoNothing()', title: 'at the same moment' },
    { in: 'giveUpExport', text: 'isUnleased(companyExports, now),', title: 'only one queue delivery at a time' },
    { in: 'giveUpExport', text: 'gte(companyExports.tries, maxAttempts),', title: 'one zip archive of all data' },
    {
      in: 'claimDueExports',
      text: 'or(eq(companyExports.forOperator, true), isCompanyActive(companyExports.companyId)) as SQL',
      without: 'sql`true`',
      title: 'waits if its owner',
    },
  ]),
  ...makeGuards('drizzle/0034_company-exports.sql', EXPORT_TESTS, [
    { text: 'UNIQUE INDEX `company_exports_one_at_a_time`', without: 'INDEX `company_exports_one_at_a_time`' },
  ]),
];
