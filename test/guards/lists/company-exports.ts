import { guardsOf } from '../guard.ts';

const TESTS = ['test/company-exports/exports.test.ts'];

export const COMPANY_EXPORTS = [
  ...guardsOf('src/modules/company-exports/store.ts', TESTS, [
    { in: 'insertExport', text: '.onConflictDoNothing()', without: '', title: 'at the same moment' },
    { in: 'claimExport', text: ', isFree(now)', without: '', title: 'one at a time' },
    { in: 'giveUpExport', text: ', isFree(now)', without: '', title: 'one at a time' },
    { in: 'giveUpExport', text: ', gte(companyExports.tries, most)', without: '', title: 'one archive of everything' },
    {
      in: 'updateTurn',
      text: ", eq(companyExports.status, 'running')",
      without: '',
      title: 'stays whole',
    },
    { in: 'updateTurn', text: ', eq(companyExports.turn, turn)', without: '', title: 'another one has followed' },
    { in: 'claimDueExports', text: 'isUnfinished,', without: '', title: 'kept for a day' },
    {
      in: 'claimDueExports',
      text: ' lte(companyExports.dueAt, now),',
      without: '',
      title: 'taken up by the scheduled run',
    },
    {
      in: 'claimDueExports',
      text: 'or(eq(companyExports.forOperator, true), ofActiveCompany(companyExports.companyId)),',
      without: '',
      title: 'waits if its owner',
    },
    { in: 'isFree', text: ', lte(companyExports.dueAt, now)', without: '', title: 'one at a time' },
  ]),
  ...guardsOf('drizzle/0034_company-exports.sql', TESTS, [
    { text: 'UNIQUE INDEX `company_exports_one_at_a_time`', without: 'INDEX `company_exports_one_at_a_time`' },
  ]),
];
