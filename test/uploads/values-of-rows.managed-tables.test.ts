import { describe, expect, it } from 'vitest';
import { createTable, createTableClient, makeColumn } from '../managed-tables/support.ts';
import type { Caller } from '../support/api.ts';
import { createAllowedUser, createProvisionedCompany } from '../support/companies.ts';
import { loadFiles, makeFile, postFiles, readJob, uploadFiles, waitForAnalysis, waitForEnd } from './support.ts';

const JOBS_PATH = '/v1/managed-tables/upload-jobs';
/** A value in every file and table that no answer may contain for a caller who may not read rows. */
const SECRET_VALUE = 'salario-9731';

let tableCount = 0;

const company = await createProvisionedCompany();
/** A caller with all permissions on tables except reading and changing their rows. */
const uploaderCaller = (
  await createAllowedUser(company, { can: ['managed-tables:*'], denied: ['managed-tables:data-*'] })
).as;
/** A caller with all permissions on tables except reading their rows. */
const writer = (await createAllowedUser(company, { can: ['managed-tables:*'], denied: ['managed-tables:data-read'] }))
  .as;

const readJobAs = async (as: Caller, jobId: string) => (await as.get(`${JOBS_PATH}/${jobId}`)).body;

async function createFilledTable() {
  const id = await createTable(company.as, `valores_${++tableCount}`, [makeColumn('code'), makeColumn('n', 'integer')]);
  const routes = createTableClient(company.as, id);
  const rows = [
    { code: SECRET_VALUE, n: 1 },
    { code: `${SECRET_VALUE}-2`, n: 2 },
  ];
  expect((await routes.insert(rows)).status).toBe(201);
  return { id, routes, byWriter: createTableClient(writer, id), byUploader: createTableClient(uploaderCaller, id) };
}

describe('an upload job that is read by somebody without permission to read rows', () => {
  it('shows everything but the values of its files', async () => {
    const csv = `Salarios\nnome;${'n'};x\n${SECRET_VALUE};1;1\nb;2;${SECRET_VALUE}\n\nFonte: ${SECRET_VALUE}\n`;
    const jobId = await uploadFiles(company, [makeFile(`f_${++tableCount}.csv`, csv)]);
    const wholeJob = await waitForAnalysis(company, jobId);
    expect(JSON.stringify(wholeJob.inferred_schema)).toContain(SECRET_VALUE);
    const visibleJob = await readJobAs(uploaderCaller, jobId);
    expect(JSON.stringify(visibleJob)).not.toContain(SECRET_VALUE);
    const { columns, dialect, ...schema } = wholeJob.inferred_schema;
    expect(visibleJob).toEqual({
      ...wholeJob,
      inferred_schema: {
        ...schema,
        sample_rows: [],
        dialect: { ...dialect, skipped: [] },
        columns: columns.map((column: { evidence: object }) => ({
          ...column,
          evidence: { ...column.evidence, distinct_sample: [], counter_example: null },
        })),
      },
    });
    const { records } = (await uploaderCaller.get(`${JOBS_PATH}/active`)).body;
    expect(records.map(({ _id }: { _id: string }) => _id)).toContain(jobId);
    expect(JSON.stringify(records)).not.toContain(SECRET_VALUE);
    await company.as.post(`${JOBS_PATH}/${jobId}/cancel`);
  });

  it('shows no values of its ignored columns', async () => {
    const { id } = await createFilledTable();
    const jobId = await uploadFiles(company, [makeFile('f.csv', `code,extra\na,${SECRET_VALUE}\n`)], { into: id });
    expect((await waitForAnalysis(company, jobId)).inferred_schema.ignored_columns[0].evidence.distinct_sample).toEqual(
      [SECRET_VALUE],
    );
    const visibleJob = await readJobAs(uploaderCaller, jobId);
    expect(visibleJob.inferred_schema.ignored_columns).toMatchObject([
      { name: 'extra', evidence: { distinct_sample: [] } },
    ]);
    await company.as.post(`${JOBS_PATH}/${jobId}/cancel`);
  });

  const FAILING_UPLOADS: [string, string, { mode?: string; key?: string[] }, (id: string) => Promise<unknown>][] = [
    ['VALUE_DOES_NOT_FIT', `code,n\na,${SECRET_VALUE}\n`, {}, async () => undefined],
    [
      'MANAGED_TABLE_DUPLICATE_VALUE',
      `code,n\n${SECRET_VALUE},3\n`,
      {},
      (id) => createTableClient(company.as, id).index(['code'], true),
    ],
    [
      'UPSERT_KEY_TWICE',
      `code,n\n${SECRET_VALUE},3\n${SECRET_VALUE},4\n`,
      { mode: 'upsert', key: ['code'] },
      async () => undefined,
    ],
    [
      'UPSERT_KEY_NOT_UNIQUE',
      'code,n\nx,3\n',
      { mode: 'upsert', key: ['code'] },
      (id) => createTableClient(company.as, id).insert([{ code: SECRET_VALUE }]),
    ],
    ['UPSERT_ID_UNKNOWN', `id,n\n${SECRET_VALUE},3\n`, { mode: 'upsert', key: ['id'] }, async () => undefined],
  ];

  it.each(FAILING_UPLOADS)('shows no value in its error %s', async (code, csv, uploadInput, prepare) => {
    const { id } = await createFilledTable();
    await prepare(id);
    const job = await loadFiles(company, [makeFile('f.csv', csv)], {}, { into: id, ...uploadInput });
    expect(job.error).toMatchObject({ code, value: expect.stringContaining(SECRET_VALUE) });
    expect(job.error.message).toContain(SECRET_VALUE);
    const visibleJob = await readJobAs(uploaderCaller, job._id);
    expect(visibleJob.error).toMatchObject({ code, value: null, message: expect.stringContaining('"…"') });
    expect(JSON.stringify(visibleJob)).not.toContain(SECRET_VALUE);
  });
});

describe('an upload into a table', () => {
  it.each(['replace', 'upsert'])(
    'in the mode %s requires the permission data-write, at its begin and at its confirmation',
    async (mode) => {
      const { id, routes } = await createFilledTable();
      await routes.index(['n'], true);
      const uploadInput = { into: id, mode, ...(mode === 'upsert' && { key: ['n'] }) };
      const makeFiles = () => [makeFile('f.csv', 'code,n\na,1\n')];
      const refusedUpload = await postFiles({ ...company, as: uploaderCaller }, makeFiles(), uploadInput);
      expect(refusedUpload).toMatchObject({ status: 403, body: { details: { action: 'managed-tables:data-write' } } });
      const jobId = await uploadFiles({ ...company, as: writer }, makeFiles(), uploadInput);
      const { columns } = (await waitForAnalysis(company, jobId)).inferred_schema;
      const path = `${JOBS_PATH}/${jobId}/confirm`;
      for (const json of [{ columns }, {}]) expect((await uploaderCaller.post(path, { json })).status).toBe(403);
      expect(await readJob(company, jobId)).toMatchObject({ status: 'waiting_confirm' });
      expect((await writer.post(path, { json: { columns } })).status).toBe(200);
      expect(await waitForEnd(company, jobId)).toMatchObject({ status: 'done' });
    },
  );

  it('in the mode append requires only the permission upload, but its undo requires data-write', async () => {
    const { id } = await createFilledTable();
    const appendedJob = await loadFiles(
      { ...company, as: uploaderCaller },
      [makeFile('f.csv', 'code,n\na,3\n')],
      {},
      { into: id },
    );
    expect(appendedJob).toMatchObject({ status: 'done' });
    expect((await uploaderCaller.post(`${JOBS_PATH}/${appendedJob._id}/undo`)).status).toBe(403);
    expect((await writer.post(`${JOBS_PATH}/${appendedJob._id}/undo`)).status).toBe(200);
  });
});

describe('a write by somebody without permission to read rows', () => {
  it('returns only the id and the fields that were sent', async () => {
    const { routes, byWriter } = await createFilledTable();
    const [row] = (await routes.rows()).body.records;
    expect(await byWriter.updateRow(row.id, { n: '7' })).toMatchObject({ status: 200, body: { id: row.id, n: 7 } });
    expect(Object.keys((await byWriter.updateRow(row.id, { n: 8 })).body)).toEqual(['id', 'n']);
    expect((await routes.updateRow(row.id, { n: 9 })).body).toEqual({ id: row.id, code: SECRET_VALUE, n: 9 });
  });

  it('does not name the duplicate value that prevents it', async () => {
    const { routes, byWriter } = await createFilledTable();
    expect((await routes.index(['n'], true)).status).toBe(201);
    const [row] = (await routes.rows()).body.records;
    const makeRefusal = (value: string | null) => ({ status: 409, body: { details: { columns: ['n'], value } } });
    expect(await byWriter.insert([{ n: 1 }])).toMatchObject(makeRefusal(null));
    expect(await byWriter.updateRow(row.id, { n: 2 })).toMatchObject(makeRefusal(null));
    expect(await routes.updateRow(row.id, { n: 2 })).toMatchObject(makeRefusal('2'));
  });

  it('does not name the value that prevents a change of columns or a unique index', async () => {
    const { id, routes, byWriter } = await createFilledTable();
    await routes.insert([{ code: SECRET_VALUE }]);
    const changeType = (as: typeof routes, type: string) =>
      as.put({ columns: [makeColumn('code', type), makeColumn('n', 'integer')] });
    for (const [whose, isTold] of [
      [routes, true],
      [byWriter, false],
    ] as const) {
      const answers = [await changeType(whose, 'integer'), await whose.index(['code'], true)];
      for (const { status, body } of answers) {
        expect(status).toBe(422);
        expect(JSON.stringify(body).includes(SECRET_VALUE)).toBe(isTold);
      }
    }
    const uniqueRoutes = createTableClient(company.as, id);
    expect((await uniqueRoutes.index(['n'], true)).status).toBe(201);
  });
});
