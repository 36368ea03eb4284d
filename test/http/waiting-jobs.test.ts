import { createExecutionContext, env, waitOnExecutionContext } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { createClient, withKey } from '../../client/client.ts';
import { SURFACES } from '../../src/app.ts';
import { makeResourceArn } from '../../src/permissions/arn.ts';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import { createReader, publishSql } from '../data-api/support.ts';
import { createJobRunner, makeConceptCandidate, makeConceptsAnswer } from '../knowledge/jobs.ts';
import { makeProposal } from '../knowledge/model.ts';
import { createConcept, KNOWLEDGE_PATH, UNKNOWN_ID } from '../knowledge/support.ts';
import { createTable, makeColumn } from '../managed-tables/support.ts';
import { type ApiResponse, BASE_URL, type Caller, createCaller } from '../support/api.ts';
import { createAllowedUser, createOwnedCompany, createProvisionedCompany } from '../support/companies.ts';
import { createRacingEnv } from '../support/race.ts';
import {
  createAllowedAccount,
  createSignedCaller,
  createTokenCaller,
  expectSuccess,
  makeAllow,
  makeDeny,
} from '../support/signed.ts';
import { countOpenConnections, countOpenedConnections, runEachBeforeStatement } from '../support/tunnel.ts';
import worker from '../support/worker.ts';
import { createTestQueue, deliverMessage, makeFile, uploadFiles } from '../uploads/support.ts';

const operator = createCaller(env.PLATFORM_ADMIN_TOKEN as string);
const company = await createProvisionedCompany();
const reader = await createReader(company, 'data_api:get_job');
const { as } = company;
const business_domains = [{ key: 'sales', name: 'Sales', description: 'What we sell.' }];
await expectSuccess(as.put(`${KNOWLEDGE_PATH}/business-domains`, { json: { business_domains } }));
await createTable(as, 'orders', [makeColumn('total', 'decimal')]);
await createConcept(as, { type: 'entity_hint' });

/** A job that does not progress until the test changes it. */
interface TestJob {
  path: string;
  caller: Caller;
  /** Continues the job. */
  continueJob(): Promise<unknown>;
}

interface JobKind {
  name: string;
  route: string;
  createJob(): Promise<TestJob>;
  /** Matches the query by which a waiting request polls the job. */
  pollPattern: RegExp;
  /** The database that the poll query reads: the control database, or the company's. */
  polledDatabase: 'control' | 'company';
}

async function createUploadJob(): Promise<TestJob & { id: string }> {
  const queue = createTestQueue();
  const id = await uploadFiles(company, [makeFile('n.csv', 'n\n1\n')], queue);
  const change = () => deliverMessage(queue.messages.shift() as JobMessage, queue.env);
  return { id, path: `/v1/managed-tables/upload-jobs/${id}`, caller: company.as, continueJob: change };
}

async function createDataJob(): Promise<TestJob & { slug: string }> {
  const { slug } = await publishSql(company, 'SELECT 1 AS one');
  const { messages, env } = createTestQueue();
  const heldQueueEnv = { DATA_JOBS: env.JOBS } as unknown as Record<string, string>;
  const { job_id } = await expectSuccess(reader.as.post(`/data/${slug}/jobs`, { json: {}, env: heldQueueEnv }));
  return {
    slug,
    path: `/data/jobs/${job_id}`,
    caller: reader.as,
    continueJob: () => deliverMessage(messages.shift() as JobMessage),
  };
}

/** Creates an export of a new company, as a company can have only one at a time. */
async function createExport(by?: Caller): Promise<TestJob> {
  const owner = await createOwnedCompany();
  const path = by ? `/admin/organizations/${owner.id}/exports` : '/v1/company/exports';
  const { messages, env } = createTestQueue();
  const heldQueueEnv = { DATA_JOBS: env.JOBS } as unknown as Record<string, string>;
  const { export_id } = await expectSuccess((by ?? owner.as).post(path, { env: heldQueueEnv }));
  const change = () => deliverMessage(messages.shift() as JobMessage, heldQueueEnv);
  return { path: `${path}/${export_id}`, caller: by ?? owner.as, continueJob: change };
}

/** Creates a knowledge job that is read at the given path. */
async function createKnowledgeJob(at: string, start: string, json: object): Promise<TestJob> {
  const { as } = company;
  const runner = await createJobRunner(as, makeConceptsAnswer(makeConceptCandidate('Churn')));
  const { _id } = await expectSuccess(as.post(`${KNOWLEDGE_PATH}${start}`, { json, env: runner.env }));
  const change = () => expectSuccess(as.post(`${KNOWLEDGE_PATH}/jobs/${_id}/cancel`));
  return { path: `${KNOWLEDGE_PATH}${at}/${_id}`, caller: as, continueJob: change };
}

const CONTROL_POLL = { pollPattern: /json_array\(/, polledDatabase: 'control' } as const;

const JOB_KINDS: JobKind[] = [
  {
    name: 'an upload job',
    route: '/v1/managed-tables/upload-jobs/{jobId}',
    createJob: createUploadJob,
    pollPattern: /xmin/,
    polledDatabase: 'company',
  },
  { name: 'a job of the Data API', route: '/data/jobs/{job_id}', createJob: createDataJob, ...CONTROL_POLL },
  { name: 'an export', route: '/v1/company/exports/{export_id}', createJob: () => createExport(), ...CONTROL_POLL },
  {
    name: 'an export, read by the operator',
    route: '/admin/organizations/{id}/exports/{export_id}',
    createJob: () => createExport(operator),
    ...CONTROL_POLL,
  },
  {
    name: 'a generation of concepts',
    route: `${KNOWLEDGE_PATH}/concepts/generation/jobs/{id}`,
    createJob: () => createKnowledgeJob('/concepts/generation/jobs', '/concepts/generation/jobs', {}),
    ...CONTROL_POLL,
  },
  {
    name: 'a generation of an ontology',
    route: `${KNOWLEDGE_PATH}/ontology/generation/jobs/{id}`,
    async createJob() {
      const { connection_id } = (await company.as.get('/v1/managed-tables/status')).body;
      return createKnowledgeJob('/ontology/generation/jobs', '/ontology/generation/jobs', { connection_id });
    },
    ...CONTROL_POLL,
  },
  {
    name: 'an enrichment',
    route: `${KNOWLEDGE_PATH}/jobs/{id}`,
    createJob: async () =>
      createKnowledgeJob('/jobs', '/jobs/enrich', {
        target_type: 'concept',
        target_ids: [await createConcept(company.as)],
      }),
    ...CONTROL_POLL,
  },
];

const readTag = ({ headers }: ApiResponse): string => headers.get('etag') as string;

const makeWaitingPath = (path: string, wait: number | string) => `${path}?wait=${wait}`;

interface WatchedWait {
  answer: ApiResponse;
  pollCount: number;
}

/** Waits for a version other than the tag's. Runs each of `concurrentChanges` before a poll; the first poll precedes the wait. */
async function waitDuringChanges(
  { polledDatabase, pollPattern }: Pick<JobKind, 'polledDatabase' | 'pollPattern'>,
  { path, caller }: Pick<TestJob, 'path' | 'caller'>,
  tag: string,
  concurrentChanges: (() => Promise<unknown>)[],
  wait = 25,
): Promise<WatchedWait> {
  let pollCount = 0;
  const runNextChange = async () => {
    pollCount += 1;
    await concurrentChanges[pollCount - 1]?.();
  };
  const headers = { 'if-none-match': tag };
  if (polledDatabase === 'control') {
    const { env } = createRacingEnv(pollPattern, runNextChange, Number.POSITIVE_INFINITY);
    return { answer: await caller.get(makeWaitingPath(path, wait), { headers, env }), pollCount };
  }
  const { outcomes } = await runEachBeforeStatement(
    company.id,
    pollPattern,
    concurrentChanges.map(() => runNextChange),
  );
  const answer = await caller.get(makeWaitingPath(path, wait), { headers });
  await outcomes;
  return { answer, pollCount };
}

const doNothing = async () => {};

const chooseCaller = (route: string): Caller =>
  route.startsWith('/data/') ? createSignedCaller(company.apiKey) : route.startsWith('/admin/') ? operator : company.as;

/** Makes the path of a job; a company in the path is the test's company. */
const makeJobPath = (route: string, id: string): string =>
  route.replace('{id}/exports', `${company.id}/exports`).replace(/\{\w+\}$/, id);

/** Creates an environment that counts the queries of the control database that match. */
function createCountingEnv(pollPattern: RegExp) {
  let pollCount = 0;
  const countPoll = async () => {
    pollCount += 1;
  };
  return { env: createRacingEnv(pollPattern, countPoll, Number.POSITIVE_INFINITY).env, count: () => pollCount };
}

describe('a GET of a job with `wait`', () => {
  it('is possible on every route that gets one job', () => {
    const contracts = SURFACES.flatMap(({ endpoints }) => endpoints.map(({ contract }) => contract));
    const jobContracts = contracts.filter(
      ({ method, path }) => method === 'get' && /(jobs|exports)\/\{\w+\}$/.test(path),
    );
    expect(jobContracts.map(({ path }) => path).toSorted()).toEqual(JOB_KINDS.map(({ route }) => route).toSorted());
    expect(jobContracts.filter(({ readRecordVersions }) => readRecordVersions === undefined)).toEqual([]);
    expect(jobContracts.filter(({ query }) => query?.safeParse({ wait: '26' }).success)).toEqual([]);
  });

  describe.each(JOB_KINDS)('of $name', (kind) => {
    it('is answered at the poll that finds a change', async () => {
      const job = await kind.createJob();
      const answerBefore = await job.caller.get(job.path);
      const { answer, pollCount } = await waitDuringChanges(kind, job, readTag(answerBefore), [
        doNothing,
        doNothing,
        job.continueJob,
      ]);
      expect([answer.status, pollCount]).toEqual([200, 3]);
      expect(answer.body.status).not.toBe(answerBefore.body.status);
      expect(readTag(answer)).not.toBe(readTag(answerBefore));
      expect(readTag(answer)).toBe(readTag(await job.caller.get(job.path)));
    });

    it('is answered at once without If-None-Match, or with the version of another job state or "*"', async () => {
      const { path, caller, continueJob } = await kind.createJob();
      const tag = readTag(await caller.get(path));
      for (const [named, status, looks] of [
        [undefined, 200, 0],
        ['no tag', 200, 1],
        ['"another"', 200, 1],
        ['*', 304, 0],
      ] as const) {
        const { env, count } = createCountingEnv(kind.pollPattern);
        const headers: Record<string, string> = named === undefined ? {} : { 'if-none-match': named };
        const answer = await caller.get(makeWaitingPath(path, 25), { headers, env });
        expect([named, answer.status, readTag(answer)]).toEqual([named, status, tag]);
        // Who waits looks more than once.
        expect(count()).toBe(kind.polledDatabase === 'control' ? looks : 0);
      }
      await continueJob();
    });

    it('is answered 404 for an unknown job and for an invalid id', async () => {
      const by = chooseCaller(kind.route);
      for (const id of ['f'.repeat(24), 'nobody', '%00']) {
        const path = makeWaitingPath(makeJobPath(kind.route, id), 25);
        expect((await by.get(path, { headers: { 'if-none-match': '"a"' } })).status).toBe(404);
      }
    });
  });

  it('is answered 304 when nothing has changed within the waiting time', async () => {
    const { path, caller, continueJob } = await createUploadJob();
    const tag = readTag(await caller.get(path));
    const beganAt = Date.now();
    const answer = await caller.get(makeWaitingPath(path, 1), { headers: { 'if-none-match': tag } });
    expect([answer.status, readTag(answer), answer.body]).toEqual([304, tag, '']);
    expect(Date.now() - beganAt).toBeGreaterThanOrEqual(999);
    await continueJob();
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
    const path = makeJobPath(JOB_KINDS[0]?.route as string, 'f'.repeat(24));
    const { status, body } = await company.as.get(makeWaitingPath(path, encodeURIComponent(value)), {
      headers: { 'accept-language': 'en' },
    });
    expect([status, body.details]).toEqual([422, [{ field: 'wait', ...told }]]);
  });

  it('is answered at once when the job changes after its caller was authorized, by a policy about its endpoint', async () => {
    const job = await createDataJob();
    const resources = [makeResourceArn('data_api:get_job', company.id, UNKNOWN_ID)];
    const { as: caller } = await createAllowedAccount(company, makeAllow('data_api:*'), {
      ...makeDeny('data_api:get_job'),
      resources,
    });
    const tag = readTag(await caller.get(job.path));
    const { answer, pollCount } = await waitDuringChanges(CONTROL_POLL, { ...job, caller }, tag, [job.continueJob], 3);
    expect([answer.status, answer.body.status, pollCount]).toEqual([200, 'succeeded', 1]);
  });

  it('is answered when the progress of the job changes', async () => {
    const { as } = company;
    const jobRunner = await createJobRunner(as, makeProposal({ tags: ['better'] }), makeProposal({ tags: ['better'] }));
    const json = { target_type: 'concept', target_ids: [await createConcept(as), await createConcept(as)] };
    const { _id } = await expectSuccess(as.post(`${KNOWLEDGE_PATH}/jobs/enrich`, { json, env: jobRunner.env }));
    const path = `${KNOWLEDGE_PATH}/jobs/${_id}`;
    const deliverNext = () => jobRunner.deliver(jobRunner.messages.shift() as JobMessage);
    await deliverNext();
    const answerBefore = await as.get(path);
    const { answer } = await waitDuringChanges(CONTROL_POLL, { path, caller: as }, readTag(answerBefore), [
      doNothing,
      deliverNext,
    ]);
    expect([answerBefore.body.processed_count, answer.body.processed_count]).toEqual([1, 2]);
  });

  it('is answered 304 when only the link to the result is new', async () => {
    const { path, continueJob, caller } = await createDataJob();
    await continueJob();
    const [first, second] = [await caller.get(path), await caller.get(path)];
    expect(second.body.url).not.toBe(first.body.url);
    expect(readTag(second)).toBe(readTag(first));
    const headers = { 'if-none-match': readTag(first) };
    expect((await caller.get(makeWaitingPath(path, 1), { headers })).status).toBe(304);
  });
});

it('the client of the API can wait for a change of a job', async () => {
  const job = await createDataJob();
  const fetch = async (input: RequestInfo | URL, init?: RequestInit) => {
    const executionContext = createExecutionContext();
    const response = await worker.fetch(new Request(input as RequestInfo, init), env, executionContext);
    await waitOnExecutionContext(executionContext);
    return response;
  };
  const client = createClient({ baseUrl: BASE_URL, credential: withKey(reader.key), fetch });
  const params = { job_id: job.path.split('/').at(-1) as string };
  let tag = '';
  const onHeaders = (headers: Headers) => {
    tag = headers.get('etag') ?? '';
  };
  await client.get('/data/jobs/{job_id}', { params, onHeaders });
  const waitForJob = (seconds: number) =>
    client.get('/data/jobs/{job_id}', { params, query: { wait: seconds }, ifNoneMatch: tag });
  expect(await waitForJob(1)).toBeUndefined();
  const [answer] = await Promise.all([waitForJob(25), job.continueJob()]);
  expect(['running', 'succeeded']).toContain(answer?.status);
});

describe('a caller who waits for a job', () => {
  /** Makes changes that first revoke access, and then change the job, just before the second poll. */
  const makeRevokedChange = (revoke: () => Promise<unknown>, change: () => Promise<unknown>) => [
    doNothing,
    async () => {
      await revoke();
      await change();
    },
  ];

  it('gets no change that follows the end of the session', async () => {
    const job = await createUploadJob();
    const { id, as } = await createAllowedUser(company, { can: ['managed-tables:list'] });
    const ownJob = { path: job.path, caller: as };
    const tag = readTag(await as.get(job.path));
    const end = () => expectSuccess(company.as.post(`/v1/users/${id}/deactivate`));
    const { answer } = await waitDuringChanges(
      JOB_KINDS[0] as JobKind,
      ownJob,
      tag,
      makeRevokedChange(end, job.continueJob),
    );
    expect(answer.status).toBe(401);
  });

  it('gets no change of a table that was denied meanwhile', async () => {
    const queue = createTestQueue();
    const tableId = await createTable(company.as, 'denied_since', [makeColumn('n', 'integer')]);
    const jobId = await uploadFiles(company, [makeFile('n.csv', 'n\n1\n')], { ...queue, into: tableId });
    const { id, as } = await createAllowedUser(company, { can: ['managed-tables:list'] });
    const ownJob = { path: `/v1/managed-tables/upload-jobs/${jobId}`, caller: as };
    const tag = readTag(await as.get(ownJob.path));
    const denyTable = () =>
      denyResource(id, 'managed-tables:list', `arn:svc:managed-tables::${company.id}:table/${tableId}`);
    const change = () => deliverMessage(queue.messages.shift() as JobMessage, queue.env);
    const { answer } = await waitDuringChanges(
      JOB_KINDS[0] as JobKind,
      ownJob,
      tag,
      makeRevokedChange(denyTable, change),
    );
    expect(answer.status).toBe(403);
  });

  it('gets no change that follows a Deny of the permission', async () => {
    const job = await createUploadJob();
    const { id, as } = await createAllowedUser(company, { can: ['managed-tables:list'] });
    const tag = readTag(await as.get(job.path));
    const denyAction = () => denyResource(id, 'managed-tables:list', '*');
    const ownJob = { path: job.path, caller: as };
    const { answer } = await waitDuringChanges(
      JOB_KINDS[0] as JobKind,
      ownJob,
      tag,
      makeRevokedChange(denyAction, job.continueJob),
    );
    expect(answer.status).toBe(403);
  });

  it.each(['a key', 'a token'])('gets no change that follows the end of %s', async (credential) => {
    const job = await createDataJob();
    const other = await createReader(company, 'data_api:get_job');
    const ownJob = { path: job.path, caller: credential === 'a key' ? other.as : await createTokenCaller(other) };
    const tag = readTag(await ownJob.caller.get(job.path));
    const end = () =>
      expectSuccess(createSignedCaller(company.apiKey).delete(`/service-accounts/${other.id}/keys/${other.keyId}`));
    const { answer } = await waitDuringChanges(CONTROL_POLL, ownJob, tag, makeRevokedChange(end, job.continueJob));
    expect(answer.status).toBe(401);
  });

  it('is answered 401, not 304, if the key was deleted and nothing has changed', async () => {
    const job = await createDataJob();
    const other = await createReader(company, 'data_api:get_job');
    const tag = readTag(await other.as.get(job.path));
    const end = () =>
      expectSuccess(createSignedCaller(company.apiKey).delete(`/service-accounts/${other.id}/keys/${other.keyId}`));
    const { answer } = await waitDuringChanges(CONTROL_POLL, { ...job, caller: other.as }, tag, [doNothing, end], 2);
    expect(answer.status).toBe(401);
  });

  const denyResource = async (userId: string, action: string, resource: string) => {
    const document = {
      version: '2024-01-01',
      statements: [{ effect: 'Deny', actions: [action], resources: [resource] }],
    };
    const { _id } = await expectSuccess(
      company.as.post('/v1/policies', { json: { name: `Deny ${userId}`, document } }),
    );
    const keyCaller = createSignedCaller(company.apiKey);
    const { id: groupId } = await expectSuccess(keyCaller.post('/groups', { json: { name: `Denied ${userId}` } }));
    await expectSuccess(keyCaller.post(`/groups/${groupId}/policies/${_id}`));
    const json = { principal_type: 'user', principal_id: userId, account_id: company.accountId };
    await expectSuccess(keyCaller.post(`/groups/${groupId}/bindings`, { json }));
  };

  it('keeps no connection to the database open while waiting', async () => {
    const job = await createUploadJob();
    const tag = readTag(await job.caller.get(job.path));
    let isDone = false;
    const concurrentPolls = await runEachBeforeStatement(company.id, /xmin/, [doNothing, doNothing]);
    const headers = { 'if-none-match': tag };
    const pendingAnswer = job.caller.get(makeWaitingPath(job.path, 25), { headers }).finally(() => {
      isDone = true;
    });
    await concurrentPolls.outcomes;
    await expect.poll(() => countOpenConnections(company.id), { interval: 20 }).toBe(0);
    expect(isDone).toBe(false);
    await job.continueJob();
    expect((await pendingAnswer).status).toBe(200);
  });

  it('shares polls with forty others, while other requests are answered', async () => {
    const job = await createUploadJob();
    const dataJob = await createDataJob();
    const tag = readTag(await job.caller.get(job.path));
    const dataTag = readTag(await dataJob.caller.get(dataJob.path));
    const { env, count } = createCountingEnv(/json_array\(/);
    let pendingAnswers: Promise<ApiResponse>[] = [];
    let answeredCount = 0;
    let seconds = 0;
    const openedConnectionCount = await countOpenedConnections(company.id, async () => {
      const beganAt = Date.now();
      pendingAnswers = Array.from({ length: 20 }, () => [
        job.caller.get(makeWaitingPath(job.path, 25), { headers: { 'if-none-match': tag } }),
        dataJob.caller.get(makeWaitingPath(dataJob.path, 25), { headers: { 'if-none-match': dataTag }, env }),
      ]).flat();
      for (const pendingAnswer of pendingAnswers) {
        const end = () => {
          answeredCount += 1;
        };
        pendingAnswer.then(end, end);
      }
      expect((await company.as.get('/v1/managed-tables')).status).toBe(200);
      expect((await reader.as.get(`/data/${dataJob.slug}`)).status).toBe(200);
      await expect.poll(count).toBeGreaterThanOrEqual(23);
      seconds = (Date.now() - beganAt) / 1_000;
    });
    expect(answeredCount).toBe(0);
    // Each once before it waits; then all of them once a second.
    expect(count() - 20).toBeLessThanOrEqual(seconds + 1);
    // The same, and one for each of the other requests.
    expect(openedConnectionCount.direct).toBe(0);
    expect(openedConnectionCount.pooled - 20).toBeLessThanOrEqual(seconds + 1 + 2);
    await Promise.all([job.continueJob(), dataJob.continueJob()]);
    expect((await Promise.all(pendingAnswers)).map(({ status }) => status)).toEqual(pendingAnswers.map(() => 200));
  });
});
