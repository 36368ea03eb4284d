import { beforeAll, describe, expect, it } from 'vitest';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import { type Company, createProvisionedCompany } from '../support/companies.ts';
import { runSql } from '../support/race.ts';
import { runBeforeNextStatement } from '../support/tunnel.ts';
import {
  createTestQueue,
  deliverMessage,
  makeCsvTable,
  makeFile,
  queryDatabase,
  readJob,
  runSweep,
  uploadFiles,
} from './support.ts';

const JOB_COUNT = 100;
/** The number of jobs of one company that are processed at once. */
const MAX_TURNS = 2;

/** Creates a queue that the test delivers, with the delay of each message in seconds. */
function createQueue() {
  const sentMessages: { message: JobMessage; pause: number | undefined }[] = [];
  const sendMessage = async (message: JobMessage, options?: { delaySeconds?: number }) =>
    void sentMessages.push({ message, pause: options?.delaySeconds });
  return { sent: sentMessages, env: { JOBS: { send: sendMessage } } };
}

const makeAnalysisMessage = (companyId: string, jobId: string): JobMessage => ({
  type: 'upload.analyse',
  companyId,
  jobId,
});

describe('a company with a hundred queued upload jobs', () => {
  let busyCompany: Company;
  let other: Company;
  let messages: JobMessage[];

  beforeAll(async () => {
    [busyCompany, other] = await Promise.all([createProvisionedCompany(), createProvisionedCompany()]);
    const first = await uploadFiles(busyCompany, [makeFile('dados.csv', makeCsvTable(10))], createTestQueue());
    const ids = await queryDatabase(busyCompany, (database) =>
      database.query<{ id: string }>(
        `INSERT INTO console.upload_jobs
           (id, company_id, created_by_user_id, files, mode, status, progress, created_at, updated_at)
         SELECT lpad(to_hex(n), 24, '0'), company_id, created_by_user_id, files, mode, status, progress, created_at, updated_at
         FROM console.upload_jobs, generate_series(2, ${JOB_COUNT}) AS n WHERE id = $1 RETURNING id`,
        [first],
      ),
    );
    messages = [first, ...ids.map(({ id }) => id)].map((id) => makeAnalysisMessage(busyCompany.id, id));
  });

  const listStatuses = () =>
    queryDatabase(busyCompany, (database) =>
      database.query<{ status: string; count: number }>(
        'SELECT status, count(*)::int AS count FROM console.upload_jobs GROUP BY status ORDER BY status',
      ),
    );

  /** Begins turns that last for the given number of seconds, like those of deliveries in progress. */
  const beginTurns = (jobs: JobMessage[], seconds: number) =>
    queryDatabase(busyCompany, (database) =>
      database.execute(
        `UPDATE console.upload_jobs SET turn_until = now() + make_interval(secs => $2) WHERE id = ANY($1::text[])`,
        [jobs.map((job) => (job as { jobId: string }).jobId), seconds],
      ),
    );

  it('does not delay another company’s upload', async () => {
    await beginTurns(messages.slice(0, MAX_TURNS), 60);
    const queue = createQueue();
    const testQueue = createTestQueue();
    const jobId = await uploadFiles(other, [makeFile('dados.csv', makeCsvTable(10))], testQueue);
    for (const message of messages.slice(MAX_TURNS)) await deliverMessage(message, queue.env);
    // Each went to the end of the queue at once, and about two of them come back a second.
    expect(queue.sent.map(({ pause }) => pause)).toEqual(messages.slice(MAX_TURNS).map(() => 30));
    expect(queue.sent.map(({ message }) => message)).toMatchObject(messages.slice(MAX_TURNS));
    expect(await listStatuses()).toEqual([{ status: 'queued', count: JOB_COUNT }]);

    expect(await deliverMessage(testQueue.messages.shift() as JobMessage, testQueue.env)).toBe('done');
    expect(await readJob(other, jobId)).toMatchObject({ status: 'waiting_confirm' });
  });

  it('has no job queued again by a sweep while the job waits for its turn', async () => {
    await queryDatabase(busyCompany, (database) =>
      database.execute(`UPDATE console.upload_jobs SET updated_at = now() - interval '2 minutes'`),
    );
    await beginTurns(messages.slice(0, MAX_TURNS), 60);
    const waitingMessages = messages.slice(-5);
    for (const message of waitingMessages) await deliverMessage(message, createQueue().env);
    await runSql('UPDATE managed_databases SET sweep_at = 0 WHERE company_id = ?', busyCompany.id);
    const sweepQueue = createTestQueue();
    await runSweep(sweepQueue, 30_000);
    const requeuedJobIds = sweepQueue.messages.map((message) => (message as { jobId: string }).jobId);
    const [silent] = messages;
    expect(requeuedJobIds).toContain((silent as { jobId: string }).jobId);
    expect(
      requeuedJobIds.filter((id) => waitingMessages.some((message) => (message as { jobId: string }).jobId === id)),
    ).toEqual([]);
  });

  it('has each job analysed once the earlier turns have ended or expired', async () => {
    await beginTurns(messages, -1);
    const queue = createQueue();
    for (const message of messages) await deliverMessage(message, queue.env);
    // Deliveries one after the other never wait for each other: each ends its turn.
    expect(queue.sent).toEqual([]);
    expect(await listStatuses()).toEqual([{ status: 'waiting_confirm', count: JOB_COUNT }]);
  });

  it('keeps the turn of a delivery that began before the previous one ended', async () => {
    await beginTurns(messages, -1);
    const queue = createTestQueue();
    const jobId = await uploadFiles(busyCompany, [makeFile('dados.csv', makeCsvTable(10))], queue);
    const { outcome } = await runBeforeNextStatement(busyCompany.id, /SET turn_until = NULL/, () =>
      beginTurns([makeAnalysisMessage(busyCompany.id, jobId)], 60),
    );
    await deliverMessage(queue.messages.shift() as JobMessage, queue.env);
    await outcome;
    const [row] = await queryDatabase(busyCompany, (database) =>
      database.query<{ kept: boolean }>(
        'SELECT turn_until IS NOT NULL AS kept FROM console.upload_jobs WHERE id = $1',
        [jobId],
      ),
    );
    expect(row?.kept).toBe(true);
  });
});
