import { guardsOf } from '../guard.ts';

const TESTS = ['test/company-exports/exports.test.ts'];

export const COMPANY_EXPORT_GUARDS = [
  ...guardsOf('src/modules/company-exports/store.ts', TESTS, [
    { in: 'insertExport', text: '.onConflictDoNothing()', without: '', title: 'at the same moment' },
    {
      in: 'giveUpExport',
      text: ', isFree(companyExports, now)',
      without: '',
      title: 'only one queue delivery at a time',
    },
    {
      in: 'giveUpExport',
      text: ', gte(companyExports.tries, most)',
      without: '',
      title: 'one zip archive of all data',
    },
    {
      in: 'claimDue',
      text: 'or(eq(companyExports.forOperator, true), isCompanyActive(companyExports.companyId)) as SQL',
      without: 'sql`true`',
      title: 'waits if its owner',
    },
  ]),
  ...guardsOf('drizzle/0034_company-exports.sql', TESTS, [
    { text: 'UNIQUE INDEX `company_exports_one_at_a_time`', without: 'INDEX `company_exports_one_at_a_time`' },
  ]),
];
