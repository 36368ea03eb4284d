import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SURFACES } from '../../src/app.ts';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import { aPublished, aReader } from '../data-api/support.ts';
import { createSigningKey, hostToken, makeEmbed, makeEmbedRoutes } from '../embeds/support.ts';
import { aContext, anOutsider, dashboardGrant, requestCode, verifyCode } from '../share-portal/support.ts';
import { aSalesDashboard, aShare, linkOf, someSales } from '../shares/support.ts';
import { createEnrolledUser, finishSignIn, readPendingToken } from '../sign-in/support.ts';
import { type ApiResponse, BASE_URL, type Caller, call, createCaller } from '../support/api.ts';
import { advanceClock, resetClock, runScheduled } from '../support/clock.ts';
import { inviteUser } from '../support/invite.ts';
import { readRecords } from '../support/log.ts';
import { listMailsTo, readLink, readNewestMail, whileMailIsDown } from '../support/mail.ts';
import { countRows, sendOvertaken } from '../support/rival.ts';
import { computeCode } from '../support/second-factor.ts';
import { allow, aServiceAccountThat, must, signed, withSecret } from '../support/signed.ts';
import { aCompany, aProvisionedCompany, aUser, type Company, logIn, PASSWORD } from '../support/worlds.ts';
import { createHeldQueue, deliverMessage, readJob, uploadFiles } from '../uploads/support.ts';

const operator = createCaller('operator-token-of-the-tests');
const pathOf = ({ id }: { id: string }) => `/admin/organizations/${id}`;
const setStatus = (company: { id: string }, status: string) =>
  must(operator.patch(pathOf(company), { json: { status } }));
const suspend = (company: { id: string }) => setStatus(company, 'suspended');
const activate = (company: { id: string }) => setStatus(company, 'active');

/** What a refusal is called, on each surface. */
const refusal = ({ status, body }: ApiResponse) => [
  status,
  body.error_code ?? body.error,
  body.details?.reason ?? body.details,
];
const REFUSED = [403, 'COMPANY_SUSPENDED', 'company_suspended'];
const REFUSED_TO_MACHINES = [403, 'Forbidden', 'company_suspended'];
const REFUSED_TO_DIRECTORIES = [403, undefined, 'company_suspended'];

const CITIES = () => new File(['city,people\nRio,1\nOslo,2\n'], 'cities.csv');

afterEach(resetClock);

describe('an organization that the operator manages', () => {
  it('is listed, found by name, slug and status, and shown', async () => {
    const company = await aCompany();
    const other = await aCompany();
    await suspend(other);
    const found = async (query: string) => {
      const { body } = await operator.get(`/admin/organizations?${query}`);
      return body.results.map(({ id }: { id: string }) => id);
    };
    expect(await found(`search=${company.slug.toUpperCase()}`)).toEqual([company.id]);
    expect(await found(`search=${company.slug}&status=suspended`)).toEqual([]);
    expect(await found(`search=${other.slug}&status=suspended`)).toEqual([other.id]);
    expect((await found('order_by=-created_at&quantity=2')).toSorted()).toEqual([company.id, other.id].toSorted());
    expect(await must(operator.get(pathOf(company)))).toEqual({
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
    const company = await aCompany();
    expect(await must(operator.patch(pathOf(company), { json: { name: 'Globex' } }))).toMatchObject({
      name: 'Globex',
      status: 'active',
    });
    const { suspended_at: since } = await suspend(company);
    advanceClock(60_000);
    expect(await suspend(company)).toMatchObject({ name: 'Globex', status: 'suspended', suspended_at: since });
    expect(await activate(company)).toMatchObject({ status: 'active', suspended_at: null });
  });

  it.each([
    [{ status: 'deleting' }, 'status'],
    [{ status: null }, 'status'],
    [{ name: '' }, 'name'],
    [{ slug: 'another' }, 'slug'],
    [{ suspended_at: null, quotas: {} }, 'quotas'],
  ])('is not changed by %j', async (json, field) => {
    const company = await aCompany();
    const { status, body } = await operator.patch(pathOf(company), { json });
    expect([status, body.details.map((problem: { field: string }) => problem.field)]).toEqual([422, [field]]);
  });

  it('cannot be managed by anybody else', async () => {
    const company = await aCompany();
    for (const caller of [createCaller('wrong'), createCaller(company.token), signed(company.apiKey)]) {
      expect((await caller.get('/admin/organizations')).status).toBe(401);
      expect((await caller.get(pathOf(company))).status).toBe(401);
      expect((await caller.patch(pathOf(company), { json: { status: 'suspended' } })).status).toBe(401);
    }
    expect((await operator.get('/admin/organizations/000000000000000000000000')).status).toBe(404);
    expect((await operator.patch('/admin/organizations/none', { json: {} })).status).toBe(404);
  });
});

describe('a suspended organization', () => {
  let company: Company;
  let service: string;
  let outsider: Caller;
  let portal: { access_token: string; refresh_token: string };
  let share: string;
  let link: string;
  let dashboard: string;
  const embeds: Record<string, string> = {};
  beforeAll(async () => {
    company = await aProvisionedCompany();
    await someSales(company);
    const made = await aSalesDashboard(company);
    dashboard = made.dashboard._id;
    share = (await aShare(company, dashboard)).token;
    embeds.ours = (await makeEmbed(company, 'dashboards', dashboard)).token;
    embeds.hosts = await hostToken(await createSigningKey(company), { dashboard_id: dashboard });
    await aContext(company, [dashboardGrant(dashboard)], ['ana@partner.test']);
    portal = (await anOutsider(company, 'ana@partner.test')).tokens;
    outsider = createCaller(portal.access_token);
    service = (await must(signed(company.apiKey).post('/tokens', { json: { expires_in: 600 } }))).token;
    const reader = await aReader(company, 'data_api:get_job');
    const { slug } = await aPublished(company, 'SELECT 1 AS one');
    const { messages, env: held } = createHeldQueue();
    const env = { DATA_JOBS: held.JOBS } as unknown as Record<string, string>;
    const { job_id } = await must(reader.as.post(`/data/${slug}/jobs`, { json: {}, env }));
    await deliverMessage(messages[0] as JobMessage);
    link = (await must(reader.as.get(`/data/jobs/${job_id}`))).url;
  });
  beforeEach(() => suspend(company));
  afterEach(() => activate(company));

  /** Who may come, by the credential of the table of routes. */
  const callers = (): Record<string, Caller> => ({
    bearer: company.as,
    'bearer?': company.as,
    machine: createCaller(service),
    signature: signed(company.apiKey),
    external: outsider,
    directory: withSecret({ key: company.apiKey }),
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
    const caller = callers()[credential] ?? company.as;
    const path = contract.path.replaceAll(/\{\w+\}/g, '0'.repeat(24));
    const answer = await caller[contract.method](path, contract.method === 'get' ? {} : { json: {} });
    expect([REFUSED, REFUSED_TO_MACHINES, REFUSED_TO_DIRECTORIES]).toContainEqual(refusal(answer));
  });

  it('refuses service tokens on routes for users, and API keys with their secret', async () => {
    expect(refusal(await createCaller(service).get('/v1/managed-tables'))).toEqual(REFUSED);
    const { access_key, secret_key } = company.apiKey;
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    expect((await createCaller(`${access_key}:${secret_key}`).post('/mcp', { json: ping })).status).toBe(403);
  });

  it('shows no share, no embed and no result behind a link', async () => {
    const answers = [
      await linkOf(share).resolve(),
      await linkOf(share).execute(),
      await linkOf(share).options('regions'),
      ...(await Promise.all(
        Object.values(embeds).flatMap((token) => [
          makeEmbedRoutes('d', token).info(),
          makeEmbedRoutes('d', token).execute(),
        ]),
      )),
    ];
    expect(answers.map(refusal)).toEqual(answers.map(() => REFUSED));
    expect(refusal(await call('GET', new URL(link).pathname))).toEqual(REFUSED_TO_MACHINES);
  });

  it('has the requests that it refuses in its audit trail, with who sent them', async () => {
    const person = { principalType: 'user', principalId: company.owner.id };
    const machine = { principalType: 'service_account', principalId: expect.any(String) };
    const anybody = { principalType: 'anonymous', principalId: null };
    const sent: [ApiResponse, object][] = [
      [await company.as.get('/v1/groups'), person],
      [await signed(company.apiKey).get('/groups'), machine],
      [await createCaller(service).get('/v1/managed-tables'), machine],
      [await outsider.get('/api/v1/share-portal/contexts'), { principalType: 'outsider' }],
      [await linkOf(share).resolve(), anybody],
      [await makeEmbedRoutes('d', embeds.ours as string).info(), anybody],
    ];
    for (const [{ status, headers }, expected] of sent) {
      const values = { correlationId: headers.get('x-correlation-id') as string };
      await expect
        .poll(async () => (await readRecords('audit', company.id, { values }))[0])
        .toMatchObject({ ...expected, status: 403 });
      expect(status).toBe(403);
    }
  });

  it('lets nobody sign in, whatever the way', async () => {
    const post = (path: string, json: unknown) => call('POST', path, { json });
    const email = company.owner.email;
    const company_slug = company.slug;
    const answers = [
      await logIn(company.slug, email, PASSWORD),
      await logIn(company.slug, 'nobody@else.test', 'a wrong password'),
      await post('/v1/auth/passwordless/verify', { company_slug, email, code: '123456' }),
      await post('/v1/auth/social', { company_slug, social_token: 'a.b.c' }),
      await post('/v1/auth/refresh', { refresh_token: company.refreshToken }),
      await call('GET', `/v1/auth/sso/${company_slug}/start?redirect_uri=https://console.test/`),
      await verifyCode(company, 'ana@partner.test', '1234-5678'),
      await post('/api/v1/share-auth/refresh', { refresh_token: portal.refresh_token }),
    ];
    expect(answers.map(refusal)).toEqual(answers.map(() => REFUSED));
  });

  it('keeps the refresh tokens that it refuses, which work after the suspension', async () => {
    const refresh = () => call('POST', '/v1/auth/refresh', { json: { refresh_token: company.refreshToken } });
    expect((await refresh()).status).toBe(403);
    advanceClock(60_000);
    await activate(company);
    const { token, refresh_token: refreshToken } = await must(refresh());
    Object.assign(company, { token, refreshToken, as: createCaller(token) });
    portal = await must(call('POST', '/api/v1/share-auth/refresh', { json: { refresh_token: portal.refresh_token } }));
    outsider = createCaller(portal.access_token);
  });

  it('answers requests for codes and resets as usual, and mails nothing', async () => {
    const email = company.owner.email;
    const before = listMailsTo(email).length + listMailsTo('ana@partner.test').length;
    const post = (path: string, json: unknown) => call('POST', path, { json });
    const answers = [
      await post('/v1/auth/passwordless/request', { company_slug: company.slug, email }),
      await post('/v1/users/reset-password/request', { company_slug: company.slug, email }),
      await post('/v1/users/reset-password/request', { email }),
      await requestCode(company, 'ana@partner.test'),
    ];
    expect(answers.map(({ status }) => status < 300)).toEqual(answers.map(() => true));
    advanceClock(120_000);
    await runScheduled();
    expect(listMailsTo(email).length + listMailsTo('ana@partner.test').length).toBe(before);
  });
});

describe('a link that an organization has mailed', () => {
  it('is refused while the organization is suspended, and works afterwards', async () => {
    const company = await aCompany();
    await inviteUser(company, 'new@else.test');
    const invitation = readLink(readNewestMail('new@else.test')).searchParams.get('token') as string;
    await call('POST', '/v1/users/reset-password/request', { json: { email: company.owner.email } });
    const reset = readLink(readNewestMail(company.owner.email)).searchParams.get('token') as string;
    const password = 'quiet-harbour-lantern';
    const send = async () => [
      await call('GET', `/v1/users/invitation?token=${invitation}`),
      await call('POST', '/v1/users/accept-invitation', { json: { token: invitation, password, name: 'New' } }),
      await call('POST', '/v1/users/reset-password/confirm', { json: { token: reset, password } }),
    ];
    await suspend(company);
    expect((await send()).map(refusal)).toEqual([REFUSED, REFUSED, REFUSED]);
    // A person gets a page, whose form is answered so.
    const env = { CONSOLE_URL: BASE_URL };
    for (const page of [`/accept-invitation?token=${invitation}`, `/reset-password?token=${reset}`]) {
      const { status, body } = await call('GET', page, { env });
      expect([status, body]).toEqual([200, expect.stringContaining('<html')]);
    }
    await activate(company);
    expect((await send()).map(({ status }) => status < 300)).toEqual([true, true, true]);
  });
});

describe('a suspension', () => {
  it('takes effect on the next request, also for cached callers, and so does its end', async () => {
    const company = await aCompany();
    const user = await aUser(company, { can: ['groups:list'] });
    const robot = await aServiceAccountThat(company, allow('groups:ListGroups'));
    const ask = async () => [
      (await user.as.get('/v1/groups')).status,
      (await signed(robot.key).get('/groups')).status,
      (await signed(robot.key).get('/groups')).status,
    ];
    expect(await ask()).toEqual([200, 200, 200]);
    await suspend(company);
    expect(await ask()).toEqual([403, 403, 403]);
    await activate(company);
    expect(await ask()).toEqual([200, 200, 200]);
  });

  it('prevents a session that is just being created', async () => {
    const company = await aCompany();
    const json = { company_slug: company.slug, email: company.owner.email, password: PASSWORD };
    const late = await sendOvertaken(
      /^insert into "sessions"/,
      () => suspend(company),
      (env) => call('POST', '/v1/auth/login', { json, env }),
    );
    expect(refusal(late)).toEqual(REFUSED);
    // The one of the company's beginning.
    expect(await countRows('sessions where company_id = ?', company.id)).toBe(1);
  });

  it('refuses a sign-in that waits for a second factor, which works after the suspension', async () => {
    const company = await aCompany();
    const { email, backupCodes } = await createEnrolledUser(company);
    const { email: other } = await aUser(company);
    const pending = await readPendingToken(company, email);
    await must(company.as.put('/v1/company/settings', { json: { require_2fa: true } }));
    const pending_2fa_token = await readPendingToken(company, other);
    const enrolment = (step: string, json = {}, env?: Record<string, string>) =>
      call('POST', `/v1/auth/2fa/${step}`, { json: { pending_2fa_token, ...json }, ...(env && { env }) });
    const { secret } = await must(enrolment('setup'));
    const login = (env?: Record<string, string>) =>
      finishSignIn(pending, { backup_code: backupCodes[0] as string }, env);
    const enable = (env?: Record<string, string>) => enrolment('enable', { totp_token: computeCode(secret) }, env);
    for (const send of [login, enable]) {
      const late = await sendOvertaken(/^update "pending_second_factors"/, () => suspend(company), send);
      expect([late, await send(), await enrolment('setup')].map(refusal)).toEqual([REFUSED, REFUSED, REFUSED]);
      await activate(company);
      expect((await send()).status).toBe(200);
    }
  });

  it('leaves a job queued whose message arrives, and the job continues afterwards', async () => {
    const company = await aProvisionedCompany();
    const queue = createHeldQueue();
    const id = await uploadFiles(company, [CITIES()], { env: queue.env });
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

  it('stops waiting uploads, messages, data jobs and mails until it ends', async () => {
    const company = await aProvisionedCompany();
    const email = company.owner.email;
    const queue = createHeldQueue();
    const env = { ...queue.env, DATA_JOBS: queue.env.JOBS };
    const silent = await uploadFiles(company, [CITIES()], { env: queue.env });
    const { slug } = await aPublished(company, 'SELECT 1 AS one');
    const reader = await aReader(company);
    const sent = { json: {}, env: env as unknown as Record<string, string> };
    const { job_id: data } = await must(reader.as.post(`/data/${slug}/jobs`, sent));
    const [first] = queue.messages as [JobMessage];
    const asked = { json: { company_slug: company.slug, email } };
    await whileMailIsDown(() => must(call('POST', '/v1/users/reset-password/request', asked)));
    await suspend(company);
    await deliverMessage(first, queue.env);
    queue.messages.splice(0);
    const mails = listMailsTo(email).length;
    advanceClock(5 * 60_000);
    await runScheduled(env);
    expect(queue.messages).toEqual([]);
    expect(listMailsTo(email).length).toBe(mails);
    await activate(company);
    await runScheduled(env);
    const ids = queue.messages.map((message) => ('jobId' in message ? message.jobId : ''));
    expect(ids.toSorted()).toEqual([silent, silent, data].toSorted());
    expect(listMailsTo(email).length).toBe(mails + 1);
  });
});
