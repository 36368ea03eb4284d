import { env } from 'cloudflare:test';
import { strToU8, zipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import { createTable, makeColumn } from '../managed-tables/support.ts';
import { createAllowedUser, createProvisionedCompany } from '../support/companies.ts';
import { runBeforeNextStatement } from '../support/tunnel.ts';
import { createAnalysisHelpers, listNames } from './reanalysis.ts';
import {
  cancelJob,
  confirmJob,
  deliverAllMessages,
  deliverMessage,
  listStoredFiles,
  makeFile,
  queryDatabase,
  readJob,
  runSweep,
  uploadFiles,
} from './support.ts';
import { makeSheet, makeSheetWorkbook, makeWorkbook, parseCells } from './workbooks.ts';

const company = await createProvisionedCompany();

type FileBytes = Uint8Array<ArrayBuffer>;
const { queue, analyze, aWaitingJob, look, rowsWhenConfirmed } = createAnalysisHelpers(() => company);

/** Makes a job a day older, so that it has waited longer than allowed. */
const ageJobByDay = (jobId: string) =>
  queryDatabase(company, (database) =>
    database.execute(`UPDATE console.upload_jobs SET updated_at = updated_at - interval '25 hours' WHERE id = $1`, [
      jobId,
    ]),
  );

describe('the second analysis of a text file', () => {
  it('reads it with the given delimiter, as does the load', async () => {
    const jobId = await aWaitingJob(['a.csv', 'a:b,c\n1:2,3\n4:5,6\n']);
    expect(listNames((await readJob(company, jobId)).inferred_schema)).toEqual(['a_b', 'c']);
    const schema = await look(jobId, { delimiter: ':' });
    expect(schema.dialect).toMatchObject({ delimiter: ':', header: true, sheet: null, sheets: null });
    expect(schema).not.toHaveProperty('problem');
    expect(await rowsWhenConfirmed(jobId)).toEqual([
      { a: 1, b_c: 2.3 },
      { a: 4, b_c: 5.6 },
    ]);
  });

  it.each(['\t', '^'])('accepts the delimiter %j', async (delimiter) => {
    const jobId = await aWaitingJob(['a.csv', ['x?y', '1?"p ?q"', '2?r'].join('\n').replaceAll('?', delimiter)]);
    await look(jobId, { delimiter, header: true });
    expect(await rowsWhenConfirmed(jobId)).toEqual([
      { x: 1, y: `p ${delimiter}q` },
      { x: 2, y: 'r' },
    ]);
  });

  it('reads all files with or without a header, as given', async () => {
    const textJob = await aWaitingJob(['a.csv', 'ana,sim\nbia,nao\n'], ['b.csv', 'ana,sim\neva,sim\n']);
    expect(await look(textJob, { header: true })).toMatchObject({
      total_row_count_estimate: 2,
      dialect: { header: true },
    });
    expect(await look(textJob, { header: false })).toMatchObject({
      total_row_count_estimate: 4,
      dialect: { header: false },
    });
    expect((await rowsWhenConfirmed(textJob)).map(({ column_1: name }) => name)).toEqual(['ana', 'bia', 'ana', 'eva']);

    const numberJob = await aWaitingJob(['n.csv', '2020,2019\n1,2\n3,4\n']);
    expect((await readJob(company, numberJob)).inferred_schema.dialect.header).toBe(false);
    expect(listNames(await look(numberJob, { header: true }))).toEqual(['_2020', '_2019']);
    expect(await rowsWhenConfirmed(numberJob)).toEqual([
      { _2020: 1, _2019: 2 },
      { _2020: 3, _2019: 4 },
    ]);
  });

  it('skips the given number of lines, with any line ends', async () => {
    for (const end of ['\n', '\r\n', '\r']) {
      const jobId = await aWaitingJob(['a.csv', ['x,y', 'p,"q', 'n,nome', '1,Ana', '2,Bia', ''].join(end)]);
      const schema = await look(jobId, { skip_lines: 2 });
      expect(schema.dialect).toMatchObject({
        skipped_lines: 2,
        skipped: [
          { line: 1, text: 'x,y' },
          { line: 2, text: 'p,"q' },
        ],
      });
      expect(await rowsWhenConfirmed(jobId)).toEqual([
        { n: 1, nome: 'Ana' },
        { n: 2, nome: 'Bia' },
      ]);
    }
    const titledJob = await aWaitingJob(['a.csv', 'Vendas\nn,nome\n1,Ana\n']);
    expect(await look(titledJob, { skip_lines: 0, header: false })).toMatchObject({ total_row_count_estimate: 3 });
  });

  it('decodes it with the given encoding', async () => {
    const utf8Bytes = strToU8('n,nome\n1,"São"\n2,"Água"\n') as FileBytes;
    const jobId = await aWaitingJob(['a.csv', utf8Bytes]);
    expect((await readJob(company, jobId)).inferred_schema.dialect.encoding).toBe('utf-8');
    expect((await look(jobId, { encoding: 'windows-1252' })).dialect.encoding).toBe('windows-1252');
    expect((await look(jobId, { encoding: 'utf-8' })).dialect.encoding).toBe('utf-8');
    const utf16Result = await look(jobId, { encoding: 'utf-16le' });
    expect(utf16Result.problem).toMatchObject({ field: 'encoding' });
    await look(jobId, { encoding: 'windows-1252' });
    expect((await rowsWhenConfirmed(jobId)).map(({ nome }) => nome)).toEqual(['SÃ£o', 'Ã\u0081gua']);

    const latinJob = await aWaitingJob([
      'b.csv',
      Uint8Array.from([...'n,x\n1,'].map((c) => c.charCodeAt(0)).concat(0xe3, 10)),
    ]);
    expect((await look(latinJob, { encoding: 'utf-8' })).problem).toMatchObject({ field: 'encoding' });
    expect(await rowsWhenConfirmed(latinJob)).toEqual([{ n: 1, x: 'ã' }]);
  });

  it('reads it without quotes, or with the given quote character', async () => {
    const jobId = await aWaitingJob(['a.csv', `n;x;y\n1;"p";'q'\n2;"r";'s;t'\n`.replace('s;t', 's')]);
    expect((await look(jobId, { quote: null })).dialect.quote).toBeNull();
    expect(await rowsWhenConfirmed(jobId)).toEqual([
      { n: 1, x: '"p"', y: "'q'" },
      { n: 2, x: '"r"', y: "'s'" },
    ]);
    const singleQuoteJob = await aWaitingJob(['a.csv', `n;x;y\n1;"p";'q'\n2;"r";'s'\n`]);
    expect((await look(singleQuoteJob, { quote: "'" })).dialect.quote).toBe("'");
    expect((await rowsWhenConfirmed(singleQuoteJob))[0]).toEqual({ n: 1, x: '"p"', y: 'q' });
  });

  it('applies to every file of a zip archive', async () => {
    const zip = zipSync({ 'a.csv': strToU8('1,5\n2,5\n'), 'b.csv': strToU8('3,5\n') }) as FileBytes;
    const jobId = await aWaitingJob(['a.zip', zip]);
    expect((await look(jobId, { delimiter: ',', header: false })).total_row_count_estimate).toBe(3);
    const listMadeFiles = async () =>
      (await listStoredFiles(company)).filter((key) => key.includes(`${jobId}/made/`)).length;
    expect(await listMadeFiles()).toBe(2);
    expect((await look(jobId, { delimiter: '|' })).problem).toMatchObject({ field: 'delimiter' });
    expect(await listMadeFiles()).toBe(2);
    expect(await rowsWhenConfirmed(jobId)).toHaveLength(3);
  });
});

describe('the second analysis of a workbook', () => {
  const makeTestWorkbook = () =>
    makeWorkbook({
      sheets: [
        makeSheet('Dados', 'n|nome', '1|Ana', '2|Bia'),
        { name: 'Resumo', rows: [['Total'], ['mes', 'valor'], ['jan', 1.5]] },
        { name: 'Nada', rows: [] },
        {
          name: 'Oculta',
          state: 'hidden',
          rows: parseCells('x|y', 'a|b'),
        },
      ],
    });

  it('reads the given sheet, as does the load', async () => {
    const jobId = await aWaitingJob(['livro.xlsx', makeTestWorkbook()]);
    const { dialect } = (await readJob(company, jobId)).inferred_schema;
    expect(dialect).toMatchObject({ sheet: 'Dados', sheets: ['Dados', 'Resumo', 'Nada', 'Oculta'] });
    expect(listNames(await look(jobId, { sheet: 'Oculta' }))).toEqual(['x', 'y']);
    expect(await look(jobId, { sheet: 'Resumo' })).toMatchObject({ dialect: { sheet: 'Resumo', skipped_lines: 1 } });
    expect(await look(jobId, { sheet: 'Outra' })).toMatchObject({
      dialect: { sheet: 'Resumo' },
      problem: { field: 'sheet', message: 'A planilha "livro.xlsx" não tem nenhuma aba chamada "Outra".' },
    });
    expect((await look(jobId, { sheet: 'Nada' })).problem).toMatchObject({ field: 'sheet' });
    expect(await rowsWhenConfirmed(jobId)).toEqual([{ mes: 'jan', valor: 1.5 }]);
  });

  it('skips the given number of rows, and reads with or without a header', async () => {
    const jobId = await aWaitingJob(['livro.xlsx', makeSheetWorkbook(parseCells('a|b', '"x\ny|z', 'p|q', 'r|s'))]);
    expect(await look(jobId, { skip_lines: 2, header: false })).toMatchObject({
      total_row_count_estimate: 2,
      dialect: {
        header: false,
        skipped_lines: 2,
        skipped: [
          { line: 1, text: 'a\tb' },
          { line: 2, text: '"x\ny\tz' },
        ],
      },
    });
    expect(await rowsWhenConfirmed(jobId)).toEqual([
      { column_1: 'p', column_2: 'q' },
      { column_1: 'r', column_2: 's' },
    ]);
  });

  it('refuses a delimiter for a workbook, a sheet for a text, and invalid options', async () => {
    const workbook = await aWaitingJob(['livro.xlsx', makeTestWorkbook()]);
    const refusedAnswer = await analyze(workbook, { delimiter: ';', quote: null, encoding: 'utf-8', header: true });
    expect(refusedAnswer.status).toBe(422);
    expect(refusedAnswer.body.details.map(({ field }: { field: string }) => field)).toEqual([
      'delimiter',
      'quote',
      'encoding',
    ]);
    const text = await aWaitingJob(['a.csv', 'a,b\n1,2\n']);
    expect(await analyze(text, { sheet: 'Dados' })).toMatchObject({
      status: 422,
      body: { details: [{ field: 'sheet' }] },
    });
    for (const invalidOptions of [
      { delimiter: 'ab' },
      { delimiter: '"' },
      { quote: 'x' },
      { encoding: 'latin1' },
      { skip_lines: -1 },
    ])
      expect((await analyze(text, invalidOptions)).status).toBe(422);
    expect(await readJob(company, text)).toMatchObject({ status: 'waiting_confirm' });
  });
});

describe('a second analysis with options that do not fit the files', () => {
  it('keeps the previous result and adds a problem, which the next analysis removes', async () => {
    const jobId = await aWaitingJob(['a.csv', 'n,nome\n1,segredo\n'], ['b.csv', 'n,nome\n2,oculto\n']);
    const schemaBefore = (await readJob(company, jobId)).inferred_schema;
    for (const [said, field] of [
      [{ delimiter: ';' }, 'delimiter'],
      [{ skip_lines: 9 }, 'skip_lines'],
      [{ header: true, skip_lines: 1 }, 'skip_lines'],
      [{ header: true, encoding: 'utf-16le' }, 'encoding'],
      [{ quote: null, encoding: 'utf-16le' }, 'encoding'],
    ] as const) {
      const { problem, ...schema } = await look(jobId, said);
      expect(schema).toEqual(schemaBefore);
      expect(problem).toEqual({ field, message: expect.any(String) });
      expect(problem.message).not.toMatch(/segredo|oculto/);
    }
    expect(await look(jobId, {})).toEqual(schemaBefore);
    await look(jobId, { delimiter: ';' });
    expect(await rowsWhenConfirmed(jobId)).toHaveLength(2);
  });

  it('reports the problem of a wrong header without revealing a value of the header', async () => {
    const jobId = await aWaitingJob(['a.csv', 'n,nome\n1,segredo\n3,c\n'], ['b.csv', 'n,nome\n2,oculto\n4,d\n']);
    const { problem } = await look(jobId, { header: true, skip_lines: 1 });
    expect(problem.field).toBe('header');
    expect(problem.message).not.toMatch(/segredo|oculto/);
  });
});

describe('a second analysis of an upload job', () => {
  it('requires an unconfirmed job', async () => {
    const jobId = await aWaitingJob(['a.csv', 'a,b\n1,2\n']);
    expect((await analyze(jobId, {})).status).toBe(200);
    expect(await analyze(jobId, {})).toMatchObject({
      status: 400,
      body: { error_code: 'UPLOAD_JOB_NOT_WAITING_CONFIRM' },
    });
    await cancelJob(company, jobId);
    await deliverAllMessages(queue);
    expect(await readJob(company, jobId)).toMatchObject({ status: 'failed', error: { code: 'CANCELLED' } });
    expect((await analyze(jobId, {})).status).toBe(400);
  });

  it('does not turn lines of another user’s file into column names for a caller who may not read rows', async () => {
    const tableId = await createTable(company.as, 'alvo', [makeColumn('n', 'integer')]);
    const jobId = await uploadFiles(company, [makeFile('a.csv', 'n,x\n1,segredo\n')], { ...queue, into: tableId });
    await deliverAllMessages(queue);
    const uploader = await createAllowedUser(company, {
      can: ['managed-tables:*'],
      denied: ['managed-tables:data-read'],
    });
    expect((await analyze(jobId, { skip_lines: 1 }, uploader.as)).status).toBe(403);
    expect((await analyze(jobId, { header: true }, uploader.as)).status).toBe(403);
    expect((await analyze(jobId, { delimiter: ';' }, uploader.as)).status).toBe(403);
    expect((await analyze(jobId, { quote: null }, uploader.as)).status).toBe(403);
    expect((await analyze(jobId, {}, uploader.as)).status).toBe(200);
    await deliverAllMessages(queue);
    expect((await analyze(jobId, { header: false }, uploader.as)).status).toBe(200);
    await deliverAllMessages(queue);
    const visibleJob = (await uploader.as.get(`/v1/managed-tables/upload-jobs/${jobId}`)).body;
    expect(visibleJob.inferred_schema.problem).toMatchObject({ field: 'header' });
    expect(JSON.stringify(visibleJob)).not.toContain('segredo');
    await cancelJob(company, jobId);
  });

  it.each([
    [
      'a confirmation',
      (jobId: string, columns: unknown) => confirmJob(company, jobId, { display_name: 'corrida', columns }, queue),
    ],
    ['a cancellation', (jobId: string) => cancelJob(company, jobId)],
    ['another second analysis', (jobId: string) => analyze(jobId, { header: false })],
  ])('is refused when %s comes just before it', async (_, concurrentChange) => {
    const jobId = await aWaitingJob(['a.csv', 'a,b\n1,2\n']);
    const { columns } = (await readJob(company, jobId)).inferred_schema;
    const { outcome } = await runBeforeNextStatement(company.id, /SET status = 'queued'/, () =>
      concurrentChange(jobId, columns),
    );
    expect((await analyze(jobId, { delimiter: ';' })).status).toBe(400);
    expect((await outcome).status).toBe(200);
    await deliverAllMessages(queue);
    expect((await readJob(company, jobId)).inferred_schema).not.toHaveProperty('problem');
    await cancelJob(company, jobId);
  });

  it('makes a later confirmation fail, and keeps the job from expiring', async () => {
    const jobId = await aWaitingJob(['a.csv', 'a,b\n1,2\n']);
    const { columns } = (await readJob(company, jobId)).inferred_schema;
    const first = await runBeforeNextStatement(company.id, /SET status = 'inserting'/, () => analyze(jobId, {}));
    expect((await confirmJob(company, jobId, { display_name: 'corrida_2', columns }, queue)).status).toBe(400);
    expect((await first.outcome).status).toBe(200);
    await deliverAllMessages(queue);
    const finished = await runBeforeNextStatement(company.id, /SET status = 'inserting'/, async () => {
      const answer = await analyze(jobId, { header: false });
      await deliverAllMessages(queue);
      return answer;
    });
    expect((await confirmJob(company, jobId, { display_name: 'corrida_2', columns }, queue)).status).toBe(400);
    expect((await finished.outcome).status).toBe(200);
    const secondAnalysis = await runBeforeNextStatement(company.id, /SELECT status, step, state/, () =>
      analyze(jobId, {}),
    );
    await ageJobByDay(jobId);
    await runSweep(queue, 120_000);
    expect((await secondAnalysis.outcome).status).toBe(200);
    await deliverAllMessages(queue);
    expect(await readJob(company, jobId)).toMatchObject({ status: 'waiting_confirm' });
    await ageJobByDay(jobId);
    await runSweep(queue, 180_000);
    expect(await readJob(company, jobId)).toMatchObject({ status: 'failed', error: { code: 'EXPIRED' } });
  });

  it('is done once, however often its message is delivered, and resumed when its message is lost', async () => {
    const rows = Array.from({ length: 3000 }, (_, n) => `${n};${n},5`).join('\n');
    const jobId = await aWaitingJob(['a.csv', `a;b\n${rows}\n`]);
    expect((await analyze(jobId, { delimiter: ';', header: true })).status).toBe(200);
    const [message] = queue.messages;
    const smallMessages = { ...queue.env, UPLOAD_MESSAGE_BYTES: '1' };
    for (
      let deliveredCount = 0;
      (await readJob(company, jobId)).status !== 'waiting_confirm' && deliveredCount < 50;
      deliveredCount++
    )
      await Promise.all([
        deliverMessage(message as never, smallMessages),
        deliverMessage(message as never, smallMessages),
      ]);
    await deliverAllMessages(queue);
    const job = await readJob(company, jobId);
    expect(job).toMatchObject({ status: 'waiting_confirm', inferred_schema: { total_row_count_estimate: 3000 } });

    // Its message is lost: the scheduled run queues it again.
    expect((await analyze(jobId, { delimiter: ',' })).status).toBe(200);
    queue.messages.length = 0;
    await runSweep(queue, 120_000);
    await deliverAllMessages(queue);
    expect(await readJob(company, jobId)).toMatchObject({
      status: 'waiting_confirm',
      inferred_schema: { dialect: { delimiter: ',' } },
    });
    // Its file is gone.
    await env.FILES.delete((await listStoredFiles(company)).filter((key) => key.includes(jobId)));
    expect((await look(jobId, {})).problem).toMatchObject({ field: 'files' });
    await cancelJob(company, jobId);
  });
});
