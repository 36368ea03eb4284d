import { env } from 'cloudflare:test';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import { createModel, makeProposal } from '../knowledge/model.ts';
import { createConcept, KNOWLEDGE_PATH } from '../knowledge/support.ts';
import { column, createTable, makeTableRoutes } from '../managed-tables/support.ts';
import { type ApiResponse, call, createCaller } from '../support/api.ts';
import { advanceClock, resetClock, runScheduled } from '../support/clock.ts';
import { listMailsTo, whileMailIsDown } from '../support/mail.ts';
import { selectRow, sendOvertaken } from '../support/rival.ts';
import { must, signed } from '../support/signed.ts';
import { rivalBeforeStatement } from '../support/tunnel.ts';
import { aCompany, aProvisionedCompany, type Company, logIn, PASSWORD } from '../support/worlds.ts';
import {
  cancelJob,
  confirmJob,
  createHeldQueue,
  deliverMessage,
  loadFiles,
  makeFile,
  postFiles,
  readJob,
  uploadFiles,
  waitForAnalysis,
} from '../uploads/support.ts';
import { beginUpload, deleteUpload, requestUpload } from '../uploads/tus.ts';
import { operator, pathOf, setQuotas, today, usageOf } from './support.ts';

const refusal = ({ status, body }: ApiResponse) => ({
  status,
  code: body.error_code ?? body.error,
  details: body.details,
});
const refused = (quota: string, limit: number, use: number) => ({
  status: 403,
  code: 'QUOTA_EXCEEDED',
  details: { quota, limit, use },
});

/** The company with a session of the present day. */
async function signedIn(company: Company): Promise<Company> {
  const { body } = await logIn(company.slug, company.owner.email, PASSWORD);
  return { ...company, as: createCaller(body.token) };
}

afterEach(resetClock);

describe('the quotas of an organization', () => {
  it('are set by the operator, all at once, and shown to the operator', async () => {
    const company = await aCompany();
    const none = { users: null, table_bytes: null, file_bytes: null, mails_per_day: null, model_calls_per_day: null };
    expect((await must(operator.get(pathOf(company)))).quotas).toEqual(none);
    expect(await setQuotas(company, { users: 3, mails_per_day: 0, file_bytes: 1_000_000_000_000 })).toEqual({
      ...none,
      users: 3,
      mails_per_day: 0,
      file_bytes: 1_000_000_000_000,
    });
    await setQuotas(company, { model_calls_per_day: 5, users: null });
    expect((await must(operator.get(pathOf(company)))).quotas).toEqual({ ...none, model_calls_per_day: 5 });
  });

  it.each([
    [{ users: -1 }, 'users'],
    [{ users: 1.5 }, 'users'],
    [{ table_bytes: '10' }, 'table_bytes'],
    [{ rows: 10 }, 'rows'],
  ])('are refused when they are %j', async (json, field) => {
    const company = await aCompany();
    const { status, body } = await operator.put(`${pathOf(company)}/quotas`, { json });
    expect([status, body.details.map((problem: { field: string }) => problem.field)]).toEqual([422, [field]]);
  });

  it('can be set only for an existing organization', async () => {
    expect((await operator.put('/admin/organizations/none/quotas', { json: {} })).status).toBe(404);
  });
});

describe('the quota of users', () => {
  const invite = (company: Company, email: string, changed?: Record<string, string>) =>
    company.as.post('/v1/users/invite', { json: { email }, env: changed });

  it('counts invited users, and refuses every way to create one more', async () => {
    const company = await aCompany();
    await setQuotas(company, { users: 2 });
    expect((await invite(company, `ana@${company.slug}.test`)).status).toBe(201);
    expect(refusal(await invite(company, `bea@${company.slug}.test`))).toEqual(refused('users', 2, 2));
    expect(listMailsTo(`bea@${company.slug}.test`)).toEqual([]);
    // Inviting again makes nobody.
    expect((await invite(company, `ana@${company.slug}.test`)).status).toBe(201);
    const made = await signed(company.apiKey).post('/users', {
      json: { email: `cai@${company.slug}.test`, password: 'quiet-harbour-lantern' },
    });
    expect(refusal(made)).toEqual({ ...refused('users', 2, 2), code: 'QuotaExceeded' });
    expect(await usageOf(company)).toMatchObject({ users: 2 });
  });

  it('is not exceeded by two requests at once', async () => {
    const company = await aCompany();
    await setQuotas(company, { users: 2 });
    const [first, second] = [`one@${company.slug}.test`, `two@${company.slug}.test`];
    const late = await sendOvertaken(
      /insert into "users"/i,
      async () => expect((await invite(company, first)).status).toBe(201),
      (changed) => invite(company, second, changed),
    );
    expect(refusal(late)).toEqual(refused('users', 2, 2));
  });

  it('is enforced by the control database itself', async () => {
    const company = await aCompany();
    await setQuotas(company, { users: 1 });
    const insert = env.CONTROL_DB.prepare(
      `insert into users (id, company_id, email, name, is_active, teams, metadata, created_at, updated_at)
       values ('a', ?, 'any@test', '', 0, '[]', '{}', 0, 0)`,
    ).bind(company.id);
    await expect(insert.run()).rejects.toThrow('constraint failed: quota users 1 1');
    await setQuotas(company, {});
    await insert.run();
    const set = (at: number | null) =>
      env.CONTROL_DB.prepare(`update users set deleted_at = ? where id = 'a' and company_id = ?`).bind(at, company.id);
    await set(1).run();
    await setQuotas(company, { users: 1 });
    await expect(set(null).run()).rejects.toThrow('constraint failed: quota users 1 1');
  });

  it('may be below the number of users, and then refuses a new user even after one was deleted', async () => {
    const company = await aCompany();
    const { user_id: id = undefined, _id } = (await invite(company, `ana@${company.slug}.test`)).body;
    await invite(company, `bea@${company.slug}.test`);
    await setQuotas(company, { users: 2 });
    expect(refusal(await invite(company, `cai@${company.slug}.test`))).toEqual(refused('users', 2, 3));
    expect((await company.as.delete(`/v1/users/${id ?? _id}`)).status).toBe(204);
    expect(refusal(await invite(company, `cai@${company.slug}.test`))).toEqual(refused('users', 2, 2));
  });
});

describe('the quota of mails per day', () => {
  const invite = (company: Company, email: string, changed?: Record<string, string>) =>
    company.as.post('/v1/users/invite', { json: { email }, env: changed });
  const aCode = (company: Company, email: string) =>
    call('POST', '/v1/auth/passwordless/request', { json: { company_slug: company.slug, email } });

  it('refuses invitations beyond it, and counts per day', async () => {
    const company = await aCompany();
    const of = (name: string) => `${name}@${company.slug}.test`;
    await setQuotas(company, { mails_per_day: 1 });
    expect((await invite(company, of('ana'))).status).toBe(201);
    expect(refusal(await invite(company, of('bea')))).toEqual(refused('mails_per_day', 1, 1));
    expect(await selectRow('select 1 from users where email = ?', of('bea'))).toBeNull();
    expect(await today(company)).toMatchObject({ mails: 1 });
    advanceClock(24 * 3_600_000);
    expect((await invite(await signedIn(company), of('bea'))).status).toBe(201);
    expect([of('ana'), of('bea')].map((email) => listMailsTo(email).length)).toEqual([1, 1]);
  });

  it('is not exceeded by two invitations at once, nor by mails that wait for the mail service', async () => {
    const company = await aCompany();
    const of = (name: string) => `${name}@${company.slug}.test`;
    await setQuotas(company, { mails_per_day: 1 });
    const late = await whileMailIsDown(() =>
      sendOvertaken(
        /insert into "mail_requests"/i,
        async () => expect((await invite(company, of('ana'))).status).toBe(201),
        (changed) => invite(company, of('bea'), changed),
      ),
    );
    expect(refusal(late)).toEqual(refused('mails_per_day', 1, 1));
    expect(await today(company)).toMatchObject({ mails: 0 });
    advanceClock(120_000);
    await runScheduled();
    expect(await today(company)).toMatchObject({ mails: 1 });
    expect(listMailsTo(of('ana'))).toHaveLength(1);
  });

  it('sends no mail beyond it for login codes and password resets, but answers the same', async () => {
    const company = await aCompany();
    const { email } = company.owner;
    const before = listMailsTo(email).length;
    await setQuotas(company, { mails_per_day: 2 });
    for (let request = 0; request < 3; request += 1) expect((await aCode(company, email)).status).toBe(200);
    await expect.poll(async () => (await today(company)).mails).toBe(2);
    expect(listMailsTo(email).length - before).toBe(2);
    const json = { email, company_slug: company.slug };
    for (const body of [json, { email }])
      expect((await call('POST', '/v1/users/reset-password/request', { json: body })).status).toBe(200);
    advanceClock(120_000);
    await runScheduled();
    expect(listMailsTo(email).length - before).toBe(2);
    // Nobody is told what is not mailed: an address that nobody has uses nothing up.
    await setQuotas(company, { mails_per_day: 3 });
    expect((await aCode(company, 'nobody@nowhere.test')).status).toBe(200);
    expect((await call('POST', '/v1/users/reset-password/request', { json: { email } })).status).toBe(200);
    await expect.poll(() => listMailsTo(email).length - before).toBe(3);
    expect(await today(company)).toMatchObject({ mails: 3 });
  });
});

describe('the quota of AI model calls per day', () => {
  const generate = (company: Company, concept: string, changed: Record<string, string>) =>
    company.as.post(`${KNOWLEDGE_PATH}/suggestions/concepts/${concept}/generate`, { env: changed });

  it('is checked before each call, retries included', async () => {
    const company = await aCompany();
    const concept = await createConcept(company.as);
    await setQuotas(company, { model_calls_per_day: 3 });
    const model = await createModel(makeProposal({ description: 'Better.' }), { status: 500 });
    expect((await generate(company, concept, model.env)).status).toBe(201);
    expect(refusal(await generate(company, concept, model.env))).toEqual(refused('model_calls_per_day', 3, 3));
    expect(refusal(await generate(company, concept, model.env))).toEqual(refused('model_calls_per_day', 3, 3));
    expect(await model.asked()).toHaveLength(3);
    expect(await today(company)).toMatchObject({ model_calls: 3 });
    advanceClock(24 * 3_600_000);
    await model.follow(makeProposal({ description: 'Best.' }));
    expect((await generate(await signedIn(company), concept, model.env)).status).toBe(201);
  });

  it('is not exceeded by two requests at once', async () => {
    const company = await aCompany();
    const concept = await createConcept(company.as);
    await setQuotas(company, { model_calls_per_day: 1 });
    const model = await createModel(makeProposal({ description: 'Better.' }));
    const late = await sendOvertaken(
      /insert into "usage_days"/i,
      async () => expect((await generate(company, concept, model.env)).status).toBe(201),
      (changed) => generate(company, concept, { ...changed, ...model.env }),
    );
    expect(refusal(late)).toEqual(refused('model_calls_per_day', 1, 1));
    expect(await model.asked()).toHaveLength(1);
  });
});

describe('the quotas of tables and files', () => {
  let company: Company;
  let table: string;
  const rows = (count: number) =>
    makeFile('rows.csv', `a\n${Array.from({ length: count }, (_, row) => `${'x'.repeat(500)}${row}`).join('\n')}\n`);
  const columns = [column('a')];
  beforeAll(async () => {
    company = await aProvisionedCompany();
    table = await createTable(company.as, 'kept', [column('a')]);
    await makeTableRoutes(company.as, table).insert([{ a: 'first' }]);
  });
  afterEach(() => setQuotas(company, {}));

  it('are shown with the current usage, which the list of organizations has too', async () => {
    const usage = await usageOf(company);
    expect(usage).toMatchObject({ users: 1, tables: 1, rows: 1, table_bytes: expect.any(Number) });
    expect(usage.table_bytes).toBeGreaterThan(0);
    const { results } = await must(operator.get(`/admin/organizations?search=${company.slug}`));
    expect(results[0].usage).toEqual(usage);
  });

  it('fail an upload that would exceed them, and load nothing', async () => {
    const { table_bytes: use } = await usageOf(company);
    await setQuotas(company, { table_bytes: use + 200_000 });
    const failed = await loadFiles(company, [rows(1000)], { display_name: 'too_large' });
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'QUOTA_EXCEEDED', quota: 'table_bytes', use } });
    expect((await loadFiles(company, [rows(100)], { display_name: 'small' })).status).toBe('done');
    expect(await usageOf(company)).toMatchObject({ tables: 2, rows: 101 });
  });

  it('are not exceeded by two uploads that are loaded at once', async () => {
    const { table_bytes: use } = await usageOf(company);
    await setQuotas(company, { table_bytes: use + 250_000 });
    const ids = [await uploadFiles(company, [rows(200)]), await uploadFiles(company, [rows(200)])];
    const messages: JobMessage[] = [];
    for (const [number, id] of ids.entries()) {
      await waitForAnalysis(company, id);
      const queue = createHeldQueue();
      const json = { display_name: `race_${number}`, columns: [{ ...columns[0], source_index: 0 }] };
      expect((await confirmJob(company, id, json, { env: queue.env })).status).toBe(200);
      messages.push(...queue.messages);
    }
    const [one, two] = messages as [JobMessage, JobMessage];
    const { outcome } = await rivalBeforeStatement(company.id, /pg_advisory_xact_lock\(/, () => deliverMessage(two));
    await deliverMessage(one);
    await outcome;
    const jobs = [await readJob(company, ids[0] as string), await readJob(company, ids[1] as string)];
    expect(jobs.map(({ status }) => status)).toEqual(['failed', 'done']);
    expect(jobs[0].error).toMatchObject({ code: 'QUOTA_EXCEEDED' });
  });

  it('refuse new rows, tables, indexes and restored tables while exceeded, but no deletions', async () => {
    const gone = await createTable(company.as, 'gone', [column('a')]);
    await must(company.as.delete(`/v1/managed-tables/${gone}`));
    const { table_bytes: use } = await usageOf(company);
    await setQuotas(company, { table_bytes: use - 1 });
    const answers = [
      await makeTableRoutes(company.as, table).insert([{ a: 'second' }]),
      await company.as.post('/v1/managed-tables', { json: { display_name: 'another', columns } }),
      await company.as.post(`/v1/managed-tables/${table}/indexes`, { json: { columns: ['a'] } }),
      await company.as.post(`/v1/managed-tables/${gone}/restore`),
    ];
    for (const answer of answers) expect(refusal(answer)).toEqual(refused('table_bytes', use - 1, use));
    const { body } = await company.as.get(`/v1/managed-tables/${table}/data`);
    expect(body.records).toHaveLength(1);
    expect((await company.as.delete(`/v1/managed-tables/${table}/data/${body.records[0].id}`)).status).toBe(204);
    await setQuotas(company, { table_bytes: use });
    expect((await makeTableRoutes(company.as, table).insert([{ a: 'first' }])).status).toBe(201);
  });

  it('refuse files that would exceed them, by every way of upload, and accept them once there is room', async () => {
    const { file_bytes: use } = await usageOf(company);
    const file = makeFile('cities.csv', 'a\nRio\n');
    await setQuotas(company, { file_bytes: use + file.size });
    const path = await beginUpload(company.as, file.size);
    expect(await usageOf(company)).toMatchObject({ file_bytes: use + file.size });
    const full = refused('file_bytes', use + file.size, use + file.size);
    expect(refusal(await requestUpload(company.as, 1))).toEqual(full);
    expect(refusal(await postFiles(company, [file]))).toEqual(full);
    const url = { url: 'https://example.com/rows.csv' };
    expect(refusal(await company.as.post('/v1/managed-tables/upload-from-url', { json: url }))).toEqual(full);
    await must(deleteUpload(company.as, path));
    const large = makeFile('cities.csv', `a\n${'x'.repeat(100)}\n`);
    expect(refusal(await postFiles(company, [large]))).toEqual(refused('file_bytes', use + file.size, use));
    const jobId = await uploadFiles(company, [file]);
    await waitForAnalysis(company, jobId);
    await must(cancelJob(company, jobId));
    // It is kept for a day.
    expect(await usageOf(company)).toMatchObject({ file_bytes: use + file.size });
  });

  it('are not exceeded by two tables at once: the second one waits for the first to commit', async () => {
    const { table_bytes: use } = await usageOf(company);
    await setQuotas(company, { table_bytes: use + 20_000 });
    const create = (display_name: string) => company.as.post('/v1/managed-tables', { json: { display_name, columns } });
    const { outcome } = await rivalBeforeStatement(company.id, /COMMIT/, () => create('one_more'));
    const statuses = [(await create('first_one')).status, (await outcome).status];
    expect(statuses).toEqual([201, 403]);
  });

  it('are not exceeded by two files at once: the second one waits for the first to commit', async () => {
    const { file_bytes: use } = await usageOf(company);
    const file = makeFile('cities.csv', 'a\nRio\n');
    await setQuotas(company, { file_bytes: use + file.size });
    const { outcome } = await rivalBeforeStatement(company.id, /COMMIT/, () => postFiles(company, [file]));
    const statuses = [(await postFiles(company, [file])).status, (await outcome).status];
    expect(statuses).toEqual([201, 403]);
  });

  describe('that refuse rows', () => {
    const many = (count: number) => Array.from({ length: count }, (_, row) => ({ a: `${'x'.repeat(100)}${row}` }));
    /** Makes a table of one row and a key that grows with its rows. */
    async function aSmallTable(name: string) {
      const id = await createTable(company.as, name, columns);
      const { insert } = makeTableRoutes(company.as, id);
      expect((await insert(many(1))).status).toBe(201);
      return { id, insert };
    }

    it('leave the room that there was, for rows that fit into it', async () => {
      const { insert } = await aSmallTable('refused_rows');
      const before = await usageOf(company);
      const limit = before.table_bytes + 100_000;
      await setQuotas(company, { table_bytes: limit });
      for (let time = 0; time < 2; time += 1) {
        expect(refusal(await insert(many(3000)))).toEqual(refused('table_bytes', limit, before.table_bytes));
        expect(await usageOf(company)).toEqual(before);
      }
      expect((await insert(many(100))).status).toBe(201);
    });

    it.each(['append', 'upsert', 'replace'])('leave the room that there was after a load (%s)', async (mode) => {
      const { id, insert } = await aSmallTable(`refused_${mode}`);
      const before = await usageOf(company);
      const limit = before.table_bytes + 100_000;
      await setQuotas(company, { table_bytes: limit });
      const sent = { into: id, mode, ...(mode === 'upsert' && { key: ['a'] }) };
      const failed = await loadFiles(company, [rows(1000)], { display_name: `refused_${mode}` }, sent);
      expect(failed).toMatchObject({
        status: 'failed',
        error: { code: 'QUOTA_EXCEEDED', quota: 'table_bytes', limit, use: before.table_bytes },
      });
      expect(await usageOf(company)).toMatchObject({ rows: before.rows, table_bytes: before.table_bytes });
      expect((await insert(many(100))).status).toBe(201);
    });

    it('leave the room that there was after rows that are refused for another reason', async () => {
      const { id, insert } = await aSmallTable('refused_twice');
      const path = `/v1/managed-tables/${id}/indexes`;
      expect((await company.as.post(path, { json: { columns: ['a'], unique: true } })).status).toBe(201);
      const { table_bytes: use } = await usageOf(company);
      await setQuotas(company, { table_bytes: use + 100_000 });
      expect((await insert([...many(3000).slice(1), ...many(1)])).status).toBe(409);
      expect(await usageOf(company)).toMatchObject({ table_bytes: use });
    });

    it('count no rows of others that are not committed when an index is built', async () => {
      const { id, insert } = await aSmallTable('refused_beside');
      const { table_bytes: use } = await usageOf(company);
      await setQuotas(company, { table_bytes: use + 100_000 });
      const { outcome } = await rivalBeforeStatement(company.id, /pg_advisory_xact_lock\(/, () =>
        company.as.post(`/v1/managed-tables/${id}/indexes`, { json: { columns: ['a'] } }),
      );
      const statuses = [(await insert(many(3000))).status, (await outcome).status];
      expect(statuses).toEqual([403, 201]);
    });

    it.each([
      ['rows that fit, though too many are written beside them,', 100, 3000, [201, 403]],
      ['rows that fit, though too many are written before them,', 3000, 100, [403, 201]],
      ['one of two writes that fit alone', 1500, 1500, [201, 403]],
    ])('let %s pass', async (_, count, others, expected) => {
      const { insert } = await aSmallTable(`beside_${others}`);
      const { table_bytes: use } = await usageOf(company);
      await setQuotas(company, { table_bytes: use + 400_000 });
      const { outcome } = await rivalBeforeStatement(company.id, /pg_advisory_xact_lock\(/, () => insert(many(others)));
      const statuses = [(await insert(many(count))).status, (await outcome).status];
      if (count === others) statuses.sort();
      expect(statuses).toEqual(expected);
    });
  });
});
