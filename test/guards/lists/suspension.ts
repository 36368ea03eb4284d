import { guardsOf } from '../guard.ts';

const TESTS = ['test/companies/suspension.test.ts'];
const UNDER_WAY_TESTS = ['test/organizations/under-way.test.ts'];
const WAIT = { without: '', title: 'stops waiting uploads' };

/** What is left alone while a company is suspended. */
export const SUSPENSION_GUARDS = [
  ...guardsOf('src/modules/sessions/queries.ts', TESTS, [
    { in: 'rotateSession', text: ' isCompanyActive(sessions.companyId),', without: '', title: 'refresh tokens' },
    {
      in: 'insertSession',
      text: '      isCompanyActive(sql`${companyId}`),',
      without: '',
      title: 'just being created',
    },
  ]),
  ...guardsOf('src/modules/sign-in/pending-store.ts', TESTS, [
    {
      in: 'countTry',
      text: 'isCompanyActive(pendingSecondFactors.companyId),',
      without: '',
      title: 'waits for a second factor',
    },
  ]),
  ...guardsOf(
    'src/modules/single-sign-on/store.ts',
    ['test/single-sign-on/oidc.console.test.ts'],
    [{ in: 'consumeCode', text: ', isCompanyActive(ssoCodes.companyId)', without: '', title: 'keeps its code' }],
  ),
  ...guardsOf('src/modules/outbox/store.ts', TESTS, [
    { in: 'claimDue', text: ', isCompanyActive(outbox.companyId)', ...WAIT },
  ]),
  ...guardsOf('src/modules/mails/store.ts', TESTS, [
    { in: 'claimDue', text: ', isCompanyActive(mailRequests.companyId)', ...WAIT },
  ]),
  ...guardsOf('src/modules/data-api/job-store.ts', TESTS, [
    { in: 'claimDue', text: 'isCompanyActive(dataJobs.companyId)', ...WAIT, without: 'sql`true`' },
  ]),
  ...guardsOf('src/modules/managed-database/store.ts', TESTS, [
    { in: 'claimDue', text: ', isCompanyActive(managedDatabases.companyId)', ...WAIT },
  ]),
  ...guardsOf('src/modules/uploads/load.ts', UNDER_WAY_TESTS, [
    {
      in: 'continueLoad',
      text: " || (await readCompanyState(ctx)) !== 'active'",
      without: '',
      title: 'publishes no row',
    },
  ]),
  ...guardsOf('src/modules/company-exports/jobs.ts', UNDER_WAY_TESTS, [
    { text: ' || (await isWaiting(this.#ctx, this.#job))', without: '', title: 'an export waits' },
  ]),
];
