import { env, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { compactVerify, createLocalJWKSet } from 'jose';
import { describe, expect, inject, it, vi } from 'vitest';
import { DAY_MS } from '../../src/kernel/clock.ts';
import { newId } from '../../src/kernel/ids.ts';
import { storeInLog } from '../../src/modules/company-log/service.ts';
import {
  CONTROL_TABLES,
  getControlTableName,
  OTHER_TABLES,
} from '../../src/modules/organizations/end/control-store.ts';
import {
  DATA_STORES,
  DATA_STORES_BY_BINDING,
  listOwnFilePrefixes,
  SHARED_FILE_PREFIXES,
} from '../../src/modules/organizations/end/stores.ts';
import { OBJECT_BINDING_NAMES } from '../../src/objects/jurisdiction.ts';
import { callApi } from '../support/api.ts';
import { advanceClock, runScheduled } from '../support/clock.ts';
import {
  createAllowedUser,
  createCompany,
  createOwnedCompany,
  createProvisionedCompany,
  logIn,
  PASSWORD,
} from '../support/companies.ts';
import { makeAuditRecord } from '../support/log.ts';
import { createFailingEnv } from '../support/outage.ts';
import { countRows, runSql, sendDuringRace } from '../support/race.ts';
import { createSignedCaller, expectSuccess } from '../support/signed.ts';
import { createLocalNeonApi } from '../support/tenant.ts';
import { deliverMessage, uploadFiles } from '../uploads/support.ts';
import {
  deleteAtOnce,
  expectNothingLeft,
  findStoredPlaces,
  listControlTables,
  makePath,
  operator,
  runErasure,
} from './support.ts';

const deleteOrganization = (company: { id: string }, days?: string) =>
  operator.delete(`${makePath(company)}${days === undefined ? '' : `?after_days=${days}`}`);
const restoreOrganization = (company: { id: string }) => operator.post(`${makePath(company)}/restore`);
const readStatus = async (company: { id: string }) => (await operator.get(makePath(company))).body.status;
const countDaysUntil = (time: string) => Math.round((Date.parse(time) - Date.now()) / DAY_MS);
const readReason = ({ status, body }: { status: number; body: { details?: { reason?: string } } }) => [
  status,
  body.details?.reason,
];
const decodeClaims = async (certificate: string) => {
  const { body } = await callApi('GET', '/.well-known/jwks.json');
  const { payload, protectedHeader } = await compactVerify(certificate, createLocalJWKSet(body));
  expect(protectedHeader).toMatchObject({ alg: 'EdDSA', typ: 'erasure-certificate' });
  return JSON.parse(new TextDecoder().decode(payload));
};

describe('an organization that is scheduled for deletion', () => {
  it('is suspended at once, shows when its erasure begins, and is listed as deleting', async () => {
    const company = await createOwnedCompany();
    const { status, body } = await deleteOrganization(company);
    expect([status, countDaysUntil(body.deletes_at)]).toEqual([202, 30]);
    expect(await expectSuccess(operator.get(makePath(company)))).toMatchObject({
      status: 'deleting',
      deletes_at: body.deletes_at,
      suspended_at: expect.stringMatching(/Z$/),
    });
    expect((await company.as.get('/v1/auth/me')).status).toBe(403);
    expect((await logIn(company.slug, company.owner.email, PASSWORD)).status).toBe(403);
    expect((await createSignedCaller(company.apiKey).get('/groups')).status).toBe(403);
    const countListed = async (as: string) =>
      (await expectSuccess(operator.get(`/admin/organizations?search=${company.slug}&status=${as}`))).total;
    expect([await countListed('deleting'), await countListed('suspended'), await countListed('active')]).toEqual([
      1, 0, 0,
    ]);
  });

  it.each(['-1', '91', '1.5', '1e1', '', 'soon'])('cannot be deleted after %j days', async (days) => {
    const company = await createOwnedCompany();
    const { status, body } = await deleteOrganization(company, days);
    expect([status, body.details[0].field]).toEqual([422, 'after_days']);
    expect(await readStatus(company)).toBe('active');
  });

  it('is deleted once: a later date is refused, an earlier one counts, and its status stays', async () => {
    const company = await createOwnedCompany();
    await expectSuccess(deleteOrganization(company, '20'));
    const { body: refusedBody, status } = await deleteOrganization(company, '20');
    expect([status, refusedBody.details.reason, countDaysUntil(refusedBody.details.deletes_at)]).toEqual([
      409,
      'deleting',
      20,
    ]);
    expect(readReason(await deleteOrganization(company))).toEqual([409, 'deleting']);
    const { body } = await deleteOrganization(company, '2');
    expect(countDaysUntil(body.deletes_at)).toBe(2);
    for (const change of ['active', 'suspended']) {
      expect(readReason(await operator.patch(makePath(company), { json: { status: change } }))).toEqual([
        409,
        'deleting',
      ]);
    }
    expect(await expectSuccess(operator.patch(makePath(company), { json: { name: 'Globex' } }))).toMatchObject({
      name: 'Globex',
      status: 'deleting',
    });
  });

  it('is active again when it is restored', async () => {
    const company = await createOwnedCompany();
    await expectSuccess(operator.patch(makePath(company), { json: { status: 'suspended' } }));
    await expectSuccess(deleteOrganization(company));
    expect(await expectSuccess(restoreOrganization(company))).toMatchObject({
      status: 'active',
      suspended_at: null,
      deletes_at: null,
    });
    expect((await company.as.get('/v1/auth/me')).status).toBe(200);
    expect(readReason(await restoreOrganization(company))).toEqual([409, 'not_deleting']);
    advanceClock(31 * DAY_MS);
    await runScheduled();
    expect(await readStatus(company)).toBe('active');
  });

  it('keeps all data until its date has come', async () => {
    const company = await createOwnedCompany();
    await expectSuccess(deleteOrganization(company, '1'));
    await runScheduled();
    expect(await countRows('company_ends where id = ?', company.id)).toBe(0);
    await expectSuccess(restoreOrganization(company));
  });

  it('cannot be restored once its date has come', async () => {
    const company = await createOwnedCompany();
    await expectSuccess(deleteOrganization(company, '1'));
    advanceClock(DAY_MS + 1000);
    expect(readReason(await restoreOrganization(company))).toEqual([409, 'erasure_begun']);
    await expectSuccess(deleteAtOnce(company).catch(() => operator.get(makePath(company))));
    await runErasure(company);
    expect((await restoreOrganization(company)).status).toBe(404);
    expect((await deleteOrganization(company)).status).toBe(404);
    expect((await operator.get(makePath(company))).status).toBe(404);
  });

  it('cannot be restored, deleted again or reactivated when its erasure begins during the request', async () => {
    for (const [ask, answer] of [
      [
        (company: { id: string }, env: Record<string, string>) =>
          operator.post(`${makePath(company)}/restore`, { env }),
        'erasure_begun',
      ],
      [
        (company: { id: string }, env: Record<string, string>) =>
          operator.delete(`${makePath(company)}?after_days=0`, { env }),
        'deleting',
      ],
    ] as const) {
      const company = await createOwnedCompany();
      await expectSuccess(deleteOrganization(company, '5'));
      const beginErasure = () => runSql("insert into company_ends values (?, 1, null, '{}', null)", company.id);
      const lateAnswer = await sendDuringRace(/^update "companies"/, beginErasure, (changedEnv) =>
        ask(company, changedEnv),
      );
      expect(readReason(lateAnswer)).toEqual([409, answer]);
      expect(await readStatus(company)).toBe('deleting');
    }
    const company = await createOwnedCompany();
    const racingPatch = await sendDuringRace(
      /^update "companies"/,
      () => expectSuccess(deleteOrganization(company)),
      (changedEnv) => operator.patch(makePath(company), { json: { status: 'active' }, env: changedEnv }),
    );
    expect(readReason(racingPatch)).toEqual([409, 'deleting']);
  });
});

describe('an organization that is erased', () => {
  it('leaves nothing but its certificate; its slug is free, and other companies are unchanged', async () => {
    const company = await createProvisionedCompany();
    const other = await createProvisionedCompany();
    await uploadFiles(company, [new File(['city\nRio of the marks\n'], 'cities.csv')]);
    const listOtherUsers = async () => (await expectSuccess(createSignedCaller(other.apiKey).get('/users'))).results;
    const usersBefore = await listOtherUsers();
    const letter = { companyId: company.id, jobId: newId(Date.now()), type: 'upload.load' };
    await env.FILES.put('dead-letters/data-console-jobs/1-a.json', JSON.stringify({ id: 'a', body: letter }));
    await env.FILES.put('dead-letters-sent/data-console-jobs/1-b.json', JSON.stringify({ id: 'b', body: letter }));
    await env.FILES.put(
      'undelivered/audit/broken.ndjson',
      `no record\n{"companyId":"${company.id}"}\n{"companyId":"${other.id}"}\n`,
    );
    await runSql(
      "insert into mail_requests (id, kind, email, counted_as, requested_at, attempts) values ('m', 'password_reset', ?, 'x', 1, 0)",
      company.owner.email,
    );
    expect((await createCompany({ slug: company.slug })).status).toBe(409);
    const claims = await decodeClaims(await expectNothingLeft(company, ['Rio of the marks']));
    expect(claims).toEqual({
      organization_id: company.id,
      requested_at: expect.stringMatching(/Z$/),
      completed_at: expect.stringMatching(/Z$/),
      stores: DATA_STORES.map(({ name }) => ({
        store: name,
        removed: expect.any(Number),
        at: expect.stringMatching(/Z$/),
      })),
      backups_until: new Date(Date.parse(claims.completed_at) + 30 * DAY_MS).toISOString(),
    });
    const removedCounts = Object.fromEntries(
      claims.stores.map((store: { store: string; removed: number }) => [store.store, store.removed]),
    );
    expect(removedCounts.database).toBe(1);
    expect(removedCounts.control_records).toBeGreaterThan(10);
    expect(removedCounts.files).toBeGreaterThan(0);
    expect(removedCounts.undelivered).toBe(3);
    const brokenFile = await env.FILES.get('undelivered/audit/broken.ndjson');
    await env.FILES.delete('undelivered/audit/broken.ndjson');
    expect(await brokenFile?.text()).toBe(`no record\n{"companyId":"${other.id}"}\n`);
    expect(await listOtherUsers()).toEqual(usersBefore);
    expect((await createCompany({ slug: company.slug })).status).toBe(201);
    expect((await company.as.get('/v1/auth/me')).status).toBe(401);
  });

  it('is not recreated by late messages, and late log records of it are discarded', async () => {
    const company = await createProvisionedCompany();
    await deleteAtOnce(company);
    await runErasure(company);
    await deliverMessage({ type: 'upload.load', companyId: company.id, jobId: newId(Date.now()) });
    await deliverMessage({ type: 'knowledge.recheck_questions', companyId: company.id, after: '' });
    await deliverMessage({ type: 'schedules.run', companyId: company.id });
    const record = makeAuditRecord({ companyId: company.id, principalId: 'late' });
    await storeInLog(env as never, 'audit', record);
    expect(await findStoredPlaces([company.id, 'late'])).toEqual([]);
    const companyLog = env.COMPANY_LOG.getByName(company.id);
    await evictDurableObject(companyLog);
    await storeInLog(env as never, 'audit', record);
    await runInDurableObject(companyLog, (_, { storage }) => storage.setAlarm(Date.now() + 60_000));
    await runDurableObjectAlarm(companyLog);
    expect(await runInDurableObject(companyLog, (_, { storage }) => storage.getAlarm())).toBeNull();
    expect(await findStoredPlaces([company.id, 'late'])).toEqual([]);
  });

  it('is erased again to remove rows that were still being written during the first erasure', async () => {
    const company = await createOwnedCompany();
    await deleteAtOnce(company);
    const certificate = await runErasure(company);
    await env.FILES.put(`uploads/${company.id}/job/0`, 'late');
    advanceClock(2 * 60 * 60 * 1000);
    await runScheduled();
    expect(await findStoredPlaces([company.id])).toEqual([]);
    await env.FILES.put(`uploads/${company.id}/job/0`, 'later');
    advanceClock(2 * DAY_MS);
    await runScheduled();
    expect(await findStoredPlaces([company.id])).toEqual([]);
    expect(await countRows('company_ends where id = ? and due_at is null', company.id)).toBe(1);
    expect(await runErasure(company)).toBe(certificate);
  });
});

describe('the erasure of an organization', () => {
  const injectFault = async (company: { id: string }, call: string, status: number, faultCount: number) => {
    const url = new URL('/_test/faults', inject('neonApiUrl'));
    const body = JSON.stringify({ call, status, times: faultCount, project_name: `console-${company.id}` });
    expect((await fetch(url, { method: 'POST', body })).status).toBe(200);
  };

  it.each([404, 423, 500])('continues when Neon answers %i', async (status) => {
    const company = await createProvisionedCompany();
    await injectFault(company, 'delete_project', status, 1);
    await deleteAtOnce(company);
    const { stores } = await decodeClaims(await runErasure(company));
    expect(stores.find(({ store }: { store: string }) => store === 'database').removed).toBe(1);
    expect(await createLocalNeonApi().findProject(`console-${company.id}`, Date.now() + 10_000)).toBeNull();
  });

  it('waits for a slow bucket, and deletes the control records last', async () => {
    const company = await createOwnedCompany();
    await env.FILES.put(`${company.id}/logos/x`, 'x');
    await deleteAtOnce(company);
    const realSetTimeout = setTimeout;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const FILES = { list: () => new Promise(() => undefined) };
      let isOver = false;
      const run = runScheduled({ FILES }).finally(() => {
        isOver = true;
      });
      // In steps: how far the run has come by then is the machine's affair.
      while (!isOver) {
        await vi.advanceTimersByTimeAsync(5000);
        await new Promise((resolve) => realSetTimeout(resolve, 10));
      }
      await run;
    } finally {
      vi.useRealTimers();
    }
    await runErasure(company);
    expect(await findStoredPlaces([company.id])).toEqual([]);
  });

  it('waits for a Durable Object that is down', async () => {
    const company = await createOwnedCompany();
    await deleteAtOnce(company);
    const failingNamespace = { getByName: () => ({ erase: () => Promise.reject(new Error('the object is away')) }) };
    await runScheduled({ COMPANY_LOG: failingNamespace });
    expect(await readStatus(company)).toBe('deleting');
    expect(await countRows('users where company_id = ?', company.id)).toBe(1);
    await runErasure(company);
    expect(await findStoredPlaces([company.id])).toEqual([]);
  });

  it('resumes wherever it was interrupted, and counts each row once', async () => {
    const company = await createOwnedCompany();
    await createAllowedUser(company);
    const rows = await Promise.all(
      CONTROL_TABLES.map((table) => countRows(`"${getControlTableName(table)}" where company_id = ?`, company.id)),
    );
    await deleteAtOnce(company);
    const tables = ['mail_requests', 'shared', 'sessions', 'users', 'accounts', 'companies'];
    for (const table of tables) await runScheduled(createFailingEnv(new RegExp(`^delete from "${table}"`)));
    await runScheduled(createFailingEnv(/^update "company_ends"/));
    advanceClock(10 * 60 * 1000);
    const { stores } = await decodeClaims(await runErasure(company));
    const removedRowCount = stores.find(({ store }: { store: string }) => store === 'control_records').removed;
    // What triggers delete of itself is no row of the count.
    const derivedTables = ['account_users'];
    const countedRows = rows.filter(
      (_, at) => !derivedTables.includes(getControlTableName(CONTROL_TABLES[at] as never)),
    );
    expect(removedRowCount).toBe(countedRows.reduce((sum, count) => sum + count, 0));
    expect(await findStoredPlaces([company.id])).toEqual([]);
  });

  it('finds rows that are written while it runs', async () => {
    const company = await createOwnedCompany();
    await deleteAtOnce(company);
    const { id } = company;
    const insertLateMessage = () => runSql("insert into outbox values ('late', ?, '{}', 1)", id);
    await sendDuringRace(/^select .* from "outbox"/, insertLateMessage, (changedEnv) => runScheduled(changedEnv));
    expect(await readStatus(company)).toBe('deleting');
    await runErasure(company);
    expect(await findStoredPlaces([company.id])).toEqual([]);
  });
});

describe('the list of stores to erase', () => {
  it('includes every table of the control database', async () => {
    const listedTables = [...CONTROL_TABLES.map(getControlTableName), ...Object.keys(OTHER_TABLES)];
    expect(listedTables.toSorted()).toEqual((await listControlTables()).toSorted());
    expect(new Set(listedTables).size).toBe(listedTables.length);
  });

  it('includes every Worker binding, and the certificate includes every store behind a binding', () => {
    const storesOfBindings = Object.values(DATA_STORES_BY_BINDING).flatMap((stores) =>
      typeof stores === 'string' ? [] : stores,
    );
    // The database is Neon's, which is no binding.
    expect(new Set(storesOfBindings.map(({ name }) => name))).toEqual(
      new Set(DATA_STORES.map(({ name }) => name).filter((name) => name !== 'database')),
    );
    for (const name of OBJECT_BINDING_NAMES) expect(DATA_STORES_BY_BINDING).toHaveProperty(name);
  });

  it('names each file prefix once', () => {
    const filePrefixes = [...listOwnFilePrefixes('of-the-company'), ...SHARED_FILE_PREFIXES];
    expect(new Set(filePrefixes).size).toBe(filePrefixes.length);
  });
});
