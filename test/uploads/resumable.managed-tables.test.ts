import { env } from 'cloudflare:test';
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createTable, makeColumn } from '../managed-tables/support.ts';
import { callApi } from '../support/api.ts';
import { createAllowedUser, createProvisionedCompany } from '../support/companies.ts';
import {
  confirmJob,
  createTestQueue,
  makeCsvTable as csvTable,
  deliverAllMessages,
  listStoredFiles,
  queryDatabase,
  readJob,
  readRows,
  runSweep,
  waitForEnd,
} from './support.ts';
import {
  areEqual,
  beginUpload,
  deleteUpload,
  formatMetadata,
  makeCsvBytes,
  PIECE_BYTES,
  parseOffset,
  parseUploadId,
  readJobBytes,
  readOffset,
  requestUpload,
  sendPart,
  streamSlowly,
  UPLOADS_PATH,
  VERSION_HEADER,
} from './tus.ts';

const createTestQueueEnv = () => createTestQueue().env as never;
const formatDigest = (algorithm: string, bytes: Uint8Array) =>
  `${algorithm} ${createHash(algorithm).update(bytes).digest('base64')}`;

const company = await createProvisionedCompany();

describe('a resumable upload', () => {
  it('becomes an ordinary upload job once its last byte has arrived', async () => {
    const queue = createTestQueue();
    const text = Buffer.from(csvTable(100));
    const path = await beginUpload(company.as, text.length, { metadata: { filetype: 'text/csv', color: 'blue' } });
    const halfLength = text.length >> 1;
    const first = await sendPart(company.as, path, 0, text.subarray(0, halfLength));
    expect([first.status, parseOffset(first), first.headers.get('content-location')]).toEqual([204, halfLength, null]);
    expect(Date.parse(first.headers.get('upload-expires') as string)).toBeGreaterThan(Date.now() + 86_000_000);
    const last = await sendPart(company.as, path, halfLength, text.subarray(halfLength), { env: queue.env as never });
    const jobPath = `/v1/managed-tables/upload-jobs/${parseUploadId(path)}`;
    expect([last.status, parseOffset(last), last.headers.get('content-location')]).toEqual([204, text.length, jobPath]);
    const offsetAfter = await readOffset(company.as, path);
    expect([offsetAfter.status, parseOffset(offsetAfter), offsetAfter.headers.get('content-location')]).toEqual([
      200,
      text.length,
      jobPath,
    ]);
    expect(offsetAfter.headers.get('upload-length')).toBe(String(text.length));
    expect(offsetAfter.headers.get('cache-control')).toBe('no-store');
    expect(offsetAfter.headers.get('upload-metadata')).toBe(
      formatMetadata({ filename: 'vendas.csv', filetype: 'text/csv', color: 'blue' }),
    );
    await deliverAllMessages(queue);
    const analysedJob = await readJob(company, parseUploadId(path));
    expect(analysedJob).toMatchObject({ status: 'waiting_confirm', mode: 'create', source_url: null });
    expect(analysedJob.files).toEqual([
      {
        original_name: 'vendas.csv',
        storage_path: `uploads/${company.id}/${parseUploadId(path)}/0`,
        size_bytes: text.length,
        mime_type: 'text/csv',
      },
    ]);
    await confirmJob(
      company,
      parseUploadId(path),
      { display_name: 'vendas', columns: analysedJob.inferred_schema.columns },
      queue,
    );
    await deliverAllMessages(queue);
    const finishedJob = await waitForEnd(company, parseUploadId(path));
    expect((await readRows(company, finishedJob.user_table_id)).map(({ codigo }) => codigo)).toEqual(
      Array.from({ length: 100 }, (_, row) => row),
    );
  });

  it('may update rows of an existing table by a key', async () => {
    const queue = createTestQueue();
    const tableId = await createTable(company.as, 'destino', [
      makeColumn('codigo', 'integer'),
      makeColumn('nome', 'text'),
    ]);
    const text = Buffer.from('codigo,nome\n1,a\n2,b\n');
    const metadata = { table_id: tableId, mode: 'upsert', key: 'codigo' };
    const path = await beginUpload(company.as, text.length, { metadata, body: text, env: queue.env as never });
    await deliverAllMessages(queue);
    const analysedJob = await readJob(company, parseUploadId(path));
    expect(analysedJob).toMatchObject({
      status: 'waiting_confirm',
      mode: 'upsert',
      key: ['codigo'],
      user_table_id: tableId,
    });
    await confirmJob(company, parseUploadId(path), { columns: analysedJob.inferred_schema.columns }, queue);
    await deliverAllMessages(queue);
    expect(await waitForEnd(company, parseUploadId(path))).toMatchObject({ status: 'done', result: { inserted: 2 } });
  });

  it('may propose new columns for its table', async () => {
    const queue = createTestQueue();
    const tableId = await createTable(company.as, 'crescente', [makeColumn('codigo', 'integer')]);
    const text = Buffer.from('codigo,nome\n1,a\n');
    const metadata = { table_id: tableId, evolve: 'add' };
    const path = await beginUpload(company.as, text.length, { metadata, body: text, env: queue.env as never });
    await deliverAllMessages(queue);
    const { evolve, inferred_schema: schema } = await readJob(company, parseUploadId(path));
    expect([evolve, schema.new_columns]).toEqual(['add', [expect.objectContaining({ name: 'nome' })]]);
  });

  it('accepts its first bytes, or all, with the request that begins it', async () => {
    const bytes = makeCsvBytes(1_000);
    const wholeUpload = await requestUpload(company.as, 1_000, { body: bytes, env: createTestQueueEnv() });
    expect([wholeUpload.status, parseOffset(wholeUpload)]).toEqual([201, 1_000]);
    expect(wholeUpload.headers.get('content-location')).toMatch(/upload-jobs/);
    const partialUpload = await requestUpload(company.as, 1_000, { body: bytes.subarray(0, 10) });
    expect([partialUpload.status, parseOffset(partialUpload), partialUpload.headers.get('content-location')]).toEqual([
      201,
      10,
      null,
    ]);
    await deleteUpload(company.as, partialUpload.headers.get('location') as string);
  });

  it.each([
    ['of one byte', 1, 1],
    ['of a piece', PIECE_BYTES, PIECE_BYTES],
    ['of two pieces and a byte', 2 * PIECE_BYTES + 1, 3_000_003],
    ['of two pieces, by chunks of one', 2 * PIECE_BYTES, PIECE_BYTES],
    ['of a piece and a half, by larger chunks', 1.5 * PIECE_BYTES, PIECE_BYTES + 77],
    ['by one chunk', 2.5 * PIECE_BYTES, 2.5 * PIECE_BYTES],
  ])('arrives byte for byte: %s', async (_, length, chunk) => {
    const bytes = makeCsvBytes(length, chunk);
    const path = await beginUpload(company.as, length);
    for (let at = 0; at < length; at += chunk) {
      const sentPart = await sendPart(company.as, path, at, streamSlowly(bytes.subarray(at, at + chunk)), {
        env: createTestQueueEnv(),
      });
      expect([sentPart.status, parseOffset(sentPart)]).toEqual([204, Math.min(length, at + chunk)]);
    }
    expect(areEqual(await readJobBytes(company, parseUploadId(path)), bytes)).toBe(true);
    // Nothing but its pieces is left.
    const ownFiles = (await listStoredFiles(company)).filter((key) => key.includes(parseUploadId(path)));
    expect(ownFiles).toHaveLength(Math.ceil(length / PIECE_BYTES));
  });

  it('arrives byte for byte by forty small requests', async () => {
    const bytes = makeCsvBytes(4_000);
    const path = await beginUpload(company.as, bytes.length);
    for (let at = 0; at < bytes.length; at += 100) {
      await sendPart(company.as, path, at, bytes.subarray(at, at + 100), { env: createTestQueueEnv() });
    }
    expect(areEqual(await readJobBytes(company, parseUploadId(path)), bytes)).toBe(true);
    expect((await listStoredFiles(company)).filter((key) => key.includes(parseUploadId(path)))).toHaveLength(1);
  });

  it.each([5, PIECE_BYTES + 5, 2 * PIECE_BYTES])(
    'keeps the bytes that arrived before the connection was cut: %i bytes',
    async (cutOffset) => {
      const bytes = makeCsvBytes(2 * PIECE_BYTES + 100);
      const path = await beginUpload(company.as, bytes.length);
      await sendPart(company.as, path, 0, streamSlowly(bytes, { cutOffset })).catch(() => {});
      expect(parseOffset(await readOffset(company.as, path))).toBe(cutOffset);
      await sendPart(company.as, path, cutOffset, streamSlowly(bytes.subarray(cutOffset)), {
        env: createTestQueueEnv(),
      });
      expect(areEqual(await readJobBytes(company, parseUploadId(path)), bytes)).toBe(true);
    },
  );

  it('becomes a job that fails when it has no bytes', async () => {
    const queue = createTestQueue();
    const { status, headers } = await requestUpload(company.as, 0, { env: queue.env as never });
    expect([status, headers.get('upload-offset')]).toEqual([201, '0']);
    const id = parseUploadId(headers.get('content-location') as string);
    await deliverAllMessages(queue);
    expect(await readJob(company, id)).toMatchObject({ status: 'failed', error: { code: expect.any(String) } });
  });

  describe('with a checksum', () => {
    it.each(['sha1', 'sha256', 'md5'])('accepts bytes that match the checksum: %s', async (algorithm) => {
      const bytes = makeCsvBytes(2_000);
      const path = await beginUpload(company.as, 2_000);
      const headers = { 'upload-checksum': formatDigest(algorithm, bytes.subarray(0, 1_500)) };
      const sentPart = await sendPart(company.as, path, 0, bytes.subarray(0, 1_500), { headers });
      expect([sentPart.status, parseOffset(sentPart)]).toEqual([204, 1_500]);
      await deleteUpload(company.as, path);
    });

    it('keeps no bytes of a request that does not match its checksum, not even whole pieces', async () => {
      const bytes = makeCsvBytes(2 * PIECE_BYTES + 10);
      const path = await beginUpload(company.as, bytes.length);
      await sendPart(company.as, path, 0, bytes.subarray(0, 5));
      const headers = { 'upload-checksum': formatDigest('sha1', makeCsvBytes(10)) };
      const refusedPart = await sendPart(company.as, path, 5, streamSlowly(bytes.subarray(5)), { headers });
      expect([refusedPart.status, refusedPart.body.error_code]).toEqual([460, 'UPLOAD_CHECKSUM_MISMATCH']);
      expect(parseOffset(await readOffset(company.as, path))).toBe(5);
      expect((await listStoredFiles(company)).filter((key) => key.includes(parseUploadId(path)))).toHaveLength(1);
      const right = { 'upload-checksum': formatDigest('sha256', bytes.subarray(5)) };
      await sendPart(company.as, path, 5, streamSlowly(bytes.subarray(5)), {
        headers: right,
        env: createTestQueueEnv(),
      });
      expect(areEqual(await readJobBytes(company, parseUploadId(path)), bytes)).toBe(true);
    });

    it('keeps no bytes of a request that is cut off', async () => {
      const bytes = makeCsvBytes(PIECE_BYTES + 100);
      const path = await beginUpload(company.as, bytes.length);
      const headers = { 'upload-checksum': formatDigest('sha1', bytes) };
      await sendPart(company.as, path, 0, streamSlowly(bytes, { cutOffset: PIECE_BYTES + 50 }), { headers }).catch(
        () => {},
      );
      expect(parseOffset(await readOffset(company.as, path))).toBe(0);
      await deleteUpload(company.as, path);
    });

    it('is not begun with bytes that do not match the checksum', async () => {
      const fileCountBefore = (await listStoredFiles(company)).length;
      const headers = { 'upload-checksum': formatDigest('sha1', makeCsvBytes(10)) };
      const { status, body } = await requestUpload(company.as, 100, { headers, body: makeCsvBytes(50) });
      expect([status, body.error_code]).toEqual([460, 'UPLOAD_CHECKSUM_MISMATCH']);
      expect(await listStoredFiles(company)).toHaveLength(fileCountBefore);
    });

    it.each(['crc32 AAAA', 'sha1', 'sha1 ü', 'toString AAAA'])(
      'refuses the malformed or unknown checksum %s',
      async (checksumHeader) => {
        const path = await beginUpload(company.as, 10);
        const { status, body } = await sendPart(company.as, path, 0, makeCsvBytes(10), {
          headers: { 'upload-checksum': Buffer.from(checksumHeader).toString('latin1') },
        });
        expect([status, body.error_code, body.details.field]).toEqual([400, 'UPLOAD_HEADER', 'Upload-Checksum']);
        await deleteUpload(company.as, path);
      },
    );
  });

  describe('refuses', () => {
    it.each<[string, Record<string, string>, number, string]>([
      ['another version of the protocol', { 'tus-resumable': '0.2.2' }, 412, 'TUS_VERSION_NOT_SUPPORTED'],
      ['a deferred length', { 'upload-defer-length': '1' }, 400, 'UPLOAD_HEADER'],
      ['no length', { 'upload-length': '' }, 400, 'UPLOAD_HEADER'],
      ['a negative length', { 'upload-length': '-1' }, 400, 'UPLOAD_HEADER'],
      ['a length of 5 GiB and a byte', { 'upload-length': String(5 * 1024 ** 3 + 1) }, 413, 'UPLOAD_TOO_LARGE'],
      ['a length of a thousand digits', { 'upload-length': '9'.repeat(1_000) }, 413, 'UPLOAD_TOO_LARGE'],
      ['metadata that is no base64', { 'upload-metadata': 'filename ???' }, 400, 'UPLOAD_HEADER'],
      ['metadata that is no text', { 'upload-metadata': 'filename /w==' }, 400, 'UPLOAD_HEADER'],
      [
        'the same metadata key twice',
        { 'upload-metadata': 'filename YS5jc3Y=,filename Yi5jc3Y=' },
        400,
        'UPLOAD_HEADER',
      ],
      ['20 KB of metadata', { 'upload-metadata': `filename YS5jc3Y=,x ${'A'.repeat(20_000)}` }, 400, 'UPLOAD_HEADER'],
      ['a file without a name', { 'upload-metadata': 'filename' }, 422, 'VALIDATION_ERROR'],
      ['no metadata', { 'upload-metadata': '' }, 422, 'VALIDATION_ERROR'],
      ['another type of file', { 'upload-metadata': formatMetadata({ filename: 'a.exe' }) }, 422, 'UPLOAD_FILE_TYPE'],
    ])('to begin with %s', async (_, headers, status, code) => {
      const answer = await requestUpload(company.as, 10, { headers });
      expect([answer.status, answer.body.error_code]).toEqual([status, code]);
      expect(answer.headers.get('tus-resumable')).toBe('1.0.0');
      expect(answer.headers.get('tus-version')).toBe('1.0.0');
    });

    it.each<[string, Record<string, string>, number]>([
      ['a table that does not exist', { table_id: 'f'.repeat(24) }, 404],
      ['a malformed table id', { table_id: '../x' }, 404],
      ['a mode without a table', { mode: 'append' }, 422],
      ['a key without a table', { key: 'a' }, 422],
      ['new columns without a table', { evolve: 'add' }, 422],
    ])('to begin for %s', async (_, metadata, status) => {
      expect((await requestUpload(company.as, 10, { metadata })).status).toBe(status);
    });

    it.each<[string, Record<string, string>]>([
      ['an unknown mode', { mode: 'merge' }],
      ['an unknown value of evolve', { evolve: 'all' }],
      ['a key that is not a column', { mode: 'upsert', key: 'x' }],
      ['a key in the mode append', { key: 'codigo' }],
    ])('to begin for a table with %s', async (_, metadata) => {
      const table_id = await createTable(company.as, `t_${crypto.randomUUID().slice(0, 8)}`, [
        makeColumn('codigo', 'integer'),
      ]);
      expect((await requestUpload(company.as, 10, { metadata: { table_id, ...metadata } })).status).toBe(422);
    });

    it('bytes of another type, offset or length, with an error code for each', async () => {
      const path = await beginUpload(company.as, 10);
      const sendAndRead = async (offset: string, body: BodyInit, headers: Record<string, string> = {}) => {
        const answer = await sendPart(company.as, path, 0, body, { headers: { 'upload-offset': offset, ...headers } });
        return [answer.status, answer.body.error_code];
      };
      const bytes = makeCsvBytes(10);
      expect(await sendAndRead('0', bytes, { 'content-type': 'text/csv' })).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
      expect(await sendAndRead('0', bytes, { 'tus-resumable': '' })).toEqual([412, 'TUS_VERSION_NOT_SUPPORTED']);
      expect(await sendAndRead('', bytes)).toEqual([400, 'UPLOAD_HEADER']);
      expect(await sendAndRead('1e3', bytes)).toEqual([400, 'UPLOAD_HEADER']);
      expect(await sendAndRead(String(2 ** 53), bytes)).toEqual([400, 'UPLOAD_HEADER']);
      expect(await sendAndRead('5', bytes)).toEqual([409, 'UPLOAD_OFFSET_CONFLICT']);
      expect(await sendAndRead('0', makeCsvBytes(11))).toEqual([413, 'UPLOAD_BEYOND_LENGTH']);
      expect(await sendAndRead('0', streamSlowly(makeCsvBytes(11), { chunkSize: 10 }))).toEqual([
        413,
        'UPLOAD_BEYOND_LENGTH',
      ]);
      expect(parseOffset(await readOffset(company.as, path))).toBe(0);
      expect(await sendAndRead('0', bytes, { 'upload-checksum': formatDigest('md5', bytes) })).toEqual([
        204,
        undefined,
      ]);
      expect(await sendAndRead('10', bytes)).toEqual([413, 'UPLOAD_BEYOND_LENGTH']);
      expect(await sendAndRead('0', bytes)).toEqual([409, 'UPLOAD_OFFSET_CONFLICT']);
    });

    it('bytes beyond the length of a finished upload, and answers the upload where no byte is sent', async () => {
      const queueEnv = createTestQueueEnv();
      for (const length of [0, 8]) {
        const path = await beginUpload(company.as, length, { env: queueEnv });
        if (length > 0) await sendPart(company.as, path, 0, makeCsvBytes(length), { env: queueEnv });
        for (const body of ['x', streamSlowly(makeCsvBytes(1))]) {
          const refusedPart = await sendPart(company.as, path, length, body);
          expect([refusedPart.status, refusedPart.body.error_code]).toEqual([413, 'UPLOAD_BEYOND_LENGTH']);
        }
        // Its job has ended, and its bytes are gone.
        const keys = (await listStoredFiles(company)).filter((key) => key.includes(parseUploadId(path)));
        await env.FILES.delete(keys);
        for (const body of ['', streamSlowly(makeCsvBytes(0))]) {
          const { status, headers } = await sendPart(company.as, path, length, body);
          expect([status, headers.get('upload-offset'), headers.get('content-location')]).toEqual([
            204,
            String(length),
            `/v1/managed-tables/upload-jobs/${parseUploadId(path)}`,
          ]);
        }
      }
      const { status, body } = await requestUpload(company.as, 0, { body: 'x', env: queueEnv });
      expect([status, body.error_code]).toEqual([413, 'UPLOAD_BEYOND_LENGTH']);
    });

    it('more bytes than its length, and keeps none of them, even where its length is a whole piece', async () => {
      const path = await beginUpload(company.as, PIECE_BYTES);
      const refusedPart = await sendPart(
        company.as,
        path,
        0,
        streamSlowly(makeCsvBytes(PIECE_BYTES + 1), { chunkSize: PIECE_BYTES }),
      );
      expect(refusedPart.status).toBe(413);
      const offsetAfter = await readOffset(company.as, path);
      expect([parseOffset(offsetAfter), offsetAfter.headers.get('content-location')]).toEqual([0, null]);
      await deleteUpload(company.as, path);
    });

    it('bytes beyond its length in the request that begins it, and stores nothing', async () => {
      const fileCountBefore = (await listStoredFiles(company)).length;
      expect((await requestUpload(company.as, 10, { body: makeCsvBytes(11) })).status).toBe(413);
      expect(
        (await requestUpload(company.as, 10, { body: makeCsvBytes(5), headers: { 'content-type': 'text/csv' } }))
          .status,
      ).toBe(415);
      expect(await listStoredFiles(company)).toHaveLength(fileCountBefore);
    });

    it('requests for an unknown or malformed id', async () => {
      for (const id of ['x', 'f'.repeat(24), '%00']) {
        expect((await readOffset(company.as, `${UPLOADS_PATH}/${id}`)).status).toBe(404);
        expect((await sendPart(company.as, `${UPLOADS_PATH}/${id}`, 0, makeCsvBytes(1))).status).toBe(404);
        expect((await deleteUpload(company.as, `${UPLOADS_PATH}/${id}`)).status).toBe(404);
      }
    });
  });

  it('accepts a request without a body, which adds no bytes', async () => {
    const path = await beginUpload(company.as, 10);
    const { status, headers } = await company.as.patch(path, {
      headers: { ...VERSION_HEADER, 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' },
    });
    expect([status, headers.get('upload-offset')]).toEqual([204, '0']);
    await deleteUpload(company.as, path);
  });

  it('accepts bytes by POST with X-HTTP-Method-Override: PATCH', async () => {
    const path = await beginUpload(company.as, 10);
    const headers = { ...VERSION_HEADER, 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' };
    const postBytes = (otherHeaders: Record<string, string>) =>
      company.as.post(path, { headers: { ...headers, ...otherHeaders }, body: makeCsvBytes(4) });
    expect((await postBytes({})).status).toBe(400);
    expect((await postBytes({ 'x-http-method-override': 'GET' })).status).toBe(400);
    expect((await postBytes({ 'x-http-method-override': 'PATCH' })).headers.get('upload-offset')).toBe('4');
    await deleteUpload(company.as, path);
  });

  it('is read and deleted by POST with X-HTTP-Method-Override: HEAD or DELETE', async () => {
    const path = await beginUpload(company.as, 10);
    const postOverride = (method: string) =>
      company.as.post(path, { headers: { ...VERSION_HEADER, 'x-http-method-override': method } });
    const headAnswer = await postOverride('HEAD');
    expect([
      headAnswer.status,
      headAnswer.headers.get('upload-offset'),
      headAnswer.headers.get('upload-length'),
    ]).toEqual([204, '0', '10']);
    expect((await postOverride('DELETE')).status).toBe(204);
    expect((await readOffset(company.as, path)).status).toBe(404);
  });

  it('is begun once per idempotency key, and refused when its headers differ', async () => {
    const key = { 'idempotency-key': crypto.randomUUID() };
    const first = await requestUpload(company.as, 10, { headers: key });
    const repeatedUpload = await requestUpload(company.as, 10, { headers: key });
    expect(repeatedUpload.headers.get('location')).toBe(first.headers.get('location'));
    expect(repeatedUpload.headers.get('idempotency-replayed')).toBe('true');
    expect((await requestUpload(company.as, 11, { headers: key })).status).toBe(422);
    await deleteUpload(company.as, first.headers.get('location') as string);
  });

  it('answers HEAD with its offset and no body', async () => {
    const path = await beginUpload(company.as, 10);
    const authorization = { authorization: `Bearer ${company.token}` };
    const headAnswer = await callApi('HEAD', path, { headers: { ...VERSION_HEADER, ...authorization } });
    expect([headAnswer.status, headAnswer.headers.get('upload-offset'), headAnswer.body]).toEqual([200, '0', '']);
    expect((await callApi('HEAD', path, { headers: authorization })).status).toBe(412);
    await deleteUpload(company.as, path);
  });

  it('is deleted with its bytes, or without its job and bytes once it is complete', async () => {
    const path = await beginUpload(company.as, 10);
    await sendPart(company.as, path, 0, makeCsvBytes(4));
    expect((await deleteUpload(company.as, path)).status).toBe(204);
    expect((await readOffset(company.as, path)).status).toBe(404);
    expect((await sendPart(company.as, path, 4, makeCsvBytes(4))).status).toBe(404);
    expect((await deleteUpload(company.as, path)).status).toBe(404);
    expect((await listStoredFiles(company)).filter((key) => key.includes(parseUploadId(path)))).toEqual([]);

    const completeUpload = await beginUpload(company.as, 10, { body: makeCsvBytes(10), env: createTestQueueEnv() });
    expect((await deleteUpload(company.as, completeUpload)).status).toBe(204);
    expect((await readJob(company, parseUploadId(completeUpload))).status).toBe('queued');
    expect((await readOffset(company.as, completeUpload)).status).toBe(404);
    expect((await readJobBytes(company, parseUploadId(completeUpload))).length).toBe(10);
  });

  it('is visible only to the user who began it', async () => {
    const other = await createAllowedUser(company, { can: ['managed-tables:*'] });
    const path = await beginUpload(company.as, 10);
    expect((await readOffset(other.as, path)).status).toBe(404);
    expect((await sendPart(other.as, path, 0, makeCsvBytes(1))).status).toBe(404);
    expect((await deleteUpload(other.as, path)).status).toBe(404);
    expect((await deleteUpload(company.as, path)).status).toBe(204);
  });

  it('answers OPTIONS of any origin with its protocol version, extensions and CORS headers', async () => {
    for (const path of [UPLOADS_PATH, `${UPLOADS_PATH}/x`]) {
      const { status, headers } = await callApi('OPTIONS', path, { headers: { origin: 'https://page.test' } });
      expect(status).toBe(204);
      expect(Object.fromEntries(headers)).toMatchObject({
        'tus-resumable': '1.0.0',
        'tus-version': '1.0.0',
        'tus-max-size': String(5 * 1024 ** 3),
        'tus-extension': 'creation,creation-with-upload,checksum,expiration,termination',
        'tus-checksum-algorithm': 'sha1,sha256,md5',
      });
      const listHeaderNames = (header: string) => headers.get(header)?.split(',') ?? [];
      const requestHeaders = [
        'Authorization',
        'Tus-Resumable',
        'Upload-Length',
        'Upload-Defer-Length',
        'Upload-Metadata',
        'Upload-Offset',
        'Upload-Checksum',
        'X-HTTP-Method-Override',
      ];
      expect(listHeaderNames('access-control-allow-headers')).toEqual(expect.arrayContaining(requestHeaders));
      const responseHeaders = [
        'Location',
        'Content-Location',
        'Upload-Offset',
        'Upload-Length',
        'Upload-Expires',
        'Tus-Version',
      ];
      expect(listHeaderNames('access-control-expose-headers')).toEqual(expect.arrayContaining(responseHeaders));
    }
    const other = await callApi('OPTIONS', '/v1/managed-tables', {});
    expect(other.headers.get('tus-version')).toBeNull();
  });

  it('expires no later when a request adds no byte to it', async () => {
    const path = await beginUpload(company.as, 10);
    await sendPart(company.as, path, 0, makeCsvBytes(4));
    await queryDatabase(company, (database) =>
      database.execute(
        `UPDATE console.resumable_uploads SET updated_at = now() - interval '1 h' WHERE id = '${parseUploadId(path)}'`,
      ),
    );
    const readExpiry = ({ headers }: { headers: Headers }) => headers.get('upload-expires');
    const expiry = readExpiry(await readOffset(company.as, path));
    expect(readExpiry(await sendPart(company.as, path, 4, makeCsvBytes(0)))).toBe(expiry);
    expect(readExpiry(await readOffset(company.as, path))).toBe(expiry);
  });

  it('is deleted, with its bytes, after 24 hours without a new byte', async () => {
    const path = await beginUpload(company.as, 10);
    await sendPart(company.as, path, 0, makeCsvBytes(4));
    const queue = createTestQueue();
    const HOUR_MS = 3_600_000;
    await runSweep(queue, 23 * HOUR_MS);
    expect((await readOffset(company.as, path)).status).toBe(200);
    expect((await listStoredFiles(company)).filter((key) => key.includes(parseUploadId(path)))).toHaveLength(1);
    await runSweep(queue, 24 * HOUR_MS + 120_000);
    expect((await readOffset(company.as, path)).status).toBe(404);
    expect((await listStoredFiles(company)).filter((key) => key.includes(parseUploadId(path)))).toEqual([]);
  });
});

it('a company has at most twenty unfinished resumable uploads', async () => {
  const company = await createProvisionedCompany();
  const paths: string[] = [];
  for (let count = 0; count < 20; count += 1) paths.push(await beginUpload(company.as, 10));
  const refusedUpload = await requestUpload(company.as, 10);
  expect([refusedUpload.status, refusedUpload.body.details.reason]).toEqual([429, 'resumable_upload.too_many']);
  await deleteUpload(company.as, paths[0] as string);
  paths[0] = await beginUpload(company.as, 10);
  await sendPart(company.as, paths[1] as string, 0, makeCsvBytes(10), { env: createTestQueueEnv() });
  await beginUpload(company.as, 10);
  expect((await requestUpload(company.as, 10)).status).toBe(429);
});
