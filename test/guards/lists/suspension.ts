import { makeGuards } from '../guard.ts';

const SUSPENSION_TESTS = ['test/companies/suspension.test.ts'];
const RUNNING_JOB_TESTS = ['test/organizations/running-jobs.test.ts'];
const WAITING_UPLOAD_CASE = { without: '', title: 'stops waiting uploads' };

/** Guards that leave the work of a suspended company waiting. */
export const SUSPENSION_GUARDS = [
  ...makeGuards('src/modules/sessions/queries.ts', SUSPENSION_TESTS, [
    { in: 'rotateSession', text: ' isCompanyActive(sessions.companyId),', title: 'refresh tokens' },
    { in: 'insertSession', text: '      isCompanyActive(sql`${companyId}`),', title: 'just being created' },
  ]),
  ...makeGuards('src/modules/sign-in/store.ts', SUSPENSION_TESTS, [
    {
      in: 'countTry',
      text: 'isCompanyActive(pendingSecondFactors.companyId),',
      title: 'waits for a second factor',
    },
  ]),
  ...makeGuards(
    'src/modules/single-sign-on/store.ts',
    ['test/single-sign-on/oidc.console.test.ts'],
    [{ in: 'consumeCode', text: ', isCompanyActive(ssoCodes.companyId)', title: 'keeps its code' }],
  ),
  ...makeGuards('src/modules/outbox/store.ts', SUSPENSION_TESTS, [
    { in: 'claimDueMessages', text: ', isCompanyActive(outbox.companyId)', ...WAITING_UPLOAD_CASE },
  ]),
  ...makeGuards('src/modules/mails/store.ts', SUSPENSION_TESTS, [
    { in: 'claimDueRequests', text: ', isCompanyActive(mailRequests.companyId)', ...WAITING_UPLOAD_CASE },
  ]),
  ...makeGuards('src/modules/data-api/job-store.ts', SUSPENSION_TESTS, [
    {
      in: 'claimDueDataJobs',
      text: 'isCompanyActive(dataJobs.companyId)',
      ...WAITING_UPLOAD_CASE,
      without: 'sql`true`',
    },
  ]),
  ...makeGuards('src/modules/managed-database/store.ts', SUSPENSION_TESTS, [
    { in: 'claimDueRows', text: ', isCompanyActive(managedDatabases.companyId)', ...WAITING_UPLOAD_CASE },
  ]),
  ...makeGuards('src/modules/uploads/load.ts', RUNNING_JOB_TESTS, [
    { in: 'continueLoad', text: " || (await readCompanyState(ctx)) !== 'active'", title: 'publishes no row' },
  ]),
  ...makeGuards('src/modules/schedules/runs.ts', RUNNING_JOB_TESTS, [
    {
      in: 'tryRun',
      text: "  if ((await readCompanyState(ctx)) === 'suspended') return 'suspended';\n",
      title: 'ends after the suspension',
    },
  ]),
  ...makeGuards('src/modules/company-exports/jobs.ts', RUNNING_JOB_TESTS, [
    { text: ' || (await waitsForSuspension(this.#ctx, this.#job))', title: 'an export waits' },
  ]),
];
