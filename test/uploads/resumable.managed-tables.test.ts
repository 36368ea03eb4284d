import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { column, createTable } from '../managed-tables/support.ts';
import { call } from '../support/api.ts';
import { aProvisionedCompany, aUser, type Company } from '../support/worlds.ts';
import {
  confirmJob,
  createHeldQueue,
  makeCsvTable as csvTable,
  deliverAllMessages,
  listStoredFiles,
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
  PIECE,
  parseOffset,
  parseUploadId,
  readJobBytes,
  readOffset,
  requestUpload,
  sendPart,
  streamSlowly,
  UPLOADS_PATH,
  VERSION,
} from './tus.ts';

const heldQueueEnv = () => createHeldQueue().env as never;
const formatDigest = (algorithm: string, bytes: Uint8Array) =>
  `${algorithm} ${createHash(algorithm).update(bytes).digest('base64')}`;

describe('a resumable upload', () => {
  let company: Company;
  beforeAll(async () => {
    company = await aProvisionedCompany();
  });

  it('becomes an ordinary upload job once its last byte has arrived', async () => {
    const queue = createHeldQueue();
    const text = Buffer.from(csvTable(100));
    const path = await beginUpload(company.as, text.length, { said: { filetype: 'text/csv', color: 'blue' } });
    const half = text.length >> 1;
    const first = await sendPart(company.as, path, 0, text.subarray(0, half));
    expect([first.status, parseOffset(first), first.headers.get('content-location')]).toEqual([204, half, null]);
    expect(Date.parse(first.headers.get('upload-expires') as string)).toBeGreaterThan(Date.now() + 86_000_000);
    const last = await sendPart(company.as, path, half, text.subarray(half), { env: queue.env as never });
    const job = `/v1/managed-tables/upload-jobs/${parseUploadId(path)}`;
    expect([last.status, parseOffset(last), last.headers.get('content-location')]).toEqual([204, text.length, job]);
    const after = await readOffset(company.as, path);
    expect([after.status, parseOffset(after), after.headers.get('content-location')]).toEqual([200, text.length, job]);
    expect(after.headers.get('upload-length')).toBe(String(text.length));
    expect(after.headers.get('cache-control')).toBe('no-store');
    expect(after.headers.get('upload-metadata')).toBe(
      formatMetadata({ filename: 'vendas.csv', filetype: 'text/csv', color: 'blue' }),
    );
    await deliverAllMessages(queue);
    const read = await readJob(company, parseUploadId(path));
    expect(read).toMatchObject({ status: 'waiting_confirm', mode: 'create', source_url: null });
    expect(read.files).toEqual([
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
      { display_name: 'vendas', columns: read.inferred_schema.columns },
      queue,
    );
    await deliverAllMessages(queue);
    const done = await waitForEnd(company, parseUploadId(path));
    expect((await readRows(company, done.user_table_id)).map(({ codigo }) => codigo)).toEqual(
      Array.from({ length: 100 }, (_, row) => row),
    );
  });

  it('may update rows of an existing table by a key', async () => {
    const queue = createHeldQueue();
    const tableId = await createTable(company.as, 'destino', [column('codigo', 'integer'), column('nome', 'text')]);
    const text = Buffer.from('codigo,nome\n1,a\n2,b\n');
    const said = { table_id: tableId, mode: 'upsert', key: 'codigo' };
    const path = await beginUpload(company.as, text.length, { said, body: text, env: queue.env as never });
    await deliverAllMessages(queue);
    const read = await readJob(company, parseUploadId(path));
    expect(read).toMatchObject({ status: 'waiting_confirm', mode: 'upsert', key: ['codigo'], user_table_id: tableId });
    await confirmJob(company, parseUploadId(path), { columns: read.inferred_schema.columns }, queue);
    await deliverAllMessages(queue);
    expect(await waitForEnd(company, parseUploadId(path))).toMatchObject({ status: 'done', result: { inserted: 2 } });
  });

  it('may propose new columns for its table', async () => {
    const queue = createHeldQueue();
    const tableId = await createTable(company.as, 'crescente', [column('codigo', 'integer')]);
    const text = Buffer.from('codigo,nome\n1,a\n');
    const said = { table_id: tableId, evolve: 'add' };
    const path = await beginUpload(company.as, text.length, { said, body: text, env: queue.env as never });
    await deliverAllMessages(queue);
    const { evolve, inferred_schema: schema } = await readJob(company, parseUploadId(path));
    expect([evolve, schema.new_columns]).toEqual(['add', [expect.objectContaining({ name: 'nome' })]]);
  });

  it('accepts its first bytes, or all, with the request that begins it', async () => {
    const bytes = makeCsvBytes(1_000);
    const whole = await requestUpload(company.as, 1_000, { body: bytes, env: heldQueueEnv() });
    expect([whole.status, parseOffset(whole)]).toEqual([201, 1_000]);
    expect(whole.headers.get('content-location')).toMatch(/upload-jobs/);
    const some = await requestUpload(company.as, 1_000, { body: bytes.subarray(0, 10) });
    expect([some.status, parseOffset(some), some.headers.get('content-location')]).toEqual([201, 10, null]);
    await deleteUpload(company.as, some.headers.get('location') as string);
  });

  it.each([
    ['of one byte', 1, 1],
    ['of a piece', PIECE, PIECE],
    ['of two pieces and a byte', 2 * PIECE + 1, 3_000_003],
    ['of two pieces, by chunks of one', 2 * PIECE, PIECE],
    ['of a piece and a half, by larger chunks', 1.5 * PIECE, PIECE + 77],
    ['by one chunk', 2.5 * PIECE, 2.5 * PIECE],
  ])('arrives byte for byte: %s', async (_, length, chunk) => {
    const bytes = makeCsvBytes(length, chunk);
    const path = await beginUpload(company.as, length);
    for (let at = 0; at < length; at += chunk) {
      const sent = await sendPart(company.as, path, at, streamSlowly(bytes.subarray(at, at + chunk)), {
        env: heldQueueEnv(),
      });
      expect([sent.status, parseOffset(sent)]).toEqual([204, Math.min(length, at + chunk)]);
    }
    expect(areEqual(await readJobBytes(company, parseUploadId(path)), bytes)).toBe(true);
    // Nothing but its pieces is left.
    const own = (await listStoredFiles(company)).filter((key) => key.includes(parseUploadId(path)));
    expect(own).toHaveLength(Math.ceil(length / PIECE));
  });

  it('arrives byte for byte by forty small requests', async () => {
    const bytes = makeCsvBytes(4_000);
    const path = await beginUpload(company.as, bytes.length);
    for (let at = 0; at < bytes.length; at += 100) {
      await sendPart(company.as, path, at, bytes.subarray(at, at + 100), { env: heldQueueEnv() });
    }
    expect(areEqual(await readJobBytes(company, parseUploadId(path)), bytes)).toBe(true);
    expect((await listStoredFiles(company)).filter((key) => key.includes(parseUploadId(path)))).toHaveLength(1);
  });

  it.each([5, PIECE + 5, 2 * PIECE])(
    'keeps the bytes that arrived before the connection was cut: %i bytes',
    async (cutAfter) => {
      const bytes = makeCsvBytes(2 * PIECE + 100);
      const path = await beginUpload(company.as, bytes.length);
      await sendPart(company.as, path, 0, streamSlowly(bytes, { cutAfter })).catch(() => {});
      expect(parseOffset(await readOffset(company.as, path))).toBe(cutAfter);
      await sendPart(company.as, path, cutAfter, streamSlowly(bytes.subarray(cutAfter)), { env: heldQueueEnv() });
      expect(areEqual(await readJobBytes(company, parseUploadId(path)), bytes)).toBe(true);
    },
  );

  it('becomes a job that fails when it has no bytes', async () => {
    const queue = createHeldQueue();
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
      const sent = await sendPart(company.as, path, 0, bytes.subarray(0, 1_500), { headers });
      expect([sent.status, parseOffset(sent)]).toEqual([204, 1_500]);
      await deleteUpload(company.as, path);
    });

    it('keeps no bytes of a request that does not match its checksum, nor whole pieces of them', async () => {
      const bytes = makeCsvBytes(2 * PIECE + 10);
      const path = await beginUpload(company.as, bytes.length);
      await sendPart(company.as, path, 0, bytes.subarray(0, 5));
      const headers = { 'upload-checksum': formatDigest('sha1', makeCsvBytes(10)) };
      const refused = await sendPart(company.as, path, 5, streamSlowly(bytes.subarray(5)), { headers });
      expect([refused.status, refused.body.error_code]).toEqual([460, 'UPLOAD_CHECKSUM_MISMATCH']);
      expect(parseOffset(await readOffset(company.as, path))).toBe(5);
      expect((await listStoredFiles(company)).filter((key) => key.includes(parseUploadId(path)))).toHaveLength(1);
      const right = { 'upload-checksum': formatDigest('sha256', bytes.subarray(5)) };
      await sendPart(company.as, path, 5, streamSlowly(bytes.subarray(5)), { headers: right, env: heldQueueEnv() });
      expect(areEqual(await readJobBytes(company, parseUploadId(path)), bytes)).toBe(true);
    });

    it('keeps no bytes of a request that is cut off', async () => {
      const bytes = makeCsvBytes(PIECE + 100);
      const path = await beginUpload(company.as, bytes.length);
      const headers = { 'upload-checksum': formatDigest('sha1', bytes) };
      await sendPart(company.as, path, 0, streamSlowly(bytes, { cutAfter: PIECE + 50 }), { headers }).catch(() => {});
      expect(parseOffset(await readOffset(company.as, path))).toBe(0);
      await deleteUpload(company.as, path);
    });

    it('is not begun with bytes that do not match the checksum', async () => {
      const before = (await listStoredFiles(company)).length;
      const headers = { 'upload-checksum': formatDigest('sha1', makeCsvBytes(10)) };
      const { status, body } = await requestUpload(company.as, 100, { headers, body: makeCsvBytes(50) });
      expect([status, body.error_code]).toEqual([460, 'UPLOAD_CHECKSUM_MISMATCH']);
      expect(await listStoredFiles(company)).toHaveLength(before);
    });

    it.each(['crc32 AAAA', 'sha1', 'sha1 ü', 'toString AAAA'])(
      'refuses the malformed or unknown checksum %s',
      async (said) => {
        const path = await beginUpload(company.as, 10);
        const { status, body } = await sendPart(company.as, path, 0, makeCsvBytes(10), {
          headers: { 'upload-checksum': Buffer.from(said).toString('latin1') },
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
    ])('to begin for %s', async (_, said, status) => {
      expect((await requestUpload(company.as, 10, { said })).status).toBe(status);
    });

    it.each<[string, Record<string, string>]>([
      ['an unknown mode', { mode: 'merge' }],
      ['an unknown value of evolve', { evolve: 'all' }],
      ['a key that is not a column', { mode: 'upsert', key: 'x' }],
      ['a key in the mode append', { key: 'codigo' }],
    ])('to begin for a table with %s', async (_, said) => {
      const table_id = await createTable(company.as, `t_${crypto.randomUUID().slice(0, 8)}`, [
        column('codigo', 'integer'),
      ]);
      expect((await requestUpload(company.as, 10, { said: { table_id, ...said } })).status).toBe(422);
    });

    it('bytes of another type, offset or length, with an error code for each', async () => {
      const path = await beginUpload(company.as, 10);
      const answers = async (offset: string, body: BodyInit, headers: Record<string, string> = {}) => {
        const answer = await sendPart(company.as, path, 0, body, { headers: { 'upload-offset': offset, ...headers } });
        return [answer.status, answer.body.error_code];
      };
      const bytes = makeCsvBytes(10);
      expect(await answers('0', bytes, { 'content-type': 'text/csv' })).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
      expect(await answers('0', bytes, { 'tus-resumable': '' })).toEqual([412, 'TUS_VERSION_NOT_SUPPORTED']);
      expect(await answers('', bytes)).toEqual([400, 'UPLOAD_HEADER']);
      expect(await answers('1e3', bytes)).toEqual([400, 'UPLOAD_HEADER']);
      expect(await answers(String(2 ** 53), bytes)).toEqual([400, 'UPLOAD_HEADER']);
      expect(await answers('5', bytes)).toEqual([409, 'UPLOAD_OFFSET_CONFLICT']);
      expect(await answers('0', makeCsvBytes(11))).toEqual([413, 'UPLOAD_BEYOND_LENGTH']);
      expect(await answers('0', streamSlowly(makeCsvBytes(11), { chunk: 10 }))).toEqual([413, 'UPLOAD_BEYOND_LENGTH']);
      expect(parseOffset(await readOffset(company.as, path))).toBe(0);
      expect(await answers('0', bytes, { 'upload-checksum': formatDigest('md5', bytes) })).toEqual([204, undefined]);
      expect(await answers('10', bytes)).toEqual([409, 'UPLOAD_OFFSET_CONFLICT']);
      expect(await answers('0', bytes)).toEqual([409, 'UPLOAD_OFFSET_CONFLICT']);
    });

    it('more bytes than its length, and keeps none, even where its length is a whole piece', async () => {
      const path = await beginUpload(company.as, PIECE);
      const refused = await sendPart(company.as, path, 0, streamSlowly(makeCsvBytes(PIECE + 1), { chunk: PIECE }));
      expect(refused.status).toBe(413);
      const after = await readOffset(company.as, path);
      expect([parseOffset(after), after.headers.get('content-location')]).toEqual([0, null]);
      await deleteUpload(company.as, path);
    });

    it('bytes beyond its length in the request that begins it, and stores nothing', async () => {
      const before = (await listStoredFiles(company)).length;
      expect((await requestUpload(company.as, 10, { body: makeCsvBytes(11) })).status).toBe(413);
      expect(
        (await requestUpload(company.as, 10, { body: makeCsvBytes(5), headers: { 'content-type': 'text/csv' } }))
          .status,
      ).toBe(415);
      expect(await listStoredFiles(company)).toHaveLength(before);
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
      headers: { ...VERSION, 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' },
    });
    expect([status, headers.get('upload-offset')]).toEqual([204, '0']);
    await deleteUpload(company.as, path);
  });

  it('accepts bytes by POST with X-HTTP-Method-Override: PATCH', async () => {
    const path = await beginUpload(company.as, 10);
    const headers = { ...VERSION, 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' };
    const post = (more: Record<string, string>) =>
      company.as.post(path, { headers: { ...headers, ...more }, body: makeCsvBytes(4) });
    expect((await post({})).status).toBe(400);
    expect((await post({ 'x-http-method-override': 'GET' })).status).toBe(400);
    expect((await post({ 'x-http-method-override': 'PATCH' })).headers.get('upload-offset')).toBe('4');
    await deleteUpload(company.as, path);
  });

  it('is read and deleted by POST with X-HTTP-Method-Override: HEAD or DELETE', async () => {
    const path = await beginUpload(company.as, 10);
    const post = (method: string) =>
      company.as.post(path, { headers: { ...VERSION, 'x-http-method-override': method } });
    const read = await post('HEAD');
    expect([read.status, read.headers.get('upload-offset'), read.headers.get('upload-length')]).toEqual([
      204,
      '0',
      '10',
    ]);
    expect((await post('DELETE')).status).toBe(204);
    expect((await readOffset(company.as, path)).status).toBe(404);
  });

  it('is begun once per idempotency key, and refused when its headers differ', async () => {
    const key = { 'idempotency-key': crypto.randomUUID() };
    const first = await requestUpload(company.as, 10, { headers: key });
    const again = await requestUpload(company.as, 10, { headers: key });
    expect(again.headers.get('location')).toBe(first.headers.get('location'));
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect((await requestUpload(company.as, 11, { headers: key })).status).toBe(422);
    await deleteUpload(company.as, first.headers.get('location') as string);
  });

  it('answers HEAD with its offset and no body', async () => {
    const path = await beginUpload(company.as, 10);
    const authorization = { authorization: `Bearer ${company.token}` };
    const head = await call('HEAD', path, { headers: { ...VERSION, ...authorization } });
    expect([head.status, head.headers.get('upload-offset'), head.body]).toEqual([200, '0', '']);
    expect((await call('HEAD', path, { headers: authorization })).status).toBe(412);
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

    const whole = await beginUpload(company.as, 10, { body: makeCsvBytes(10), env: heldQueueEnv() });
    expect((await deleteUpload(company.as, whole)).status).toBe(204);
    expect((await readJob(company, parseUploadId(whole))).status).toBe('queued');
    expect((await readOffset(company.as, whole)).status).toBe(404);
    expect((await readJobBytes(company, parseUploadId(whole))).length).toBe(10);
  });

  it('is visible only to the user who began it', async () => {
    const other = await aUser(company, { can: ['managed-tables:*'] });
    const path = await beginUpload(company.as, 10);
    expect((await readOffset(other.as, path)).status).toBe(404);
    expect((await sendPart(other.as, path, 0, makeCsvBytes(1))).status).toBe(404);
    expect((await deleteUpload(other.as, path)).status).toBe(404);
    expect((await deleteUpload(company.as, path)).status).toBe(204);
  });

  it('answers OPTIONS of any origin with its protocol version, extensions and CORS headers', async () => {
    for (const path of [UPLOADS_PATH, `${UPLOADS_PATH}/x`]) {
      const { status, headers } = await call('OPTIONS', path, { headers: { origin: 'https://page.test' } });
      expect(status).toBe(204);
      expect(Object.fromEntries(headers)).toMatchObject({
        'tus-resumable': '1.0.0',
        'tus-version': '1.0.0',
        'tus-max-size': String(5 * 1024 ** 3),
        'tus-extension': 'creation,creation-with-upload,checksum,expiration,termination',
        'tus-checksum-algorithm': 'sha1,sha256,md5',
      });
      const namesIn = (header: string) => headers.get(header)?.split(',') ?? [];
      const own = path === UPLOADS_PATH ? ['Upload-Length', 'Upload-Metadata'] : ['Upload-Offset'];
      const sent = ['Authorization', 'Tus-Resumable', 'Upload-Checksum', ...own];
      expect(namesIn('access-control-allow-headers')).toEqual(expect.arrayContaining(sent));
      const read = ['Location', 'Content-Location', 'Upload-Offset', 'Upload-Length', 'Upload-Expires', 'Tus-Version'];
      expect(namesIn('access-control-expose-headers')).toEqual(expect.arrayContaining(read));
    }
    const other = await call('OPTIONS', '/v1/managed-tables', {});
    expect(other.headers.get('tus-version')).toBeNull();
  });

  it('is deleted, with its bytes, after 24 hours without a new byte', async () => {
    const path = await beginUpload(company.as, 10);
    await sendPart(company.as, path, 0, makeCsvBytes(4));
    const queue = createHeldQueue();
    const HOUR = 3_600_000;
    await runSweep(queue, 23 * HOUR);
    expect((await readOffset(company.as, path)).status).toBe(200);
    expect((await listStoredFiles(company)).filter((key) => key.includes(parseUploadId(path)))).toHaveLength(1);
    await runSweep(queue, 24 * HOUR + 120_000);
    expect((await readOffset(company.as, path)).status).toBe(404);
    expect((await listStoredFiles(company)).filter((key) => key.includes(parseUploadId(path)))).toEqual([]);
  });
});

describe('a company', () => {
  it('has at most twenty unfinished resumable uploads', async () => {
    const company = await aProvisionedCompany();
    const paths: string[] = [];
    for (let count = 0; count < 20; count += 1) paths.push(await beginUpload(company.as, 10));
    const refused = await requestUpload(company.as, 10);
    expect([refused.status, refused.body.details.reason]).toEqual([429, 'resumable_upload.too_many']);
    await deleteUpload(company.as, paths[0] as string);
    paths[0] = await beginUpload(company.as, 10);
    await sendPart(company.as, paths[1] as string, 0, makeCsvBytes(10), { env: heldQueueEnv() });
    await beginUpload(company.as, 10);
    expect((await requestUpload(company.as, 10)).status).toBe(429);
  });
});
