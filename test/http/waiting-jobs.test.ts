import { createExecutionContext, env, waitOnExecutionContext } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import { createClient, withKey } from '../../client/client.ts';
import { SURFACES } from '../../src/app.ts';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import { aPublished, aReader } from '../data-api/support.ts';
import { answerConcepts, createJobRunner, makeConceptCandidate } from '../knowledge/jobs.ts';
import { makeProposal } from '../knowledge/model.ts';
import { createConcept, KNOWLEDGE_PATH } from '../knowledge/support.ts';
import { column, createTable } from '../managed-tables/support.ts';
import { type ApiResponse, BASE_URL, type Caller, createCaller } from '../support/api.ts';
import { createRivalEnv } from '../support/rival.ts';
import { must, type ServiceAccount, signed, withServiceToken } from '../support/signed.ts';
import { connectionsOf, openConnections, rivalsBeforeStatement } from '../support/tunnel.ts';
import worker from '../support/worker.ts';
import { aCompany, aProvisionedCompany, aUser, type Company } from '../support/worlds.ts';
import { createHeldQueue, deliverMessage, makeFile, uploadFiles } from '../uploads/support.ts';

const operator = createCaller(env.PLATFORM_ADMIN_TOKEN as string);
let company: Company;
let reader: ServiceAccount;
beforeAll(async () => {
  company = await aProvisionedCompany();
  reader = await aReader(company, 'data_api:get_job');
  const { as } = company;
  const business_domains = [{ key: 'sales', name: 'Sales', description: 'What we sell.' }];
  await must(as.put(`${KNOWLEDGE_PATH}/business-domains`, { json: { business_domains } }));
  await createTable(as, 'orders', [column('total', 'decimal')]);
  await createConcept(as, { type: 'entity_hint' });
});

/** A job that stands still until the test changes it. */
interface Job {
  path: string;
  by: Caller;
  /** Goes on with it. */
  change(): Promise<unknown>;
}

interface Kind {
  name: string;
  route: string;
  make(): Promise<Job>;
  /** What the looks at it ask: the control database, or the company's. */
  look: RegExp;
  asks: 'control' | 'company';
}

async function createUploadJob(): Promise<Job & { id: string }> {
  const queue = createHeldQueue();
  const id = await uploadFiles(company, [makeFile('n.csv', 'n\n1\n')], queue);
  const change = () => deliverMessage(queue.messages.shift() as JobMessage, queue.env);
  return { id, path: `/v1/managed-tables/upload-jobs/${id}`, by: company.as, change };
}

async function createDataJob(): Promise<Job & { slug: string }> {
  const { slug } = await aPublished(company, 'SELECT 1 AS one');
  const { messages, env } = createHeldQueue();
  const held = { DATA_JOBS: env.JOBS } as unknown as Record<string, string>;
  const { job_id } = await must(reader.as.post(`/data/${slug}/jobs`, { json: {}, env: held }));
  return {
    slug,
    path: `/data/jobs/${job_id}`,
    by: reader.as,
    change: () => deliverMessage(messages.shift() as JobMessage),
  };
}

/** An export of a company of its own: one has one at a time. */
async function createExport(by?: Caller): Promise<Job> {
  const owner = await aCompany();
  const path = by ? `/admin/organizations/${owner.id}/exports` : '/v1/company/exports';
  const { messages, env } = createHeldQueue();
  const held = { DATA_JOBS: env.JOBS } as unknown as Record<string, string>;
  const { export_id } = await must((by ?? owner.as).post(path, { env: held }));
  const change = () => deliverMessage(messages.shift() as JobMessage, held);
  return { path: `${path}/${export_id}`, by: by ?? owner.as, change };
}

/** A job of knowledge, read at one of its addresses. */
async function createKnowledgeJob(at: string, start: string, json: object): Promise<Job> {
  const { as } = company;
  const runner = await createJobRunner(as, answerConcepts(makeConceptCandidate('Churn')));
  const { _id } = await must(as.post(`${KNOWLEDGE_PATH}${start}`, { json, env: runner.env }));
  const change = () => must(as.post(`${KNOWLEDGE_PATH}/jobs/${_id}/cancel`));
  return { path: `${KNOWLEDGE_PATH}${at}/${_id}`, by: as, change };
}

const CONTROL = { look: /json_array\(/, asks: 'control' } as const;

const KINDS: Kind[] = [
  {
    name: 'an upload job',
    route: '/v1/managed-tables/upload-jobs/{jobId}',
    make: createUploadJob,
    look: /xmin/,
    asks: 'company',
  },
  { name: 'a job of the Data API', route: '/data/jobs/{job_id}', make: createDataJob, ...CONTROL },
  { name: 'an export', route: '/v1/company/exports/{export_id}', make: () => createExport(), ...CONTROL },
  {
    name: 'an export, read by the operator',
    route: '/admin/organizations/{id}/exports/{export_id}',
    make: () => createExport(operator),
    ...CONTROL,
  },
  {
    name: 'a generation of concepts',
    route: `${KNOWLEDGE_PATH}/concepts/generation/jobs/{id}`,
    make: () => createKnowledgeJob('/concepts/generation/jobs', '/concepts/generation/jobs', {}),
    ...CONTROL,
  },
  {
    name: 'a generation of an ontology',
    route: `${KNOWLEDGE_PATH}/ontology/generation/jobs/{id}`,
    async make() {
      const { connection_id } = (await company.as.get('/v1/managed-tables/status')).body;
      return createKnowledgeJob('/ontology/generation/jobs', '/ontology/generation/jobs', { connection_id });
    },
    ...CONTROL,
  },
  {
    name: 'an enrichment',
    route: `${KNOWLEDGE_PATH}/jobs/{id}`,
    make: async () =>
      createKnowledgeJob('/jobs', '/jobs/enrich', {
        target_type: 'concept',
        target_ids: [await createConcept(company.as)],
      }),
    ...CONTROL,
  },
];

const readTag = ({ headers }: ApiResponse): string => headers.get('etag') as string;

const makeWaitingPath = (path: string, wait: number | string) => `${path}?wait=${wait}`;

interface Watched {
  answer: ApiResponse;
  looks: number;
}

/** Waits for another version than a tag's, and runs each of `rivals` just before a look: the first is made before the wait. */
async function waitWith(
  { asks, look }: Pick<Kind, 'asks' | 'look'>,
  { path, by }: Pick<Job, 'path' | 'by'>,
  tag: string,
  rivals: (() => Promise<unknown>)[],
  wait = 25,
): Promise<Watched> {
  let looks = 0;
  const meet = async () => {
    looks += 1;
    await rivals[looks - 1]?.();
  };
  const headers = { 'if-none-match': tag };
  if (asks === 'control') {
    const { env } = createRivalEnv(look, meet, Number.POSITIVE_INFINITY);
    return { answer: await by.get(makeWaitingPath(path, wait), { headers, env }), looks };
  }
  const { outcomes } = await rivalsBeforeStatement(
    company.id,
    look,
    rivals.map(() => meet),
  );
  const answer = await by.get(makeWaitingPath(path, wait), { headers });
  await outcomes;
  return { answer, looks };
}

const doNothing = async () => {};

const chooseCaller = (route: string): Caller =>
  route.startsWith('/data/') ? signed(company.apiKey) : route.startsWith('/admin/') ? operator : company.as;

/** The path of a job, of the company where that is named. */
const makeJobPath = (route: string, id: string): string =>
  route.replace('{id}/exports', `${company.id}/exports`).replace(/\{\w+\}$/, id);

/** The environment with the queries of the control database counted that fit. */
function createCountingEnv(look: RegExp) {
  let looks = 0;
  const counted = async () => {
    looks += 1;
  };
  return { env: createRivalEnv(look, counted, Number.POSITIVE_INFINITY).env, count: () => looks };
}

describe('a GET of a job with `wait`', () => {
  it('is possible on every route that gets one job', () => {
    const contracts = SURFACES.flatMap(({ endpoints }) => endpoints.map(({ contract }) => contract));
    const ofJobs = contracts.filter(({ method, path }) => method === 'get' && /(jobs|exports)\/\{\w+\}$/.test(path));
    expect(ofJobs.map(({ path }) => path).toSorted()).toEqual(KINDS.map(({ route }) => route).toSorted());
    expect(ofJobs.filter(({ readStamps }) => readStamps === undefined)).toEqual([]);
  });

  describe.each(KINDS)('of $name', (kind) => {
    it('is answered at the poll that finds a change', async () => {
      const job = await kind.make();
      const before = await job.by.get(job.path);
      const { answer, looks } = await waitWith(kind, job, readTag(before), [doNothing, doNothing, job.change]);
      expect([answer.status, looks]).toEqual([200, 3]);
      expect(answer.body.status).not.toBe(before.body.status);
      expect(readTag(answer)).not.toBe(readTag(before));
      expect(readTag(answer)).toBe(readTag(await job.by.get(job.path)));
    });

    it('is answered 304 when nothing has changed in that time', async () => {
      const { path, by, change } = await kind.make();
      const tag = readTag(await by.get(path));
      const beganAt = Date.now();
      const answer = await by.get(makeWaitingPath(path, 1), { headers: { 'if-none-match': tag } });
      expect([answer.status, readTag(answer), answer.body]).toEqual([304, tag, '']);
      expect(Date.now() - beganAt).toBeGreaterThanOrEqual(999);
      await change();
    });

    it('is answered at once without If-None-Match, or with that of another version or "*"', async () => {
      const { path, by, change } = await kind.make();
      const tag = readTag(await by.get(path));
      for (const [named, status, looks] of [
        [undefined, 200, 0],
        ['no tag', 200, 1],
        ['"another"', 200, 1],
        ['*', 304, 0],
      ] as const) {
        const { env, count } = createCountingEnv(kind.look);
        const headers: Record<string, string> = named === undefined ? {} : { 'if-none-match': named };
        const answer = await by.get(makeWaitingPath(path, 25), { headers, env });
        expect([named, answer.status, readTag(answer)]).toEqual([named, status, tag]);
        // Who waits looks more than once.
        expect(count()).toBe(kind.asks === 'control' ? looks : 0);
      }
      await change();
    });

    it.each([
      ...['-1', '0'].map((value) => ({
        value,
        told: { reason: 'too_small', message: 'must be at least 1', limits: { min: 1 } },
      })),
      { value: '26', told: { reason: 'too_large', message: 'must be at most 25', limits: { max: 25 } } },
      ...['abc', '', '1.5', '1e1', ' 5'].map((value) => ({
        value,
        told: { reason: 'type', message: 'must be a whole number from 1 to 25', limits: { min: 1, max: 25 } },
      })),
    ])('is refused for the value "$value", with its limits', async ({ value, told }) => {
      const by = chooseCaller(kind.route);
      const path = makeJobPath(kind.route, 'f'.repeat(24));
      const { status, body } = await by.get(makeWaitingPath(path, encodeURIComponent(value)), {
        headers: { 'accept-language': 'en' },
      });
      expect([status, body.details]).toEqual([422, [{ field: 'wait', ...told }]]);
    });

    it('is answered 404 for an unknown job and for an invalid id', async () => {
      const by = chooseCaller(kind.route);
      for (const id of ['f'.repeat(24), 'nobody', '%00']) {
        const path = makeWaitingPath(makeJobPath(kind.route, id), 25);
        expect((await by.get(path, { headers: { 'if-none-match': '"a"' } })).status).toBe(404);
      }
    });
  });

  it('is answered when the progress of the job changes', async () => {
    const { as } = company;
    const runner = await createJobRunner(as, makeProposal({ tags: ['better'] }), makeProposal({ tags: ['better'] }));
    const json = { target_type: 'concept', target_ids: [await createConcept(as), await createConcept(as)] };
    const { _id } = await must(as.post(`${KNOWLEDGE_PATH}/jobs/enrich`, { json, env: runner.env }));
    const path = `${KNOWLEDGE_PATH}/jobs/${_id}`;
    const next = () => runner.deliver(runner.messages.shift() as JobMessage);
    await next();
    const before = await as.get(path);
    const { answer } = await waitWith(CONTROL, { path, by: as }, readTag(before), [doNothing, next]);
    expect([before.body.processed_count, answer.body.processed_count]).toEqual([1, 2]);
  });

  it('is answered 304 when only the link to the result is new', async () => {
    const { path, change, by } = await createDataJob();
    await change();
    const [first, second] = [await by.get(path), await by.get(path)];
    expect(second.body.url).not.toBe(first.body.url);
    expect(readTag(second)).toBe(readTag(first));
    const headers = { 'if-none-match': readTag(first) };
    expect((await by.get(makeWaitingPath(path, 1), { headers })).status).toBe(304);
  });
});

it('the client of the API can wait for a change of a job', async () => {
  const job = await createDataJob();
  const fetch = async (input: RequestInfo | URL, init?: RequestInit) => {
    const execution = createExecutionContext();
    const response = await worker.fetch(new Request(input as RequestInfo, init), env, execution);
    await waitOnExecutionContext(execution);
    return response;
  };
  const client = createClient({ baseUrl: BASE_URL, credential: withKey(reader.key), fetch });
  const params = { job_id: job.path.split('/').at(-1) as string };
  let tag = '';
  const onHeaders = (headers: Headers) => {
    tag = headers.get('etag') ?? '';
  };
  await client.get('/data/jobs/{job_id}', { params, onHeaders });
  const wait = (seconds: number) =>
    client.get('/data/jobs/{job_id}', { params, query: { wait: seconds }, ifNoneMatch: tag });
  expect(await wait(1)).toBeUndefined();
  const [answer] = await Promise.all([wait(25), job.change()]);
  expect(['running', 'succeeded']).toContain(answer?.status);
});

describe('a caller who waits for a job', () => {
  /** Takes the access away, then changes the job, just before a look. */
  const revokedBefore = (revoke: () => Promise<unknown>, change: () => Promise<unknown>) => [
    doNothing,
    async () => {
      await revoke();
      await change();
    },
  ];

  it('gets no change that follows the end of the session', async () => {
    const job = await createUploadJob();
    const { id, as } = await aUser(company, { can: ['managed-tables:list'] });
    const own = { path: job.path, by: as };
    const tag = readTag(await as.get(job.path));
    const end = () => must(company.as.post(`/v1/users/${id}/deactivate`));
    const { answer } = await waitWith(KINDS[0] as Kind, own, tag, revokedBefore(end, job.change));
    expect(answer.status).toBe(401);
  });

  it('gets no change of a table that was denied meanwhile', async () => {
    const queue = createHeldQueue();
    const tableId = await createTable(company.as, 'denied_since', [column('n', 'integer')]);
    const jobId = await uploadFiles(company, [makeFile('n.csv', 'n\n1\n')], { ...queue, into: tableId });
    const { id, as } = await aUser(company, { can: ['managed-tables:list'] });
    const own = { path: `/v1/managed-tables/upload-jobs/${jobId}`, by: as };
    const tag = readTag(await as.get(own.path));
    const deny = () => denyTo(id, 'managed-tables:list', `arn:svc:managed-tables::${company.id}:table/${tableId}`);
    const change = () => deliverMessage(queue.messages.shift() as JobMessage, queue.env);
    const { answer } = await waitWith(KINDS[0] as Kind, own, tag, revokedBefore(deny, change));
    expect(answer.status).toBe(403);
  });

  it('gets no change that follows a Deny of the permission', async () => {
    const job = await createUploadJob();
    const { id, as } = await aUser(company, { can: ['managed-tables:list'] });
    const tag = readTag(await as.get(job.path));
    const deny = () => denyTo(id, 'managed-tables:list', '*');
    const own = { path: job.path, by: as };
    const { answer } = await waitWith(KINDS[0] as Kind, own, tag, revokedBefore(deny, job.change));
    expect(answer.status).toBe(403);
  });

  it.each(['a key', 'a token'])('gets no change that follows the end of %s', async (credential) => {
    const job = await createDataJob();
    const other = await aReader(company, 'data_api:get_job');
    const own = { path: job.path, by: credential === 'a key' ? other.as : await withServiceToken(other) };
    const tag = readTag(await own.by.get(job.path));
    const end = () => must(signed(company.apiKey).delete(`/service-accounts/${other.id}/keys/${other.keyId}`));
    const { answer } = await waitWith(CONTROL, own, tag, revokedBefore(end, job.change));
    expect(answer.status).toBe(401);
  });

  it('is answered 401, not 304, if the key was deleted and nothing has changed', async () => {
    const job = await createDataJob();
    const other = await aReader(company, 'data_api:get_job');
    const tag = readTag(await other.as.get(job.path));
    const end = () => must(signed(company.apiKey).delete(`/service-accounts/${other.id}/keys/${other.keyId}`));
    const { answer } = await waitWith(CONTROL, { ...job, by: other.as }, tag, [doNothing, end], 2);
    expect(answer.status).toBe(401);
  });

  const denyTo = async (userId: string, action: string, resource: string) => {
    const document = {
      version: '2024-01-01',
      statements: [{ effect: 'Deny', actions: [action], resources: [resource] }],
    };
    const { _id } = await must(company.as.post('/v1/policies', { json: { name: `Deny ${userId}`, document } }));
    const admin = signed(company.apiKey);
    const { id: groupId } = await must(admin.post('/groups', { json: { name: `Denied ${userId}` } }));
    await must(admin.post(`/groups/${groupId}/policies/${_id}`));
    const json = { principal_type: 'user', principal_id: userId, account_id: company.accountId };
    await must(admin.post(`/groups/${groupId}/bindings`, { json }));
  };

  it('keeps no connection to the database open while waiting', async () => {
    const job = await createUploadJob();
    const tag = readTag(await job.by.get(job.path));
    let isDone = false;
    const rivals = await rivalsBeforeStatement(company.id, /xmin/, [doNothing, doNothing]);
    const headers = { 'if-none-match': tag };
    const waiting = job.by.get(makeWaitingPath(job.path, 25), { headers }).finally(() => {
      isDone = true;
    });
    await rivals.outcomes;
    await expect.poll(() => openConnections(company.id), { interval: 20 }).toBe(0);
    expect(isDone).toBe(false);
    await job.change();
    expect((await waiting).status).toBe(200);
  });

  it('shares polls with two hundred others, while other requests are answered', async () => {
    const job = await createUploadJob();
    const dataJob = await createDataJob();
    const tag = readTag(await job.by.get(job.path));
    const dataTag = readTag(await dataJob.by.get(dataJob.path));
    const { env, count } = createCountingEnv(/json_array\(/);
    let waits: Promise<ApiResponse>[] = [];
    let answered = 0;
    let seconds = 0;
    const opened = await connectionsOf(company.id, async () => {
      const beganAt = Date.now();
      waits = Array.from({ length: 100 }, () => [
        job.by.get(makeWaitingPath(job.path, 25), { headers: { 'if-none-match': tag } }),
        dataJob.by.get(makeWaitingPath(dataJob.path, 25), { headers: { 'if-none-match': dataTag }, env }),
      ]).flat();
      for (const wait of waits) {
        const end = () => {
          answered += 1;
        };
        wait.then(end, end);
      }
      expect((await company.as.get('/v1/managed-tables')).status).toBe(200);
      expect((await reader.as.get(`/data/${dataJob.slug}`)).status).toBe(200);
      await expect.poll(count).toBeGreaterThanOrEqual(103);
      seconds = (Date.now() - beganAt) / 1_000;
    });
    expect(answered).toBe(0);
    // Each once before it waits; then all of them once a second.
    expect(count() - 100).toBeLessThanOrEqual(seconds + 1);
    // The same, and one for each of the other requests.
    expect(opened.direct).toBe(0);
    expect(opened.pooled - 100).toBeLessThanOrEqual(seconds + 1 + 2);
    await Promise.all([job.change(), dataJob.change()]);
    expect((await Promise.all(waits)).map(({ status }) => status)).toEqual(waits.map(() => 200));
  });
});
