import { beforeAll, describe, expect, it } from 'vitest';
import { column, createTable, makeTableRoutes } from '../managed-tables/support.ts';
import type { Caller } from '../support/api.ts';
import { aProvisionedCompany, aUser, type Company } from '../support/worlds.ts';
import { loadFiles, makeFile, postFiles, readJob, uploadFiles, waitForAnalysis, waitForEnd } from './support.ts';

const JOBS_PATH = '/v1/managed-tables/upload-jobs';
/** Stands in every file and table, and in no answer to somebody who may not read rows. */
const SECRET = 'salario-9731';

let company: Company;
/** May do everything with tables but read or change their rows; and but read them. */
let uploader: Caller;
let writer: Caller;
let tableCount = 0;

beforeAll(async () => {
  company = await aProvisionedCompany();
  uploader = (await aUser(company, { can: ['managed-tables:*'], denied: ['managed-tables:data-*'] })).as;
  writer = (await aUser(company, { can: ['managed-tables:*'], denied: ['managed-tables:data-read'] })).as;
});

const readJobAs = async (as: Caller, jobId: string) => (await as.get(`${JOBS_PATH}/${jobId}`)).body;

async function createFilledTable() {
  const id = await createTable(company.as, `valores_${++tableCount}`, [column('code'), column('n', 'integer')]);
  const routes = makeTableRoutes(company.as, id);
  const rows = [
    { code: SECRET, n: 1 },
    { code: `${SECRET}-2`, n: 2 },
  ];
  expect((await routes.insert(rows)).status).toBe(201);
  return { id, routes, byWriter: makeTableRoutes(writer, id), byUploader: makeTableRoutes(uploader, id) };
}

describe('an upload job that is read by somebody without permission to read rows', () => {
  it('shows everything but the values of its files', async () => {
    const csv = `Salarios\nnome;${'n'};x\n${SECRET};1;1\nb;2;${SECRET}\n\nFonte: ${SECRET}\n`;
    const jobId = await uploadFiles(company, [makeFile(`f_${++tableCount}.csv`, csv)]);
    const whole = await waitForAnalysis(company, jobId);
    expect(JSON.stringify(whole.inferred_schema)).toContain(SECRET);
    const seen = await readJobAs(uploader, jobId);
    expect(JSON.stringify(seen)).not.toContain(SECRET);
    const { columns, dialect, ...schema } = whole.inferred_schema;
    expect(seen).toEqual({
      ...whole,
      inferred_schema: {
        ...schema,
        sample_rows: [],
        dialect: { ...dialect, skipped: [] },
        columns: columns.map((each: { evidence: object }) => ({
          ...each,
          evidence: { ...each.evidence, distinct_sample: [], counter_example: null },
        })),
      },
    });
    const { records } = (await uploader.get(`${JOBS_PATH}/active`)).body;
    expect(records.map(({ _id }: { _id: string }) => _id)).toContain(jobId);
    expect(JSON.stringify(records)).not.toContain(SECRET);
    await company.as.post(`${JOBS_PATH}/${jobId}/cancel`);
  });

  it('shows no values of its ignored columns', async () => {
    const { id } = await createFilledTable();
    const jobId = await uploadFiles(company, [makeFile('f.csv', `code,extra\na,${SECRET}\n`)], { into: id });
    expect((await waitForAnalysis(company, jobId)).inferred_schema.ignored_columns[0].evidence.distinct_sample).toEqual(
      [SECRET],
    );
    const seen = await readJobAs(uploader, jobId);
    expect(seen.inferred_schema.ignored_columns).toMatchObject([{ name: 'extra', evidence: { distinct_sample: [] } }]);
    await company.as.post(`${JOBS_PATH}/${jobId}/cancel`);
  });

  const FAILING: [string, string, { mode?: string; key?: string[] }, (id: string) => Promise<unknown>][] = [
    ['VALUE_DOES_NOT_FIT', `code,n\na,${SECRET}\n`, {}, async () => undefined],
    [
      'MANAGED_TABLE_DUPLICATE_VALUE',
      `code,n\n${SECRET},3\n`,
      {},
      (id) => makeTableRoutes(company.as, id).index(['code'], true),
    ],
    [
      'UPSERT_KEY_TWICE',
      `code,n\n${SECRET},3\n${SECRET},4\n`,
      { mode: 'upsert', key: ['code'] },
      async () => undefined,
    ],
    [
      'UPSERT_KEY_NOT_UNIQUE',
      'code,n\nx,3\n',
      { mode: 'upsert', key: ['code'] },
      (id) => makeTableRoutes(company.as, id).insert([{ code: SECRET }]),
    ],
    ['UPSERT_ID_UNKNOWN', `id,n\n${SECRET},3\n`, { mode: 'upsert', key: ['id'] }, async () => undefined],
  ];

  it.each(FAILING)('shows no value in its error %s', async (code, csv, sent, prepare) => {
    const { id } = await createFilledTable();
    await prepare(id);
    const job = await loadFiles(company, [makeFile('f.csv', csv)], {}, { into: id, ...sent });
    expect(job.error).toMatchObject({ code, value: expect.stringContaining(SECRET) });
    expect(job.error.message).toContain(SECRET);
    const seen = await readJobAs(uploader, job._id);
    expect(seen.error).toMatchObject({ code, value: null, message: expect.stringContaining('"…"') });
    expect(JSON.stringify(seen)).not.toContain(SECRET);
  });
});

describe('an upload into a table', () => {
  it.each(['replace', 'upsert'])(
    'in the mode %s needs the permission data-write, at its begin and at its confirmation',
    async (mode) => {
      const { id, routes } = await createFilledTable();
      await routes.index(['n'], true);
      const sent = { into: id, mode, ...(mode === 'upsert' && { key: ['n'] }) };
      const files = () => [makeFile('f.csv', 'code,n\na,1\n')];
      const refused = await postFiles({ ...company, as: uploader }, files(), sent);
      expect(refused).toMatchObject({ status: 403, body: { details: { action: 'managed-tables:data-write' } } });
      const jobId = await uploadFiles({ ...company, as: writer }, files(), sent);
      const { columns } = (await waitForAnalysis(company, jobId)).inferred_schema;
      const path = `${JOBS_PATH}/${jobId}/confirm`;
      expect((await uploader.post(path, { json: { columns } })).status).toBe(403);
      expect(await readJob(company, jobId)).toMatchObject({ status: 'waiting_confirm' });
      expect((await writer.post(path, { json: { columns } })).status).toBe(200);
      expect(await waitForEnd(company, jobId)).toMatchObject({ status: 'done' });
    },
  );

  it('in the mode append needs the permission upload alone, but its undo data-write', async () => {
    const { id } = await createFilledTable();
    const appended = await loadFiles(
      { ...company, as: uploader },
      [makeFile('f.csv', 'code,n\na,3\n')],
      {},
      { into: id },
    );
    expect(appended).toMatchObject({ status: 'done' });
    expect((await uploader.post(`${JOBS_PATH}/${appended._id}/undo`)).status).toBe(403);
    expect((await writer.post(`${JOBS_PATH}/${appended._id}/undo`)).status).toBe(200);
  });
});

describe('a write by somebody without permission to read rows', () => {
  it('answers only the id and the fields that were sent', async () => {
    const { routes, byWriter } = await createFilledTable();
    const [row] = (await routes.rows()).body.records;
    expect(await byWriter.updateRow(row.id, { n: '7' })).toMatchObject({ status: 200, body: { id: row.id, n: 7 } });
    expect(Object.keys((await byWriter.updateRow(row.id, { n: 8 })).body)).toEqual(['id', 'n']);
    expect((await routes.updateRow(row.id, { n: 9 })).body).toEqual({ id: row.id, code: SECRET, n: 9 });
  });

  it('does not name the duplicate value that prevents it', async () => {
    const { routes, byWriter } = await createFilledTable();
    expect((await routes.index(['n'], true)).status).toBe(201);
    const [row] = (await routes.rows()).body.records;
    const refusal = (value: string | null) => ({ status: 409, body: { details: { columns: ['n'], value } } });
    expect(await byWriter.insert([{ n: 1 }])).toMatchObject(refusal(null));
    expect(await byWriter.updateRow(row.id, { n: 2 })).toMatchObject(refusal(null));
    expect(await routes.updateRow(row.id, { n: 2 })).toMatchObject(refusal('2'));
  });

  it('does not name the value that prevents a change of columns or a unique index', async () => {
    const { id, routes, byWriter } = await createFilledTable();
    await routes.insert([{ code: SECRET }]);
    const change = (as: typeof routes, type: string) =>
      as.put({ columns: [column('code', type), column('n', 'integer')] });
    for (const [whose, isTold] of [
      [routes, true],
      [byWriter, false],
    ] as const) {
      const answers = [await change(whose, 'integer'), await whose.index(['code'], true)];
      for (const { status, body } of answers) {
        expect(status).toBe(422);
        expect(JSON.stringify(body).includes(SECRET)).toBe(isTold);
      }
    }
    const unique = makeTableRoutes(company.as, id);
    expect((await unique.index(['n'], true)).status).toBe(201);
  });
});
