import { env } from 'cloudflare:test';
import { afterEach, describe, expect, it } from 'vitest';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import { createModel, makeProposal } from '../knowledge/model.ts';
import { createConcept, KNOWLEDGE_PATH } from '../knowledge/support.ts';
import { createTable, createTableClient, makeColumn } from '../managed-tables/support.ts';
import { type ApiResponse, callApi, createCaller } from '../support/api.ts';
import { advanceClock, runScheduled } from '../support/clock.ts';
import { type Company, createOwnedCompany, createProvisionedCompany, logIn, PASSWORD } from '../support/companies.ts';
import { listMailsTo, runWhileMailIsDown } from '../support/mail.ts';
import { selectRow, sendDuringRace } from '../support/race.ts';
import { createSignedCaller, expectSuccess } from '../support/signed.ts';
import { runBeforeNextStatement } from '../support/tunnel.ts';
import {
  cancelJob,
  confirmJob,
  createTestQueue,
  deliverMessage,
  loadFiles,
  makeFile,
  postFiles,
  readJob,
  uploadFiles,
  waitForAnalysis,
} from '../uploads/support.ts';
import { beginUpload, deleteUpload, requestUpload } from '../uploads/tus.ts';
import { makePath, operator, readTodaysUsage, readUsage, setQuotas } from './support.ts';

const readRefusal = ({ status, body }: ApiResponse) => ({
  status,
  code: body.error_code ?? body.error,
  details: body.details,
});
const makeRefusal = (quota: string, limit: number, usedAmount: number) => ({
  status: 403,
  code: 'QUOTA_EXCEEDED',
  details: { quota, limit, use: usedAmount },
});

/** Signs the owner of the company in again, at the present time of the clock. @returns the company with the new session */
async function signInAgain(company: Company): Promise<Company> {
  const { body } = await logIn(company.slug, company.owner.email, PASSWORD);
  return { ...company, as: createCaller(body.token) };
}

describe('the quotas of an organization', () => {
  it('are set by the operator, all at once, and shown to the operator', async () => {
    const company = await createOwnedCompany();
    const noQuotas = {
      users: null,
      table_bytes: null,
      file_bytes: null,
      mails_per_day: null,
      model_calls_per_day: null,
    };
    expect((await expectSuccess(operator.get(makePath(company)))).quotas).toEqual(noQuotas);
    expect(await setQuotas(company, { users: 3, mails_per_day: 0, file_bytes: 1_000_000_000_000 })).toEqual({
      ...noQuotas,
      users: 3,
      mails_per_day: 0,
      file_bytes: 1_000_000_000_000,
    });
    await setQuotas(company, { model_calls_per_day: 5, users: null });
    expect((await expectSuccess(operator.get(makePath(company)))).quotas).toEqual({
      ...noQuotas,
      model_calls_per_day: 5,
    });
  });

  it.each([
    [{ users: -1 }, 'users'],
    [{ users: 1.5 }, 'users'],
    [{ table_bytes: '10' }, 'table_bytes'],
    [{ rows: 10 }, 'rows'],
  ])('are refused when they are %j', async (json, field) => {
    const company = await createOwnedCompany();
    const { status, body } = await operator.put(`${makePath(company)}/quotas`, { json });
    expect([status, body.details.map((problem: { field: string }) => problem.field)]).toEqual([422, [field]]);
  });

  it('can be set only for an existing organization', async () => {
    expect((await operator.put('/admin/organizations/none/quotas', { json: {} })).status).toBe(404);
  });
});

describe('the quota of users', () => {
  const inviteUser = (company: Company, email: string, changedEnv?: Record<string, string>) =>
    company.as.post('/v1/users/invite', { json: { email }, env: changedEnv });

  it('counts invited users, and refuses every way to create another user', async () => {
    const company = await createOwnedCompany();
    await setQuotas(company, { users: 2 });
    expect((await inviteUser(company, `ana@${company.slug}.test`)).status).toBe(201);
    expect(readRefusal(await inviteUser(company, `bea@${company.slug}.test`))).toEqual(makeRefusal('users', 2, 2));
    expect(listMailsTo(`bea@${company.slug}.test`)).toEqual([]);
    // Inviting again makes nobody.
    expect((await inviteUser(company, `ana@${company.slug}.test`)).status).toBe(201);
    const createdUser = await createSignedCaller(company.apiKey).post('/users', {
      json: { email: `cai@${company.slug}.test`, password: 'quiet-harbour-lantern' },
    });
    expect(readRefusal(createdUser)).toEqual({ ...makeRefusal('users', 2, 2), code: 'QuotaExceeded' });
    expect(await readUsage(company)).toMatchObject({ users: 2 });
  });

  it('is not exceeded by two requests at once', async () => {
    const company = await createOwnedCompany();
    await setQuotas(company, { users: 2 });
    const [first, second] = [`one@${company.slug}.test`, `two@${company.slug}.test`];
    const lateInvitation = await sendDuringRace(
      /insert into "users"/i,
      async () => expect((await inviteUser(company, first)).status).toBe(201),
      (changedEnv) => inviteUser(company, second, changedEnv),
    );
    expect(readRefusal(lateInvitation)).toEqual(makeRefusal('users', 2, 2));
  });

  it('is enforced by the control database itself', async () => {
    const company = await createOwnedCompany();
    await setQuotas(company, { users: 1 });
    const insertStatement = env.CONTROL_DB.prepare(
      `insert into users (id, company_id, email, name, is_active, teams, metadata, created_at, updated_at)
       values ('a', ?, 'any@test', '', 0, '[]', '{}', 0, 0)`,
    ).bind(company.id);
    await expect(insertStatement.run()).rejects.toThrow('constraint failed: quota users 1 1');
    await setQuotas(company, {});
    await insertStatement.run();
    const makeDeletedAtUpdate = (at: number | null) =>
      env.CONTROL_DB.prepare(`update users set deleted_at = ? where id = 'a' and company_id = ?`).bind(at, company.id);
    await makeDeletedAtUpdate(1).run();
    await setQuotas(company, { users: 1 });
    await expect(makeDeletedAtUpdate(null).run()).rejects.toThrow('constraint failed: quota users 1 1');
  });

  it('may be below the number of users, and then refuses a new user even after one was deleted', async () => {
    const company = await createOwnedCompany();
    const { user_id: id = undefined, _id } = (await inviteUser(company, `ana@${company.slug}.test`)).body;
    await inviteUser(company, `bea@${company.slug}.test`);
    await setQuotas(company, { users: 2 });
    expect(readRefusal(await inviteUser(company, `cai@${company.slug}.test`))).toEqual(makeRefusal('users', 2, 3));
    expect((await company.as.delete(`/v1/users/${id ?? _id}`)).status).toBe(204);
    expect(readRefusal(await inviteUser(company, `cai@${company.slug}.test`))).toEqual(makeRefusal('users', 2, 2));
  });
});

describe('the quota of mails per day', () => {
  const inviteUser = (company: Company, email: string, changedEnv?: Record<string, string>) =>
    company.as.post('/v1/users/invite', { json: { email }, env: changedEnv });
  const requestCode = (company: Company, email: string) =>
    callApi('POST', '/v1/auth/passwordless/request', { json: { company_slug: company.slug, email } });

  it('refuses invitations beyond the quota, and counts per day', async () => {
    const company = await createOwnedCompany();
    const makeEmail = (name: string) => `${name}@${company.slug}.test`;
    await setQuotas(company, { mails_per_day: 1 });
    expect((await inviteUser(company, makeEmail('ana'))).status).toBe(201);
    expect(readRefusal(await inviteUser(company, makeEmail('bea')))).toEqual(makeRefusal('mails_per_day', 1, 1));
    expect(await selectRow('select 1 from users where email = ?', makeEmail('bea'))).toBeNull();
    expect(await readTodaysUsage(company)).toMatchObject({ mails: 1 });
    advanceClock(24 * 3_600_000);
    expect((await inviteUser(await signInAgain(company), makeEmail('bea'))).status).toBe(201);
    expect([makeEmail('ana'), makeEmail('bea')].map((email) => listMailsTo(email).length)).toEqual([1, 1]);
  });

  it('is not exceeded by two invitations at once, nor by mails that wait for the mail service', async () => {
    const company = await createOwnedCompany();
    const makeEmail = (name: string) => `${name}@${company.slug}.test`;
    await setQuotas(company, { mails_per_day: 1 });
    const lateInvitation = await runWhileMailIsDown(() =>
      sendDuringRace(
        /insert into "mail_requests"/i,
        async () => expect((await inviteUser(company, makeEmail('ana'))).status).toBe(201),
        (changedEnv) => inviteUser(company, makeEmail('bea'), changedEnv),
      ),
    );
    expect(readRefusal(lateInvitation)).toEqual(makeRefusal('mails_per_day', 1, 1));
    expect(await readTodaysUsage(company)).toMatchObject({ mails: 0 });
    advanceClock(120_000);
    await runScheduled();
    expect(await readTodaysUsage(company)).toMatchObject({ mails: 1 });
    expect(listMailsTo(makeEmail('ana'))).toHaveLength(1);
  });

  it('sends no mail beyond the quota for login codes and password resets, but the answer is the same', async () => {
    const company = await createOwnedCompany();
    const { email } = company.owner;
    const mailCountBefore = listMailsTo(email).length;
    await setQuotas(company, { mails_per_day: 2 });
    for (let request = 0; request < 3; request += 1) expect((await requestCode(company, email)).status).toBe(200);
    await expect.poll(async () => (await readTodaysUsage(company)).mails).toBe(2);
    expect(listMailsTo(email).length - mailCountBefore).toBe(2);
    const json = { email, company_slug: company.slug };
    for (const body of [json, { email }])
      expect((await callApi('POST', '/v1/users/reset-password/request', { json: body })).status).toBe(200);
    advanceClock(120_000);
    await runScheduled();
    expect(listMailsTo(email).length - mailCountBefore).toBe(2);
    // Nobody is told what is not mailed: an address that nobody has uses nothing up.
    await setQuotas(company, { mails_per_day: 3 });
    expect((await requestCode(company, 'nobody@nowhere.test')).status).toBe(200);
    expect((await callApi('POST', '/v1/users/reset-password/request', { json: { email } })).status).toBe(200);
    await expect.poll(() => listMailsTo(email).length - mailCountBefore).toBe(3);
    expect(await readTodaysUsage(company)).toMatchObject({ mails: 3 });
  });
});

describe('the quota of AI model calls per day', () => {
  const generateDescription = (company: Company, concept: string, changedEnv: Record<string, string>) =>
    company.as.post(`${KNOWLEDGE_PATH}/suggestions/concepts/${concept}/generate`, { env: changedEnv });

  it('is checked before each call, retries included', async () => {
    const company = await createOwnedCompany();
    const concept = await createConcept(company.as);
    await setQuotas(company, { model_calls_per_day: 3 });
    const model = await createModel(makeProposal({ description: 'Better.' }), { status: 500 });
    expect((await generateDescription(company, concept, model.env)).status).toBe(201);
    expect(readRefusal(await generateDescription(company, concept, model.env))).toEqual(
      makeRefusal('model_calls_per_day', 3, 3),
    );
    expect(readRefusal(await generateDescription(company, concept, model.env))).toEqual(
      makeRefusal('model_calls_per_day', 3, 3),
    );
    expect(await model.asked()).toHaveLength(3);
    expect(await readTodaysUsage(company)).toMatchObject({ model_calls: 3 });
    advanceClock(24 * 3_600_000);
    await model.follow(makeProposal({ description: 'Best.' }));
    expect((await generateDescription(await signInAgain(company), concept, model.env)).status).toBe(201);
  });

  it('is not exceeded by two requests at once', async () => {
    const company = await createOwnedCompany();
    const concept = await createConcept(company.as);
    await setQuotas(company, { model_calls_per_day: 1 });
    const model = await createModel(makeProposal({ description: 'Better.' }));
    const lateGeneration = await sendDuringRace(
      /insert into "usage_days"/i,
      async () => expect((await generateDescription(company, concept, model.env)).status).toBe(201),
      (changedEnv) => generateDescription(company, concept, { ...changedEnv, ...model.env }),
    );
    expect(readRefusal(lateGeneration)).toEqual(makeRefusal('model_calls_per_day', 1, 1));
    expect(await model.asked()).toHaveLength(1);
  });
});

const company = await createProvisionedCompany();
const table = await createTable(company.as, 'kept', [makeColumn('a')]);
await createTableClient(company.as, table).insert([{ a: 'first' }]);

describe('the quotas of tables and files', () => {
  const makeQuotaRows = (count: number) =>
    makeFile('rows.csv', `a\n${Array.from({ length: count }, (_, row) => `${'x'.repeat(500)}${row}`).join('\n')}\n`);
  const columns = [makeColumn('a')];
  afterEach(() => setQuotas(company, {}));

  it('are shown with the current usage, which the list of organizations shows too', async () => {
    const usage = await readUsage(company);
    expect(usage).toMatchObject({ users: 1, tables: 1, rows: 1, table_bytes: expect.any(Number) });
    expect(usage.table_bytes).toBeGreaterThan(0);
    const { results } = await expectSuccess(operator.get(`/admin/organizations?search=${company.slug}`));
    expect(results[0].usage).toEqual(usage);
  });

  it('fail an upload that would exceed them, and load nothing', async () => {
    const { table_bytes: usedBytes } = await readUsage(company);
    await setQuotas(company, { table_bytes: usedBytes + 200_000 });
    const failedJob = await loadFiles(company, [makeQuotaRows(1000)], { display_name: 'too_large' });
    expect(failedJob).toMatchObject({
      status: 'failed',
      error: { code: 'QUOTA_EXCEEDED', quota: 'table_bytes', use: usedBytes },
    });
    expect((await loadFiles(company, [makeQuotaRows(100)], { display_name: 'small' })).status).toBe('done');
    expect(await readUsage(company)).toMatchObject({ tables: 2, rows: 101 });
  });

  it('are not exceeded by two uploads that are loaded at once', async () => {
    const { table_bytes: usedBytes } = await readUsage(company);
    await setQuotas(company, { table_bytes: usedBytes + 250_000 });
    const ids = [await uploadFiles(company, [makeQuotaRows(200)]), await uploadFiles(company, [makeQuotaRows(200)])];
    const messages: JobMessage[] = [];
    for (const [number, id] of ids.entries()) {
      await waitForAnalysis(company, id);
      const queue = createTestQueue();
      const json = { display_name: `race_${number}`, columns: [{ ...columns[0], source_index: 0 }] };
      expect((await confirmJob(company, id, json, { env: queue.env })).status).toBe(200);
      messages.push(...queue.messages);
    }
    const [one, two] = messages as [JobMessage, JobMessage];
    const { outcome } = await runBeforeNextStatement(company.id, /pg_advisory_xact_lock\(/, () => deliverMessage(two));
    await deliverMessage(one);
    await outcome;
    const jobs = [await readJob(company, ids[0] as string), await readJob(company, ids[1] as string)];
    expect(jobs.map(({ status }) => status)).toEqual(['failed', 'done']);
    expect(jobs[0].error).toMatchObject({ code: 'QUOTA_EXCEEDED' });
  });

  it('refuse new rows, tables, indexes and restored tables while exceeded, but no deletions', async () => {
    const deletedTable = await createTable(company.as, 'gone', [makeColumn('a')]);
    await expectSuccess(company.as.delete(`/v1/managed-tables/${deletedTable}`));
    const { table_bytes: usedBytes } = await readUsage(company);
    await setQuotas(company, { table_bytes: usedBytes - 1 });
    const answers = [
      await createTableClient(company.as, table).insert([{ a: 'second' }]),
      await company.as.post('/v1/managed-tables', { json: { display_name: 'another', columns } }),
      await company.as.post(`/v1/managed-tables/${table}/indexes`, { json: { columns: ['a'] } }),
      await company.as.post(`/v1/managed-tables/${deletedTable}/restore`),
    ];
    for (const answer of answers)
      expect(readRefusal(answer)).toEqual(makeRefusal('table_bytes', usedBytes - 1, usedBytes));
    const { body } = await company.as.get(`/v1/managed-tables/${table}/data`);
    expect(body.records).toHaveLength(1);
    expect((await company.as.delete(`/v1/managed-tables/${table}/data/${body.records[0].id}`)).status).toBe(204);
    await setQuotas(company, { table_bytes: usedBytes });
    expect((await createTableClient(company.as, table).insert([{ a: 'first' }])).status).toBe(201);
  });

  it('refuse files that would exceed them, by every way of upload, and accept the files once there is enough space', async () => {
    const { file_bytes: usedBytes } = await readUsage(company);
    const file = makeFile('cities.csv', 'a\nRio\n');
    await setQuotas(company, { file_bytes: usedBytes + file.size });
    const path = await beginUpload(company.as, file.size);
    expect(await readUsage(company)).toMatchObject({ file_bytes: usedBytes + file.size });
    const fullRefusal = makeRefusal('file_bytes', usedBytes + file.size, usedBytes + file.size);
    expect(readRefusal(await requestUpload(company.as, 1))).toEqual(fullRefusal);
    expect(readRefusal(await postFiles(company, [file]))).toEqual(fullRefusal);
    const url = { url: 'https://example.com/rows.csv' };
    expect(readRefusal(await company.as.post('/v1/managed-tables/upload-from-url', { json: url }))).toEqual(
      fullRefusal,
    );
    await expectSuccess(deleteUpload(company.as, path));
    const largeFile = makeFile('cities.csv', `a\n${'x'.repeat(100)}\n`);
    expect(readRefusal(await postFiles(company, [largeFile]))).toEqual(
      makeRefusal('file_bytes', usedBytes + file.size, usedBytes),
    );
    const jobId = await uploadFiles(company, [file]);
    await waitForAnalysis(company, jobId);
    await expectSuccess(cancelJob(company, jobId));
    // It is kept for a day.
    expect(await readUsage(company)).toMatchObject({ file_bytes: usedBytes + file.size });
  });

  it('are not exceeded by two tables at once: the second one waits for the first to commit', async () => {
    const { table_bytes: usedBytes } = await readUsage(company);
    await setQuotas(company, { table_bytes: usedBytes + 20_000 });
    const createTestTable = (display_name: string) =>
      company.as.post('/v1/managed-tables', { json: { display_name, columns } });
    const { outcome } = await runBeforeNextStatement(company.id, /COMMIT/, () => createTestTable('one_more'));
    const statuses = [(await createTestTable('first_one')).status, (await outcome).status];
    expect(statuses).toEqual([201, 403]);
  });

  it('refuse an index that would exceed them, and drop it', async () => {
    const id = await createTable(company.as, 'with_index', columns);
    const tableRows = Array.from({ length: 2000 }, (_, row) => ({ a: `${'x'.repeat(100)}${row}` }));
    expect((await createTableClient(company.as, id).insert(tableRows)).status).toBe(201);
    const usageBefore = await readUsage(company);
    const path = `/v1/managed-tables/${id}/indexes`;
    const limit = usageBefore.table_bytes + 50_000;
    await setQuotas(company, { table_bytes: limit });
    for (const unique of [false, true]) {
      expect(readRefusal(await company.as.post(path, { json: { columns: ['a'], unique } }))).toEqual(
        makeRefusal('table_bytes', limit, usageBefore.table_bytes),
      );
      expect(await readUsage(company)).toEqual(usageBefore);
    }
    expect((await expectSuccess(company.as.get(path))).records).toEqual([]);
    await setQuotas(company, { table_bytes: usageBefore.table_bytes + 1_000_000 });
    expect((await company.as.post(path, { json: { columns: ['a'] } })).status).toBe(201);
  });

  it('are not exceeded by two indexes that are built at once', async () => {
    const ids = [
      await createTable(company.as, 'index_race_1', columns),
      await createTable(company.as, 'index_race_2', columns),
    ];
    const { table_bytes: usedBytes } = await readUsage(company);
    const limit = usedBytes + 12_000;
    await setQuotas(company, { table_bytes: limit });
    const createIndex = (id?: string) =>
      company.as.post(`/v1/managed-tables/${id}/indexes`, { json: { columns: ['a'] } });
    const { outcome } = await runBeforeNextStatement(company.id, /CREATE INDEX/, () => createIndex(ids[1]));
    const statuses = [(await createIndex(ids[0])).status, (await outcome).status];
    expect(statuses).toEqual([403, 201]);
    expect((await readUsage(company)).table_bytes).toBeLessThanOrEqual(limit);
  });

  it('are not exceeded by two files at once: the second one waits for the first to commit', async () => {
    const { file_bytes: usedBytes } = await readUsage(company);
    const file = makeFile('cities.csv', 'a\nRio\n');
    await setQuotas(company, { file_bytes: usedBytes + file.size });
    const { outcome } = await runBeforeNextStatement(company.id, /COMMIT/, () => postFiles(company, [file]));
    const statuses = [(await postFiles(company, [file])).status, (await outcome).status];
    expect(statuses).toEqual([201, 403]);
  });

  describe('that refuse rows', () => {
    const makeRows = (count: number) => Array.from({ length: count }, (_, row) => ({ a: `${'x'.repeat(100)}${row}` }));
    /** Creates a table of one row with a key, whose size grows with its rows. */
    async function createSmallTable(name: string) {
      const id = await createTable(company.as, name, columns);
      const { insert } = createTableClient(company.as, id);
      expect((await insert(makeRows(1))).status).toBe(201);
      return { id, insert };
    }

    it('leave the space that was free before, for rows that fit into it', async () => {
      const { insert } = await createSmallTable('refused_rows');
      const usageBefore = await readUsage(company);
      const limit = usageBefore.table_bytes + 100_000;
      await setQuotas(company, { table_bytes: limit });
      for (let time = 0; time < 2; time += 1) {
        expect(readRefusal(await insert(makeRows(3000)))).toEqual(
          makeRefusal('table_bytes', limit, usageBefore.table_bytes),
        );
        expect(await readUsage(company)).toEqual(usageBefore);
      }
      expect((await insert(makeRows(100))).status).toBe(201);
    });

    it.each(['append', 'upsert', 'replace'])(
      'leave the space that was free before, after a refused load (%s)',
      async (mode) => {
        const { id, insert } = await createSmallTable(`refused_${mode}`);
        const usageBefore = await readUsage(company);
        const limit = usageBefore.table_bytes + 100_000;
        await setQuotas(company, { table_bytes: limit });
        const uploadInput = { into: id, mode, ...(mode === 'upsert' && { key: ['a'] }) };
        const failedJob = await loadFiles(
          company,
          [makeQuotaRows(1000)],
          { display_name: `refused_${mode}` },
          uploadInput,
        );
        expect(failedJob).toMatchObject({
          status: 'failed',
          error: { code: 'QUOTA_EXCEEDED', quota: 'table_bytes', limit, use: usageBefore.table_bytes },
        });
        expect(await readUsage(company)).toMatchObject({
          rows: usageBefore.rows,
          table_bytes: usageBefore.table_bytes,
        });
        expect((await insert(makeRows(100))).status).toBe(201);
      },
    );

    it('leave the space that was free before, after rows that are refused for another reason', async () => {
      const { id, insert } = await createSmallTable('refused_twice');
      const path = `/v1/managed-tables/${id}/indexes`;
      expect((await company.as.post(path, { json: { columns: ['a'], unique: true } })).status).toBe(201);
      const { table_bytes: usedBytes } = await readUsage(company);
      await setQuotas(company, { table_bytes: usedBytes + 100_000 });
      expect((await insert([...makeRows(3000).slice(1), ...makeRows(1)])).status).toBe(409);
      expect(await readUsage(company)).toMatchObject({ table_bytes: usedBytes });
    });

    it('do not count uncommitted rows of other transactions when an index is built', async () => {
      const { id, insert } = await createSmallTable('refused_beside');
      const { table_bytes: usedBytes } = await readUsage(company);
      await setQuotas(company, { table_bytes: usedBytes + 100_000 });
      const { outcome } = await runBeforeNextStatement(company.id, /pg_advisory_xact_lock\(/, () =>
        company.as.post(`/v1/managed-tables/${id}/indexes`, { json: { columns: ['a'] } }),
      );
      const statuses = [(await insert(makeRows(3000))).status, (await outcome).status];
      expect(statuses).toEqual([403, 201]);
    });

    it.each([
      ['rows that fit, though too many are written beside them,', 100, 3000, [201, 403]],
      ['rows that fit, though too many are written before them,', 3000, 100, [403, 201]],
      ['one of two writes that fit alone', 1500, 1500, [201, 403]],
    ])('let %s pass', async (_, count, runOthers, expected) => {
      const { insert } = await createSmallTable(`beside_${runOthers}`);
      const { table_bytes: usedBytes } = await readUsage(company);
      await setQuotas(company, { table_bytes: usedBytes + 400_000 });
      const { outcome } = await runBeforeNextStatement(company.id, /pg_advisory_xact_lock\(/, () =>
        insert(makeRows(runOthers)),
      );
      const statuses = [(await insert(makeRows(count))).status, (await outcome).status];
      if (count === runOthers) statuses.sort();
      expect(statuses).toEqual(expected);
    });
  });
});
