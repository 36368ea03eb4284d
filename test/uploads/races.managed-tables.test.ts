import { beforeAll, describe, expect, it } from 'vitest';
import { aTable, column, tableRoutes } from '../managed-tables/support.ts';
import { rivalBeforeStatement } from '../support/tunnel.ts';
import { aProvisionedCompany, type Company } from '../support/worlds.ts';
import {
  aFile,
  aHeldQueue,
  cancel,
  confirm,
  deliver,
  deliverAll,
  finished,
  inDatabase,
  jobOf,
  postFiles,
  rowsOf,
  sweep,
  tablesOf,
  upload,
  waiting,
} from './support.ts';

/** Each race is run so often: which side comes first differs from time to time. */
const ROUNDS = 3;

let company: Company;
beforeAll(async () => {
  company = await aProvisionedCompany();
});

let named = 0;

/** A table with the numbers from 0 below `count`. */
async function aTableOf(count: number) {
  const id = await aTable(company.as, `corrida_${++named}`, [column('n', 'integer', false)]);
  const routes = tableRoutes(company.as, id);
  const rows = Array.from({ length: count }, (_, n) => ({ n }));
  for (let at = 0; at < count; at += 10_000) await routes.insert(rows.slice(at, at + 10_000));
  return { id, routes };
}

const numbers = (from: number, count: number): number[] => Array.from({ length: count }, (_, n) => from + n);
const aFileOf = (values: number[]): File => aFile('n.csv', `n\n${values.join('\n')}\n`);
const inTable = async (id: string) => (await rowsOf(company, id)).map(({ n }) => n as number);

/** A confirmed job whose rows are staged: its next delivery brings them into the table. */
async function aStagedJob(id: string, values: number[], mode: string) {
  const queue = aHeldQueue();
  const jobId = await upload(company, [aFileOf(values)], { ...queue, into: id, mode });
  await deliverAll(queue);
  const { columns } = (await jobOf(company, jobId)).inferred_schema;
  await confirm(company, jobId, { columns }, queue);
  const message = queue.messages.shift();
  if (!message) throw new Error('a confirm sends a message');
  // A budget of just these rows: to bring them into place is left to the next message.
  const { size } = aFileOf(values);
  await deliver(message, { ...queue.env, UPLOAD_MESSAGE_BYTES: String(size - 'n\n'.length) });
  const { status, progress } = await jobOf(company, jobId);
  expect({ status, rows: progress.rows_processed }).toEqual({ status: 'inserting', rows: values.length });
  return { jobId, publish: () => deliver(message, queue.env) };
}

/** The table's number of rows is exact, and nothing is left of any load. */
async function isWhole(id: string): Promise<void> {
  const rows = await inTable(id);
  expect((await tableRoutes(company.as, id).get()).body.row_count).toBe(rows.length);
  expect(await tablesOf(company)).not.toContainEqual(expect.stringMatching(/^console/));
}

describe('a reader of rows that are replaced', () => {
  it('gets the old rows or the new ones, never fewer', async () => {
    const [OLD, NEW] = [6_000, 9_000];
    const { id, routes } = await aTableOf(OLD);
    const job = await aStagedJob(id, numbers(1_000_000, NEW), 'replace');
    let published = false;
    const totals: number[] = [];
    const poll = async () => {
      for (;;) {
        const isLast = published;
        const page = 1 + (totals.length % 6);
        const { status, body } = await routes.rows(`?per_page=1000&page=${page}`);
        expect({ status, error: body.error }).toEqual({ status: 200 });
        totals.push(body.total);
        const first = (body.total === OLD ? 0 : 1_000_000) + (page - 1) * 1000;
        expect(body.records.map((row: { n: number }) => row.n)).toEqual(numbers(first, 1000));
        if (isLast) return;
      }
    };
    const count = async () => {
      while (!published) {
        const [row] = await inDatabase(company, (database) =>
          database.query<{ count: string }>(`SELECT count(*) FROM public."corrida_${named}"`),
        );
        expect([OLD, NEW]).toContain(Number(row?.count));
      }
    };
    const readers = [poll(), poll(), count()];
    while (totals.length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
    await job.publish();
    published = true;
    await Promise.all(readers);
    expect(totals[0]).toBe(OLD);
    expect(totals.at(-1)).toBe(NEW);
    expect(await jobOf(company, job.jobId)).toMatchObject({ status: 'done' });
    await isWhole(id);
  });
});

describe('two loads into one table', () => {
  const A = numbers(1000, 500);
  const B = numbers(2000, 500);
  const OLD = numbers(0, 10);

  it.each([
    [
      'append',
      'append',
      [
        [...OLD, ...A, ...B],
        [...OLD, ...B, ...A],
      ],
    ],
    ['append', 'replace', [B, [...B, ...A]]],
    ['replace', 'replace', [A, B]],
  ])('in the modes %s and %s come one after the other, whichever is first', async (first, second, outcomes) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const { id } = await aTableOf(OLD.length);
      const jobs = [await aStagedJob(id, A, first), await aStagedJob(id, B, second)];
      await Promise.all(jobs.map((job) => job.publish()));
      for (const { jobId } of jobs) expect(await jobOf(company, jobId)).toMatchObject({ status: 'done' });
      expect(outcomes).toContainEqual(await inTable(id));
      await isWhole(id);
    }
  });

  it('run beside each other from upload to end', async () => {
    const { id } = await aTableOf(OLD.length);
    const jobs = await Promise.all(
      [A, B].map(async (values) => {
        const jobId = await upload(company, [aFileOf(values)], { into: id });
        const { inferred_schema: schema } = await waiting(company, jobId);
        await confirm(company, jobId, { columns: schema.columns });
        return finished(company, jobId);
      }),
    );
    expect(jobs).toMatchObject([{ status: 'done' }, { status: 'done' }]);
    expect([
      [...OLD, ...A, ...B],
      [...OLD, ...B, ...A],
    ]).toContainEqual(await inTable(id));
    await isWhole(id);
  });
});

describe('a load that another delivery of its message brings into place first', () => {
  it.each(['append', 'replace'])('in the mode %s has nothing left to do, and the rows are there once', async (mode) => {
    const { id } = await aTableOf(3);
    const job = await aStagedJob(id, [10, 11], mode);
    const { outcome } = await rivalBeforeStatement(company.id, /SELECT status, step, state/, job.publish);
    expect(await job.publish()).toBe('done');
    expect(await outcome).toBe('done');
    expect(await jobOf(company, job.jobId)).toMatchObject({ status: 'done', error: null });
    expect(await inTable(id)).toEqual(mode === 'append' ? [0, 1, 2, 10, 11] : [10, 11]);
    await isWhole(id);
  });
});

describe('a load that has locked its job', () => {
  it('keeps another delivery of its message waiting until its rows are in place', async () => {
    const { id } = await aTableOf(3);
    const job = await aStagedJob(id, [10, 11], 'append');
    const { outcome } = await rivalBeforeStatement(company.id, /FROM console\.managed_tables/, job.publish);
    expect(await job.publish()).toBe('done');
    expect(await outcome).toBe('done');
    expect(await jobOf(company, job.jobId)).toMatchObject({ status: 'done', error: null });
    expect(await inTable(id)).toEqual([0, 1, 2, 10, 11]);
    await isWhole(id);
  });

  it('fails when the columns of its table are not those that were confirmed', async () => {
    const { id } = await aTableOf(3);
    const job = await aStagedJob(id, [10, 11], 'append');
    // Routes refuse to change a table under a load: somebody has worked by hand, or restored a backup.
    await inDatabase(company, (database) =>
      database.query(
        `UPDATE console.managed_tables SET columns = replace(columns::text, 'integer', 'decimal')::json WHERE id = $1`,
        [id],
      ),
    );
    await job.publish();
    expect(await jobOf(company, job.jobId)).toMatchObject({ status: 'failed', error: { code: 'TABLE_CHANGED' } });
  });
});

describe('a job that has waited too long for its confirm', () => {
  it('goes on when it is confirmed just before its end is written', async () => {
    const queue = aHeldQueue();
    const { id } = await aTableOf(1);
    const jobId = await upload(company, [aFileOf([7])], { ...queue, into: id });
    await deliverAll(queue);
    const { columns } = (await jobOf(company, jobId)).inferred_schema;
    await inDatabase(company, (database) =>
      database.query(`UPDATE console.upload_jobs SET updated_at = updated_at - interval '2 days' WHERE id = $1`, [
        jobId,
      ]),
    );
    const { outcome } = await rivalBeforeStatement(company.id, /SELECT status, step, state/, () =>
      confirm(company, jobId, { columns }, queue),
    );
    await sweep(queue, 2 * 60_000);
    expect((await outcome).status).toBe(200);
    await deliverAll(queue);
    expect(await jobOf(company, jobId)).toMatchObject({ status: 'done', error: null });
    expect(await inTable(id)).toEqual([0, 7]);
  });
});

describe('a load beside changes of the same rows', () => {
  it.each(['append', 'replace'])('in the mode %s comes before or after every write', async (mode) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const { id, routes } = await aTableOf(4);
      const [zero, one] = await rowsOf(company, id);
      const loaded = numbers(1000, 2000);
      const job = await aStagedJob(id, loaded, mode);
      const [, inserted, updated, deleted] = await Promise.all([
        job.publish(),
        routes.insert([{ n: 77 }, { n: 78 }]),
        routes.updateRow(zero?.id as string, { n: 99 }),
        routes.deleteRow(one?.id as string),
      ]);
      expect(inserted.status).toBe(201);
      expect(await jobOf(company, job.jobId)).toMatchObject({ status: 'done' });
      const rows = await inTable(id);
      if (mode === 'append') {
        expect([updated.status, deleted.status]).toEqual([200, 204]);
        const old = [99, 2, 3];
        expect([
          [...old, 77, 78, ...loaded],
          [...old, ...loaded, 77, 78],
        ]).toContainEqual(rows);
      } else {
        // An earlier change is deleted with the row; a later one finds no row.
        expect([200, 404]).toContain(updated.status);
        expect([204, 404]).toContain(deleted.status);
        expect([loaded, [...loaded, 77, 78]]).toContainEqual(rows);
      }
      await isWhole(id);
    }
  });
});

describe('an upload beside changes of its table', () => {
  it.each(['truncate', 'delete', 'rename'])('comes after a %s, or that is refused', async (operation) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const { id, routes } = await aTableOf(3);
      const change = {
        truncate: () => routes.truncate(),
        delete: () => routes.delete(),
        rename: () => routes.put({ display_name: `outra_${named}` }),
      }[operation] as () => Promise<{ status: number }>;
      const upload = postFiles(company, [aFileOf([10, 11])], { into: id });
      await new Promise((resolve) => setTimeout(resolve, round * 15));
      const [started, changed] = await Promise.all([upload, change()]);
      if (operation === 'delete' && changed.status === 204) {
        expect(started.status).toBe(404);
        expect((await routes.get()).status).toBe(404);
        continue;
      }
      expect(started.status).toBe(201);
      expect([200, 409]).toContain(changed.status);
      const { inferred_schema: schema } = await waiting(company, started.body.job_id);
      await confirm(company, started.body.job_id, { columns: schema.columns });
      expect(await finished(company, started.body.job_id)).toMatchObject({ status: 'done', user_table_id: id });
      const emptied = operation === 'truncate' && changed.status === 200;
      expect(await inTable(id)).toEqual(emptied ? [10, 11] : [0, 1, 2, 10, 11]);
      const renamed = operation === 'rename' && changed.status === 200;
      expect((await routes.get()).body.display_name).toBe(renamed ? `outra_${named}` : `corrida_${named}`);
      await isWhole(id);
    }
  });
});

describe('an analysis', () => {
  it('stays cancelled when that happens before its end', async () => {
    const queue = aHeldQueue();
    const jobId = await upload(company, [aFileOf([1, 2])], queue);
    const cancelling = () => cancel(company, jobId);
    const { outcome } = await rivalBeforeStatement(company.id, /SET status = 'waiting_confirm'/, cancelling);
    await deliverAll(queue);
    await outcome;
    expect(await jobOf(company, jobId)).toMatchObject({ status: 'failed', error: { code: 'CANCELLED' } });
  });
});

describe('a confirm', () => {
  const aWaitingJob = async () => {
    const queue = aHeldQueue();
    const jobId = await upload(company, [aFileOf([1, 2])], queue);
    await deliverAll(queue);
    const { columns } = (await jobOf(company, jobId)).inferred_schema;
    return (display_name: string) => confirm(company, jobId, { display_name, columns }, queue);
  };
  const confirming = /SET status = 'inserting'/;

  it('is refused when the job is confirmed meanwhile', async () => {
    const confirmAs = await aWaitingJob();
    const { outcome } = await rivalBeforeStatement(company.id, confirming, () => confirmAs('confirmada_antes'));
    const late = await confirmAs('confirmada_depois');
    expect([(await outcome).status, late.status]).toEqual([200, 400]);
    expect(late.body.error_code).toBe('UPLOAD_JOB_NOT_WAITING_CONFIRM');
  });

  it('is refused when another job is confirmed with the same name meanwhile', async () => {
    const [first, second] = [await aWaitingJob(), await aWaitingJob()];
    const { outcome } = await rivalBeforeStatement(company.id, confirming, () => first('disputada'));
    const late = await second('disputada');
    expect([(await outcome).status, late.status]).toEqual([200, 400]);
    expect(late.body.error_code).toBe('MANAGED_TABLE_DUPLICATE_NAME');
  });
});
