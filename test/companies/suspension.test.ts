import { beforeAll, describe, expect, it } from 'vitest';
import { SURFACES } from '../../src/app.ts';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import { createReader, publishSql } from '../data-api/support.ts';
import { createEmbedClient, createEmbedRecord, createSigningKey, hostToken } from '../embeds/support.ts';
import {
  createShareContext,
  makeDashboardGrant,
  readPortalCode,
  requestCode,
  signInOutsider,
  verifyCode,
} from '../share-portal/support.ts';
import { createSalesDashboard, createSalesTable, createShare, createShareClient } from '../shares/support.ts';
import { createEnrolledUser, finishSignIn, readPendingToken } from '../sign-in/support.ts';
import { type ApiResponse, BASE_URL, type Caller, callApi, createCaller } from '../support/api.ts';
import { advanceClock, runScheduled } from '../support/clock.ts';
import {
  type Company,
  createAllowedUser,
  createOwnedCompany,
  createProvisionedCompany,
  logIn,
  PASSWORD,
} from '../support/companies.ts';
import { inviteUser } from '../support/invite.ts';
import { readRecords } from '../support/log.ts';
import { listMailsTo, readLink, readNewestMail, runWhileMailIsDown } from '../support/mail.ts';
import { countRows, sendDuringRace } from '../support/race.ts';
import { computeCode } from '../support/second-factor.ts';
import {
  createAllowedAccount,
  createSecretCaller,
  createSignedCaller,
  expectSuccess,
  makeAllow,
} from '../support/signed.ts';
import { createTestQueue, deliverMessage, readJob, uploadFiles } from '../uploads/support.ts';

const operator = createCaller('operator-token-of-the-tests');
const formatOrganizationPath = ({ id }: { id: string }) => `/admin/organizations/${id}`;
const setStatus = (company: { id: string }, status: string) =>
  expectSuccess(operator.patch(formatOrganizationPath(company), { json: { status } }));
const suspend = (company: { id: string }) => setStatus(company, 'suspended');
const activate = (company: { id: string }) => setStatus(company, 'active');

/** Returns the status, error code and reason of a refusal, wherever the API puts them. */
const readRefusalParts = ({ status, body }: ApiResponse) => [
  status,
  body.error_code ?? body.error,
  body.details?.reason ?? body.details,
];
const USER_REFUSAL = [403, 'COMPANY_SUSPENDED', 'company_suspended'];
const MACHINE_REFUSAL = [403, 'Forbidden', 'company_suspended'];
const DIRECTORY_REFUSAL = [403, undefined, 'company_suspended'];

const makeCitiesFile = () => new File(['city,people\nRio,1\nOslo,2\n'], 'cities.csv');

describe('an organization that the operator manages', () => {
  it('is listed, found by name, slug and status, and shown', async () => {
    const company = await createOwnedCompany();
    const other = await createOwnedCompany();
    await suspend(other);
    const findOrganizations = async (query: string) => {
      const { body } = await operator.get(`/admin/organizations?${query}`);
      return body.results.map(({ id }: { id: string }) => id);
    };
    expect(await findOrganizations(`search=${company.slug.toUpperCase()}`)).toEqual([company.id]);
    expect(await findOrganizations(`search=${company.slug}&status=suspended`)).toEqual([]);
    expect(await findOrganizations(`search=${other.slug}&status=suspended`)).toEqual([other.id]);
    expect((await findOrganizations('order_by=-created_at&quantity=2')).toSorted()).toEqual(
      [company.id, other.id].toSorted(),
    );
    expect(await expectSuccess(operator.get(formatOrganizationPath(company)))).toEqual({
      id: company.id,
      name: expect.stringMatching(/^Company/),
      slug: company.slug,
      status: 'active',
      created_at: expect.stringMatching(/Z$/),
      suspended_at: null,
      deletes_at: null,
      quotas: expect.objectContaining({ users: null }),
      usage: { users: 1, tables: 0, rows: 0, table_bytes: 0, file_bytes: 0 },
    });
  });

  it('is renamed, and keeps the time of its first suspension', async () => {
    const company = await createOwnedCompany();
    expect(
      await expectSuccess(operator.patch(formatOrganizationPath(company), { json: { name: 'Globex' } })),
    ).toMatchObject({
      name: 'Globex',
      status: 'active',
    });
    const { suspended_at: suspendedAt } = await suspend(company);
    advanceClock(60_000);
    expect(await suspend(company)).toMatchObject({ name: 'Globex', status: 'suspended', suspended_at: suspendedAt });
    expect(await activate(company)).toMatchObject({ status: 'active', suspended_at: null });
  });

  it.each([
    [{ status: 'deleting' }, 'status'],
    [{ name: '' }, 'name'],
    [{ suspended_at: null, quotas: {} }, 'quotas'],
  ])('is not changed by %j', async (json, field) => {
    const company = await createOwnedCompany();
    const { status, body } = await operator.patch(formatOrganizationPath(company), { json });
    expect([status, body.details.map((problem: { field: string }) => problem.field)]).toEqual([422, [field]]);
  });

  it('cannot be managed by anybody but the operator', async () => {
    const company = await createOwnedCompany();
    for (const caller of [createCaller('wrong'), createCaller(company.token), createSignedCaller(company.apiKey)]) {
      expect((await caller.get('/admin/organizations')).status).toBe(401);
      expect((await caller.get(formatOrganizationPath(company))).status).toBe(401);
      expect((await caller.patch(formatOrganizationPath(company), { json: { status: 'suspended' } })).status).toBe(401);
    }
    expect((await operator.get('/admin/organizations/000000000000000000000000')).status).toBe(404);
    expect((await operator.patch('/admin/organizations/none', { json: {} })).status).toBe(404);
  });
});

describe('a suspended organization', () => {
  let company: Company;
  let serviceToken: string;
  let outsider: Caller;
  let portalTokens: { access_token: string; refresh_token: string };
  let shareToken: string;
  let resultLink: string;
  let dashboard: string;
  const embeds: Record<string, string> = {};
  beforeAll(async () => {
    company = await createProvisionedCompany();
    await createSalesTable(company);
    const sales = await createSalesDashboard(company);
    dashboard = sales.dashboard._id;
    shareToken = (await createShare(company, dashboard)).token;
    embeds.ours = (await createEmbedRecord(company, 'dashboards', dashboard)).token;
    embeds.hosts = await hostToken(await createSigningKey(company), { dashboard_id: dashboard });
    await createShareContext(company, [makeDashboardGrant(dashboard)], ['ana@partner.test']);
    portalTokens = (await signInOutsider(company, 'ana@partner.test')).tokens;
    outsider = createCaller(portalTokens.access_token);
    serviceToken = (
      await expectSuccess(createSignedCaller(company.apiKey).post('/tokens', { json: { expires_in: 600 } }))
    ).token;
    const reader = await createReader(company, 'data_api:get_job');
    const { slug } = await publishSql(company, 'SELECT 1 AS one');
    const { messages, env: heldEnv } = createTestQueue();
    const env = { DATA_JOBS: heldEnv.JOBS } as unknown as Record<string, string>;
    const { job_id } = await expectSuccess(reader.as.post(`/data/${slug}/jobs`, { json: {}, env }));
    await deliverMessage(messages[0] as JobMessage);
    resultLink = (await expectSuccess(reader.as.get(`/data/jobs/${job_id}`))).url;
    await suspend(company);
  });

  /** Returns a caller for each credential that the table of routes names. */
  const createCallers = (): Record<string, Caller> => ({
    bearer: company.as,
    'bearer?': company.as,
    machine: createCaller(serviceToken),
    signature: createSignedCaller(company.apiKey),
    external: outsider,
    directory: createSecretCaller({ key: company.apiKey }),
  });

  const routes = SURFACES.flatMap(({ surface, endpoints }) =>
    endpoints.map(({ contract }) => ({ contract, credential: contract.credential ?? surface.credential })),
  ).filter(({ contract: { access } }) => typeof access !== 'object' || !('token' in access));

  it.each(
    routes
      .filter(({ contract: { access } }) => !['public', 'operator'].includes(access as string))
      .map(
        ({ contract, credential }) =>
          [`${contract.method.toUpperCase()} ${contract.path}`, contract, credential] as const,
      ),
  )('refuses every credential: %s', async (_name, contract, credential) => {
    const caller = createCallers()[credential] ?? company.as;
    const path = contract.path.replaceAll(/\{\w+\}/g, '0'.repeat(24));
    const answer = await caller[contract.method](path, contract.method === 'get' ? {} : { json: {} });
    expect([USER_REFUSAL, MACHINE_REFUSAL, DIRECTORY_REFUSAL]).toContainEqual(readRefusalParts(answer));
  });

  it('refuses service tokens on routes for users, and API keys with their secret', async () => {
    expect(readRefusalParts(await createCaller(serviceToken).get('/v1/managed-tables'))).toEqual(USER_REFUSAL);
    const { access_key, secret_key } = company.apiKey;
    const pingRequest = { jsonrpc: '2.0', id: 1, method: 'ping' };
    expect((await createCaller(`${access_key}:${secret_key}`).post('/mcp', { json: pingRequest })).status).toBe(403);
  });

  it('shows no share, no embed and no result behind a link', async () => {
    const answers = [
      await createShareClient(shareToken).resolve(),
      await createShareClient(shareToken).execute(),
      await createShareClient(shareToken).options('regions'),
      ...(await Promise.all(
        Object.values(embeds).flatMap((token) => [
          createEmbedClient('d', token).info(),
          createEmbedClient('d', token).execute(),
        ]),
      )),
    ];
    expect(answers.map(readRefusalParts)).toEqual(answers.map(() => USER_REFUSAL));
    expect(readRefusalParts(await callApi('GET', new URL(resultLink).pathname))).toEqual(MACHINE_REFUSAL);
  });

  it('has the requests that it refuses in its audit trail, with who sent them', async () => {
    const person = { principalType: 'user', principalId: company.owner.id };
    const machineActor = { principalType: 'service_account', principalId: expect.any(String) };
    const anonymousActor = { principalType: 'anonymous', principalId: null };
    const sentRequests: [ApiResponse, object][] = [
      [await company.as.get('/v1/groups'), person],
      [await createSignedCaller(company.apiKey).get('/groups'), machineActor],
      [await createCaller(serviceToken).get('/v1/managed-tables'), machineActor],
      [await outsider.get('/api/v1/share-portal/contexts'), { principalType: 'outsider' }],
      [await createShareClient(shareToken).resolve(), anonymousActor],
      [await createEmbedClient('d', embeds.ours as string).info(), anonymousActor],
    ];
    for (const [{ status, headers }, expected] of sentRequests) {
      const values = { correlationId: headers.get('x-correlation-id') as string };
      await expect
        .poll(async () => (await readRecords('audit', company.id, { values }))[0])
        .toMatchObject({ ...expected, status: 403 });
      expect(status).toBe(403);
    }
  });

  it('lets nobody sign in by any method', async () => {
    const post = (path: string, json: unknown) => callApi('POST', path, { json });
    const email = company.owner.email;
    const company_slug = company.slug;
    const answers = [
      await logIn(company.slug, email, PASSWORD),
      await logIn(company.slug, 'nobody@else.test', 'a wrong password'),
      await post('/v1/auth/passwordless/verify', { company_slug, email, code: '123456' }),
      await post('/v1/auth/social', { company_slug, social_token: 'a.b.c' }),
      await post('/v1/auth/refresh', { refresh_token: company.refreshToken }),
      await callApi('GET', `/v1/auth/sso/${company_slug}/start?redirect_uri=https://console.test/`),
      await verifyCode(company, 'ana@partner.test', '1234-5678'),
      await post('/api/v1/share-auth/refresh', { refresh_token: portalTokens.refresh_token }),
    ];
    expect(answers.map(readRefusalParts)).toEqual(answers.map(() => USER_REFUSAL));
  });

  it('answers requests for codes and resets as usual, and mails nothing', async () => {
    const email = company.owner.email;
    const mailCountBefore = listMailsTo(email).length + listMailsTo('ana@partner.test').length;
    const post = (path: string, json: unknown) => callApi('POST', path, { json });
    const answers = [
      await post('/v1/auth/passwordless/request', { company_slug: company.slug, email }),
      await post('/v1/users/reset-password/request', { company_slug: company.slug, email }),
      await post('/v1/users/reset-password/request', { email }),
      await requestCode(company, 'ana@partner.test'),
    ];
    expect(answers.map(({ status }) => status < 300)).toEqual(answers.map(() => true));
    advanceClock(120_000);
    await runScheduled();
    expect(listMailsTo(email).length + listMailsTo('ana@partner.test').length).toBe(mailCountBefore);
  });

  // The last, because it ends the suspension.
  it('keeps the refresh tokens that it refuses, and accepts them after the suspension', async () => {
    const refreshBoth = async () => [
      await callApi('POST', '/v1/auth/refresh', { json: { refresh_token: company.refreshToken } }),
      await callApi('POST', '/api/v1/share-auth/refresh', { json: { refresh_token: portalTokens.refresh_token } }),
    ];
    expect((await refreshBoth()).map(({ status }) => status)).toEqual([403, 403]);
    advanceClock(60_000);
    await activate(company);
    expect((await refreshBoth()).map(({ status }) => status)).toEqual([200, 200]);
  });
});

it('a code that an organization has mailed works after a suspension during which another one was requested', async () => {
  const company = await createProvisionedCompany();
  const { email } = company.owner;
  const outsider = `ana@${company.slug}.test`;
  await createSalesTable(company);
  const { dashboard } = await createSalesDashboard(company);
  await createShareContext(company, [makeDashboardGrant(dashboard._id)], [outsider]);
  const requestBoth = async () => {
    const json = { company_slug: company.slug, email };
    await expectSuccess(callApi('POST', '/v1/auth/passwordless/request', { json }));
    await expectSuccess(requestCode(company, outsider));
  };
  await requestBoth();
  const [code] = /\b\d{6}\b/.exec(readNewestMail(email).text) ?? [];
  const portalCode = readPortalCode(outsider);
  await suspend(company);
  await requestBoth();
  await activate(company);
  const json = { company_slug: company.slug, email, code };
  await expectSuccess(callApi('POST', '/v1/auth/passwordless/verify', { json }));
  await expectSuccess(verifyCode(company, outsider, portalCode));
});

describe('a link that an organization has mailed', () => {
  it('is refused while the organization is suspended, and works afterwards', async () => {
    const company = await createOwnedCompany();
    await inviteUser(company, 'new@else.test');
    const invitationToken = readLink(readNewestMail('new@else.test')).searchParams.get('token') as string;
    await callApi('POST', '/v1/users/reset-password/request', { json: { email: company.owner.email } });
    const resetToken = readLink(readNewestMail(company.owner.email)).searchParams.get('token') as string;
    const password = 'quiet-harbour-lantern';
    const requestLinks = async () => [
      await callApi('GET', `/v1/users/invitation?token=${invitationToken}`),
      await callApi('POST', '/v1/users/accept-invitation', { json: { token: invitationToken, password, name: 'New' } }),
      await callApi('POST', '/v1/users/reset-password/confirm', { json: { token: resetToken, password } }),
    ];
    await suspend(company);
    expect((await requestLinks()).map(readRefusalParts)).toEqual([USER_REFUSAL, USER_REFUSAL, USER_REFUSAL]);
    // A person gets a page that says so, with nothing of theirs.
    const requestLinkPages = async () =>
      Promise.all(
        [`/accept-invitation?token=${invitationToken}`, `/reset-password?token=${resetToken}&locale=pt-BR`].map(
          (page) => callApi('GET', page, { env: { CONSOLE_URL: BASE_URL } }),
        ),
      );
    const expectSuspendedPages = async () => {
      const pages = await requestLinkPages();
      expect(pages.map(({ status, headers }) => [status, headers.get('cache-control')])).toEqual([
        [403, 'no-store'],
        [403, 'no-store'],
      ]);
      const [invitationPage, resetPage] = pages.map(({ body }) => String(body)) as [string, string];
      expect(invitationPage).toContain('This organization is suspended.');
      expect(resetPage).toContain('Esta organização está suspensa.');
      const { name } = await expectSuccess(operator.get(formatOrganizationPath(company)));
      for (const personalPattern of [/new@else/, new RegExp(company.owner.email), new RegExp(name), /<form/]) {
        expect(invitationPage).not.toMatch(personalPattern);
        expect(resetPage).not.toMatch(personalPattern);
      }
    };
    await expectSuspendedPages();
    await expectSuccess(operator.delete(`${formatOrganizationPath(company)}?after_days=30`));
    await expectSuspendedPages();
    await expectSuccess(operator.post(`${formatOrganizationPath(company)}/restore`, { json: {} }));
    expect((await requestLinkPages()).map(({ status }) => status)).toEqual([200, 200]);
    await activate(company);
    expect((await requestLinks()).map(({ status }) => status < 300)).toEqual([true, true, true]);
  });
});

describe('a suspension', () => {
  it('takes effect on the next request, also for cached callers, and so does the end of a suspension', async () => {
    const company = await createOwnedCompany();
    const user = await createAllowedUser(company, { can: ['groups:list'] });
    const serviceAccount = await createAllowedAccount(company, makeAllow('groups:ListGroups'));
    const sendRequests = async () => [
      (await user.as.get('/v1/groups')).status,
      (await createSignedCaller(serviceAccount.key).get('/groups')).status,
      (await createSignedCaller(serviceAccount.key).get('/groups')).status,
    ];
    expect(await sendRequests()).toEqual([200, 200, 200]);
    await suspend(company);
    expect(await sendRequests()).toEqual([403, 403, 403]);
    await activate(company);
    expect(await sendRequests()).toEqual([200, 200, 200]);
  });

  it('prevents a session that is just being created', async () => {
    const company = await createOwnedCompany();
    const json = { company_slug: company.slug, email: company.owner.email, password: PASSWORD };
    const lateAnswer = await sendDuringRace(
      /^insert into "sessions"/,
      () => suspend(company),
      (env) => callApi('POST', '/v1/auth/login', { json, env }),
    );
    expect(readRefusalParts(lateAnswer)).toEqual(USER_REFUSAL);
    // The one of the company's beginning.
    expect(await countRows('sessions where company_id = ?', company.id)).toBe(1);
  });

  it('refuses a sign-in that waits for a second factor, which works after the suspension', async () => {
    const company = await createOwnedCompany();
    const { email, backupCodes } = await createEnrolledUser(company);
    const { email: otherEmail } = await createAllowedUser(company);
    const pendingToken = await readPendingToken(company, email);
    await expectSuccess(company.as.put('/v1/company/settings', { json: { require_2fa: true } }));
    const pending_2fa_token = await readPendingToken(company, otherEmail);
    const postEnrolment = (operation: string, json = {}, env?: Record<string, string>) =>
      callApi('POST', `/v1/auth/2fa/${operation}`, { json: { pending_2fa_token, ...json }, env });
    const { secret } = await expectSuccess(postEnrolment('setup'));
    const loginWithFactor = (env?: Record<string, string>) =>
      finishSignIn(pendingToken, { backup_code: backupCodes[0] as string }, env);
    const enableFactor = (env?: Record<string, string>) =>
      postEnrolment('enable', { totp_token: computeCode(secret) }, env);
    for (const sendRequest of [loginWithFactor, enableFactor]) {
      const lateAnswer = await sendDuringRace(/^update "pending_second_factors"/, () => suspend(company), sendRequest);
      expect([lateAnswer, await sendRequest(), await postEnrolment('setup')].map(readRefusalParts)).toEqual([
        USER_REFUSAL,
        USER_REFUSAL,
        USER_REFUSAL,
      ]);
      await activate(company);
      expect((await sendRequest()).status).toBe(200);
    }
  });

  it('leaves a job queued when its message arrives, and the job continues afterwards', async () => {
    const company = await createProvisionedCompany();
    const queue = createTestQueue();
    const id = await uploadFiles(company, [makeCitiesFile()], { env: queue.env });
    const [message] = queue.messages.splice(0) as [JobMessage];
    await suspend(company);
    expect(await deliverMessage(message, queue.env)).toBe('done');
    await activate(company);
    expect((await readJob(company, id)).status).toBe('queued');
    await runScheduled(queue.env);
    expect(queue.messages).toEqual([expect.objectContaining({ jobId: id })]);
    await deliverMessage(queue.messages[0] as JobMessage, queue.env);
    expect((await readJob(company, id)).status).toBe('waiting_confirm');
  });

  it('stops waiting uploads, messages, data jobs and mails until the suspension ends', async () => {
    const company = await createProvisionedCompany();
    const email = company.owner.email;
    const queue = createTestQueue();
    const env = { ...queue.env, DATA_JOBS: queue.env.JOBS };
    const silentJobId = await uploadFiles(company, [makeCitiesFile()], { env: queue.env });
    const { slug } = await publishSql(company, 'SELECT 1 AS one');
    const reader = await createReader(company);
    const requestOptions = { json: {}, env: env as unknown as Record<string, string> };
    const { job_id: data } = await expectSuccess(reader.as.post(`/data/${slug}/jobs`, requestOptions));
    const [first] = queue.messages as [JobMessage];
    const codeRequest = { json: { company_slug: company.slug, email } };
    await runWhileMailIsDown(() => expectSuccess(callApi('POST', '/v1/users/reset-password/request', codeRequest)));
    await suspend(company);
    await deliverMessage(first, queue.env);
    queue.messages.splice(0);
    const mailCount = listMailsTo(email).length;
    advanceClock(5 * 60_000);
    await runScheduled(env);
    expect(queue.messages).toEqual([]);
    expect(listMailsTo(email).length).toBe(mailCount);
    await activate(company);
    await runScheduled(env);
    const ids = queue.messages.map((message) => ('jobId' in message ? message.jobId : ''));
    expect(ids.toSorted()).toEqual([silentJobId, silentJobId, data].toSorted());
    expect(listMailsTo(email).length).toBe(mailCount + 1);
  });
});
