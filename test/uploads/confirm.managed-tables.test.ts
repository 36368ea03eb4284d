import { beforeEach, describe, expect, it } from 'vitest';
import { type Company, createOwnedCompany, createProvisionedCompany } from '../support/companies.ts';
import {
  cancelJob,
  confirmJob,
  loadFiles,
  makeFile,
  readJob,
  readRows,
  uploadFiles,
  waitForAnalysis,
  waitForEnd,
} from './support.ts';

const CSV_FILE = 'nome,idade,nascido_em\nAna,31,1994-05-01 10:30\nBia,,2001-12-24 00:00\n';

let company: Company;
beforeEach(async () => {
  company ??= await createProvisionedCompany();
});

/** Creates a job that waits for its confirmation, with the inferred columns. */
async function createWaitingJob(inCompany = company) {
  const jobId = await uploadFiles(inCompany, [makeFile('Pessoas 2024.csv', CSV_FILE)]);
  const { inferred_schema: schema } = await waitForAnalysis(inCompany, jobId);
  return { jobId, columns: schema.columns as Record<string, unknown>[] };
}

let tableCount = 0;
const makeTableName = () => `tabela_${++tableCount}`;

describe('the confirmation of an upload job', () => {
  it('accepts the inferred columns unchanged', async () => {
    const { jobId, columns } = await createWaitingJob();
    const name = makeTableName();
    expect(await confirmJob(company, jobId, { display_name: name, columns })).toMatchObject({
      status: 200,
      body: { status: 'inserting' },
    });
    const job = await waitForEnd(company, jobId);
    expect(job).toMatchObject({ status: 'done', confirmed_schema: { display_name: name, time_zone: null } });
    const table = await company.as.get(`/v1/managed-tables/${job.user_table_id}`);
    expect(table.body).toMatchObject({
      display_name: name,
      source: 'upload',
      row_count: 2,
      created_by_user_id: company.owner.id,
      columns: [
        { name: 'nome', display_name: 'nome', type: 'text' },
        { name: 'idade', type: 'integer', nullable: true },
        { name: 'nascido_em', type: 'datetime' },
      ],
    });
    const [ana, bia] = await readRows(company, job.user_table_id);
    expect(ana).toMatchObject({ nome: 'Ana', idade: 31, nascido_em: '1994-05-01T10:30:00.000Z' });
    expect(bia).toMatchObject({ nome: 'Bia', idade: null });
    // A row that comes later stands later, and its id is drawn as in every table.
    const json = { rows: [{ nome: 'Caio' }] };
    expect((await company.as.post(`/v1/managed-tables/${job.user_table_id}/data`, { json })).status).toBe(201);
    expect((await readRows(company, job.user_table_id)).map(({ nome }) => nome)).toEqual(['Ana', 'Bia', 'Caio']);
  });

  it('renames, retypes and leaves out columns, and reads times in the time zone that it sends', async () => {
    const { jobId } = await createWaitingJob();
    await confirmJob(company, jobId, {
      display_name: makeTableName(),
      time_zone: 'America/Sao_Paulo',
      columns: [
        { name: 'quando', display_name: 'Quando', type: 'datetime', nullable: true, source_index: 2 },
        { name: 'idade', display_name: 'Idade', type: 'text', nullable: true },
      ],
    });
    const job = await waitForEnd(company, jobId);
    expect(job.confirmed_schema.columns.map((column: { source_index: number }) => column.source_index)).toEqual([2, 1]);
    const [ana] = await readRows(company, job.user_table_id);
    expect(ana).toEqual({ id: expect.any(String), quando: '1994-05-01T13:30:00.000Z', idade: '31' });
  });

  it('matches columns by position when it sends as many columns as the file has', async () => {
    const { jobId } = await createWaitingJob();
    const columns = ['a', 'b', 'c'].map((name) => ({ name, display_name: name, type: 'text', nullable: true }));
    await confirmJob(company, jobId, { display_name: makeTableName(), columns });
    const job = await waitForEnd(company, jobId);
    expect((await readRows(company, job.user_table_id))[0]).toMatchObject({ a: 'Ana', b: '31', c: '1994-05-01 10:30' });
  });

  const makeTextColumn = (name: string, otherFields = {}) => ({
    name,
    display_name: name,
    type: 'text',
    nullable: true,
    ...otherFields,
  });

  let refusedJob: ReturnType<typeof createWaitingJob> | undefined;

  it.each([
    ['no columns', { columns: [] }, 'columns'],
    ['a name that is no identifier', { display_name: 'Vendas!' }, 'display_name'],
    ['a name of 64 characters', { display_name: 'a'.repeat(64) }, 'display_name'],
    ['a reserved column', { columns: [makeTextColumn('id', { source_index: 0 })] }, 'columns.0.name'],
    [
      'the same column name twice',
      { columns: [makeTextColumn('a', { source_index: 0 }), makeTextColumn('a', { source_index: 1 })] },
      'columns.1.name',
    ],
    ['an unknown type', { columns: [makeTextColumn('nome', { type: 'money' })] }, 'columns.0.type'],
    ['a column that no file has', { columns: [makeTextColumn('x')] }, 'columns.0.name'],
    [
      'a source_index beyond the columns of the files',
      { columns: [makeTextColumn('nome', { source_index: 3 })] },
      'columns.0.source_index',
    ],
    [
      'the same column of the files twice',
      { columns: [makeTextColumn('nome'), makeTextColumn('x', { source_index: 0 })] },
      'columns.1.source_index',
    ],
    ['an unknown time zone', { columns: [makeTextColumn('nome')], time_zone: 'Mars/Olympus' }, 'time_zone'],
    ['a UTC offset as the time zone', { columns: [makeTextColumn('nome')], time_zone: '+03:00' }, 'time_zone'],
  ])('is refused for %s, and the job stays unconfirmed', async (_, body, field) => {
    refusedJob ??= createWaitingJob();
    const { jobId, columns } = await refusedJob;
    const { status, body: answer } = await confirmJob(company, jobId, {
      display_name: makeTableName(),
      columns,
      ...body,
    });
    expect(status).toBe(422);
    expect(answer.details.map((problem: { field: string }) => problem.field)).toContain(field);
    expect(await readJob(company, jobId)).toMatchObject({ status: 'waiting_confirm', confirmed_schema: null });
  });

  it('is refused with a name that an active table has', async () => {
    const name = makeTableName();
    await loadFiles(company, [makeFile('a.csv', CSV_FILE)], { display_name: name });
    const { jobId, columns } = await createWaitingJob();
    const { status, body } = await confirmJob(company, jobId, { display_name: name, columns });
    expect({ status, code: body.error_code }).toEqual({ status: 400, code: 'MANAGED_TABLE_DUPLICATE_NAME' });
    expect(await readJob(company, jobId)).toMatchObject({ status: 'waiting_confirm' });
    expect((await confirmJob(company, jobId, { display_name: makeTableName(), columns })).status).toBe(200);
  });

  it('succeeds once, and is refused the second time', async () => {
    const { jobId, columns } = await createWaitingJob();
    expect((await confirmJob(company, jobId, { display_name: makeTableName(), columns })).status).toBe(200);
    const secondConfirmation = await confirmJob(company, jobId, { display_name: makeTableName(), columns });
    expect([secondConfirmation.status, secondConfirmation.body.error_code]).toEqual([
      400,
      'UPLOAD_JOB_NOT_WAITING_CONFIRM',
    ]);
    expect(await waitForEnd(company, jobId)).toMatchObject({ status: 'done' });
  });

  it('answers 404 for a company without a database, which has no jobs', async () => {
    const { jobId, columns } = await createWaitingJob();
    const unprovisionedCompany = await createOwnedCompany();
    const path = '/v1/managed-tables/upload-jobs';
    expect((await confirmJob(unprovisionedCompany, jobId, { display_name: makeTableName(), columns })).status).toBe(
      404,
    );
    expect((await cancelJob(unprovisionedCompany, jobId)).status).toBe(404);
    expect((await unprovisionedCompany.as.get(`${path}/${jobId}`)).status).toBe(404);
    expect((await unprovisionedCompany.as.get(`${path}/active`)).body).toEqual({ records: [] });
  });
});
