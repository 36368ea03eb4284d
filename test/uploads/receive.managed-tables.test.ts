import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { createOwnedCompany, createProvisionedCompany } from '../support/companies.ts';
import { cancelJob, listStoredFiles, makeFile, postFiles, readJob, waitForAnalysis } from './support.ts';

const MIB_BYTES = 1024 * 1024;
const FORM_BOUNDARY = 'a-boundary';
const encoder = new TextEncoder();

const formatPartHead = (filename: string) =>
  `--${FORM_BOUNDARY}\r\nContent-Disposition: form-data; name="files"; filename="${filename}"\r\nContent-Type: text/csv\r\n\r\n`;

/** Streams a form with one file of `bytes` bytes, which are generated as the form is read. */
function streamForm(
  fileBytes: number,
  { filename = 'grande.csv', end = `\r\n--${FORM_BOUNDARY}--\r\n` } = {},
): ReadableStream {
  const block = encoder.encode('1234567,abcdefg\n'.repeat(4096));
  let remainingBytes = fileBytes;
  return new ReadableStream({
    type: 'bytes',
    start: (controller) => controller.enqueue(encoder.encode(formatPartHead(filename))),
    pull(controller) {
      if (remainingBytes > 0) {
        controller.enqueue(block.slice(0, Math.min(remainingBytes, block.length)));
        remainingBytes -= block.length;
        return;
      }
      controller.enqueue(encoder.encode(end));
      controller.close();
      controller.byobRequest?.respond(0);
    },
  });
}

const company = await createProvisionedCompany();

describe('the upload route', () => {
  const postForm = (body: BodyInit, headers: Record<string, string> = {}) =>
    company.as.post('/v1/managed-tables/upload', {
      body,
      headers: { 'content-type': `multipart/form-data; boundary=${FORM_BOUNDARY}`, ...headers },
    });

  async function expectNothingLeft(): Promise<void> {
    expect(await listStoredFiles(company)).toEqual([]);
    expect((await company.as.get('/v1/managed-tables/upload-jobs/active')).body).toEqual({ records: [] });
  }

  it.each(['notas.pdf', 'dados.csv.exe', 'csv', 'sem-extensao', '.csv.txt'])(
    'refuses a file called %s',
    async (name) => {
      const { status, body } = await postFiles(company, [
        makeFile('boa.csv', 'a,b\n1,2\n'),
        makeFile(name, 'a,b\n1,2\n'),
      ]);
      expect({ status, ...body }).toMatchObject({
        status: 422,
        error_code: 'UPLOAD_FILE_TYPE',
        details: { file: name },
      });
      expect(body.error).toMatch(/tipo/);
      await expectNothingLeft();
    },
  );

  it('refuses a form with fields that it does not know, naming them', async () => {
    const form = new FormData();
    for (const name of ['mod', 'file']) form.append(name, 'replace');
    form.append('files', makeFile('boa.csv', 'a,b\n1,2\n'));
    const { status, body } = await company.as.post('/v1/managed-tables/upload', { body: form });
    expect([status, body.details.map(({ field }: { field: string }) => field)]).toEqual([422, ['mod', 'file']]);
    await expectNothingLeft();
  });

  it('refuses options for an existing table where the upload makes a table, and an option that is sent twice', async () => {
    const file = makeFile('boa.csv', 'a,b\n1,2\n');
    const newTable = await postFiles(company, [file], { mode: 'append', evolve: 'add', key: ['a'] });
    expect([newTable.status, newTable.body.details]).toEqual([
      422,
      ['mode', 'evolve', 'key'].map((field) => expect.objectContaining({ field, reason: 'conflict' })),
    ]);
    for (const field of ['mode', 'evolve']) {
      const form = new FormData();
      for (const value of ['append', 'replace']) form.append(field, value);
      form.append('files', file);
      const { status, body } = await company.as.post('/v1/managed-tables/upload', { body: form });
      expect([status, body.details]).toEqual([422, [expect.objectContaining({ field, reason: 'too_many' })]]);
    }
    await expectNothingLeft();
  });

  it('refuses a form without files', async () => {
    const { status, body } = await postFiles(company, []);
    expect({ status, code: body.error_code }).toEqual({ status: 422, code: 'UPLOAD_NO_FILES' });
    // What a browser sends when nobody chose a file.
    const unchosenFile = await postForm(`${formatPartHead('')}\r\n--${FORM_BOUNDARY}--\r\n`);
    expect(unchosenFile.body.error_code).toBe('UPLOAD_NO_FILES');
    await expectNothingLeft();
  });

  it('refuses more than ten files', async () => {
    const files = Array.from({ length: 11 }, (_, index) => makeFile(`${index}.csv`, 'a,b\n1,2\n'));
    const { status, body } = await postFiles(company, files);
    expect({ status, code: body.error_code }).toEqual({ status: 422, code: 'UPLOAD_TOO_MANY_FILES' });
    await expectNothingLeft();
  });

  it('refuses more than 100 MiB, counted by the bytes that arrive where Content-Length says less', async () => {
    const { status, body } = await postForm(streamForm(100 * MIB_BYTES + 1), { 'content-length': '1000' });
    expect({ status, code: body.error_code }).toEqual({ status: 413, code: 'UPLOAD_TOO_LARGE' });
    await expectNothingLeft();
  });

  it('refuses files that exceed 100 MiB together', async () => {
    const halfFile = new Uint8Array(51 * MIB_BYTES).fill(97);
    const { status, body } = await postFiles(company, [makeFile('a.csv', halfFile), makeFile('b.csv', halfFile)]);
    expect({ status, code: body.error_code }).toEqual({ status: 413, code: 'UPLOAD_TOO_LARGE' });
    await expectNothingLeft();
  });

  it.each([
    ['inside a file', streamForm(9 * MIB_BYTES, { end: '' })],
    ['inside a header', `--${FORM_BOUNDARY}\r\nContent-Disposition: form-data; na`],
    ['before its first byte', ''],
  ])('refuses a body that is cut off %s', async (_, body) => {
    const { status, body: answer } = await postForm(body);
    expect(status).toBe(400);
    expect(answer.error).toMatch(/incompleto/);
    await expectNothingLeft();
  });

  it.each(['application/json', 'text/csv', 'multipart/form-data', 'multipart/mixed; boundary=x'])(
    'refuses a body of type %s',
    async (type) => {
      const { status, body } = await postForm('{}', { 'content-type': type });
      expect(status).toBe(400);
      expect(body.error).toMatch(/multipart\/form-data/);
      await expectNothingLeft();
    },
  );

  it.each([
    [8 * MIB_BYTES - 16, ['0']],
    [8 * MIB_BYTES, ['0/0']],
    [8 * MIB_BYTES + 16, ['0/0', '0/1']],
    [16 * MIB_BYTES, ['0/0', '0/1']],
  ])('stores and reads a file of %i bytes in pieces of 8 MiB', async (bytes, pieces) => {
    const { status, body } = await postForm(streamForm(bytes));
    expect(status).toBe(201);
    const folder = `uploads/${company.id}/${body.job_id}/`;
    expect(await listStoredFiles(company)).toEqual(pieces.map((piece) => `${folder}${piece}`));
    const job = await waitForAnalysis(company, body.job_id);
    // Lines of 16 bytes, the first of which is no header.
    expect(job).toMatchObject({ files: [{ size_bytes: bytes, storage_path: `${folder}0` }], error: null });
    expect(job.inferred_schema.total_row_count_estimate).toBe(bytes / 16);
    await cancelJob(company, body.job_id);
    await env.FILES.delete(await listStoredFiles(company));
  });

  it('reports a missing database before a wrong file type', async () => {
    const unprovisionedCompany = await createOwnedCompany();
    const { status, body } = await postFiles(unprovisionedCompany, [makeFile('notas.pdf', 'x')]);
    expect({ status, code: body.error_code }).toEqual({ status: 400, code: 'MANAGED_DATABASE_NOT_PROVISIONED' });
  });

  it('accepts ten files with unsafe names, and stores each under a number', async () => {
    const names = ['../../x.csv', 'C:\\a\\y.CSV', 'a\u0001b.csv', '数据.csv', `${'n'.repeat(1000)}.csv`, 'a"b.csv'];
    const files = [...names, '7.csv', '8.csv', '9.csv', '10.csv'].map((name) =>
      makeFile(name, 'a,b\n1,2\n', 'text/csv; x'),
    );
    const { status, body } = await postFiles(company, files);
    expect({ status, job: body.status }).toEqual({ status: 201, job: 'queued' });
    const job = await readJob(company, body.job_id);
    expect(job.files.map((file: { original_name: string }) => file.original_name).slice(0, 6)).toEqual([
      'x.csv',
      'y.CSV',
      'ab.csv',
      '数据.csv',
      `${'n'.repeat(251)}.csv`,
      'a"b.csv',
    ]);
    expect(job.files[0]).toMatchObject({
      size_bytes: 8,
      mime_type: 'text/csv',
      storage_path: `uploads/${company.id}/${job._id}/0`,
    });
    expect(await listStoredFiles(company)).toHaveLength(10);
  });
});
