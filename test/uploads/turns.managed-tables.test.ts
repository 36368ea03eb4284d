import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import { rivalBeforeStatement } from '../support/tunnel.ts';
import { aProvisionedCompany, type Company } from '../support/worlds.ts';
import {
  createHeldQueue,
  deliverMessage,
  makeCsvTable,
  makeFile,
  queryDatabase,
  readJob,
  runSweep,
  uploadFiles,
} from './support.ts';

const JOBS = 100;
/** Jobs of one company that are worked on at once. */
const TURNS = 2;

/** A queue that the test delivers, with the pause of each message in seconds. */
function createQueue() {
  const sent: { message: JobMessage; pause: number | undefined }[] = [];
  const send = async (message: JobMessage, options?: { delaySeconds?: number }) =>
    void sent.push({ message, pause: options?.delaySeconds });
  return { sent, env: { JOBS: { send } } };
}

const makeAnalysisMessage = (companyId: string, jobId: string): JobMessage => ({
  type: 'upload.analyse',
  companyId,
  jobId,
});

describe('a company with a hundred queued upload jobs', () => {
  let busy: Company;
  let other: Company;
  let messages: JobMessage[];

  beforeAll(async () => {
    [busy, other] = await Promise.all([aProvisionedCompany(), aProvisionedCompany()]);
    const first = await uploadFiles(busy, [makeFile('dados.csv', makeCsvTable(10))], createHeldQueue());
    const ids = await queryDatabase(busy, (database) =>
      database.query<{ id: string }>(
        `INSERT INTO console.upload_jobs
           (id, company_id, created_by_user_id, files, mode, status, progress, created_at, updated_at)
         SELECT lpad(to_hex(n), 24, '0'), company_id, created_by_user_id, files, mode, status, progress, created_at, updated_at
         FROM console.upload_jobs, generate_series(2, ${JOBS}) AS n WHERE id = $1 RETURNING id`,
        [first],
      ),
    );
    messages = [first, ...ids.map(({ id }) => id)].map((id) => makeAnalysisMessage(busy.id, id));
  });

  const statuses = () =>
    queryDatabase(busy, (database) =>
      database.query<{ status: string; count: number }>(
        'SELECT status, count(*)::int AS count FROM console.upload_jobs GROUP BY status ORDER BY status',
      ),
    );

  /** Begins turns that last so many seconds more, as those of deliveries that are under way. */
  const beginTurns = (jobs: JobMessage[], seconds: number) =>
    queryDatabase(busy, (database) =>
      database.execute(
        `UPDATE console.upload_jobs SET turn_until = now() + make_interval(secs => $2) WHERE id = ANY($1::text[])`,
        [jobs.map((job) => (job as { jobId: string }).jobId), seconds],
      ),
    );

  it('does not delay another company’s upload', async () => {
    await beginTurns(messages.slice(0, TURNS), 60);
    const queue = createQueue();
    const held = createHeldQueue();
    const jobId = await uploadFiles(other, [makeFile('dados.csv', makeCsvTable(10))], held);
    for (const message of messages.slice(TURNS)) await deliverMessage(message, queue.env);
    // Each went to the end of the queue at once, and about two of them come back a second.
    expect(queue.sent.map(({ pause }) => pause)).toEqual(messages.slice(TURNS).map(() => 30));
    expect(queue.sent.map(({ message }) => message)).toMatchObject(messages.slice(TURNS));
    expect(await statuses()).toEqual([{ status: 'queued', count: JOBS }]);

    expect(await deliverMessage(held.messages.shift() as JobMessage, held.env)).toBe('done');
    expect(await readJob(other, jobId)).toMatchObject({ status: 'waiting_confirm' });
  });

  it('has none of them queued again by a sweep while they wait for their turn', async () => {
    await queryDatabase(busy, (database) =>
      database.execute(`UPDATE console.upload_jobs SET updated_at = now() - interval '2 minutes'`),
    );
    await beginTurns(messages.slice(0, TURNS), 60);
    const waiting = messages.slice(-5);
    for (const message of waiting) await deliverMessage(message, createQueue().env);
    await env.CONTROL_DB.prepare('UPDATE managed_databases SET sweep_at = 0 WHERE company_id = ?').bind(busy.id).run();
    const swept = createHeldQueue();
    await runSweep(swept, 30_000);
    const again = swept.messages.map((message) => (message as { jobId: string }).jobId);
    const [silent] = messages;
    expect(again).toContain((silent as { jobId: string }).jobId);
    expect(again.filter((id) => waiting.some((message) => (message as { jobId: string }).jobId === id))).toEqual([]);
  });

  it('has each job analysed once the turns before it have ended or expired', async () => {
    await beginTurns(messages, -1);
    const queue = createQueue();
    for (const message of messages) await deliverMessage(message, queue.env);
    // Deliveries one after the other never wait for each other: each ends its turn.
    expect(queue.sent).toEqual([]);
    expect(await statuses()).toEqual([{ status: 'waiting_confirm', count: JOBS }]);
  });

  it('keeps the turn of a delivery that began before the previous one ended', async () => {
    await beginTurns(messages, -1);
    const queue = createHeldQueue();
    const jobId = await uploadFiles(busy, [makeFile('dados.csv', makeCsvTable(10))], queue);
    const { outcome } = await rivalBeforeStatement(busy.id, /SET turn_until = NULL/, () =>
      beginTurns([makeAnalysisMessage(busy.id, jobId)], 60),
    );
    await deliverMessage(queue.messages.shift() as JobMessage, queue.env);
    await outcome;
    const [row] = await queryDatabase(busy, (database) =>
      database.query<{ kept: boolean }>(
        'SELECT turn_until IS NOT NULL AS kept FROM console.upload_jobs WHERE id = $1',
        [jobId],
      ),
    );
    expect(row?.kept).toBe(true);
  });
});
