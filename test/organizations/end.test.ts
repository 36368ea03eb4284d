import { env, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { compactVerify, createLocalJWKSet } from 'jose';
import { afterEach, describe, expect, inject, it, vi } from 'vitest';
import { DAY_MS } from '../../src/kernel/clock.ts';
import { newId } from '../../src/kernel/ids.ts';
import { storeInLog } from '../../src/modules/company-log/service.ts';
import { CONTROL_TABLES, getName, OTHER_TABLES } from '../../src/modules/organizations/end/control-store.ts';
import {
  listOwnFilePrefixes,
  SHARED_FILE_PREFIXES,
  STORES,
  STORES_OF_BINDINGS,
} from '../../src/modules/organizations/end/stores.ts';
import { OBJECT_NAMES } from '../../src/objects/jurisdiction.ts';
import { call } from '../support/api.ts';
import { advanceClock, resetClock, runScheduled } from '../support/clock.ts';
import { makeAuditRecord } from '../support/log.ts';
import { createFailingEnv } from '../support/outage.ts';
import { countRows, sendOvertaken } from '../support/rival.ts';
import { must, signed } from '../support/signed.ts';
import { neon } from '../support/tenant.ts';
import { aCompany, aProvisionedCompany, aUser, createCompany, logIn, PASSWORD } from '../support/worlds.ts';
import { deliverMessage, uploadFiles } from '../uploads/support.ts';
import {
  endAtOnce,
  expectNothingLeft,
  findPlaces,
  listControlTables,
  makePath,
  operator,
  runErasure,
} from './looking.ts';

const deleteOrganization = (company: { id: string }, days?: string) =>
  operator.delete(`${makePath(company)}${days === undefined ? '' : `?after_days=${days}`}`);
const restore = (company: { id: string }) => operator.post(`${makePath(company)}/restore`);
const readStatus = async (company: { id: string }) => (await operator.get(makePath(company))).body.status;
const countDaysUntil = (time: string) => Math.round((Date.parse(time) - Date.now()) / DAY_MS);
const readReason = ({ status, body }: { status: number; body: { details?: { reason?: string } } }) => [
  status,
  body.details?.reason,
];
const decodeClaims = async (certificate: string) => {
  const { body } = await call('GET', '/.well-known/jwks.json');
  const { payload, protectedHeader } = await compactVerify(certificate, createLocalJWKSet(body));
  expect(protectedHeader).toMatchObject({ alg: 'EdDSA', typ: 'erasure-certificate' });
  return JSON.parse(new TextDecoder().decode(payload));
};

afterEach(resetClock);

describe('an organization that is scheduled for deletion', () => {
  it('is suspended at once, shows when its erasure begins, and is listed as deleting', async () => {
    const company = await aCompany();
    const { status, body } = await deleteOrganization(company);
    expect([status, countDaysUntil(body.deletes_at)]).toEqual([202, 30]);
    expect(await must(operator.get(makePath(company)))).toMatchObject({
      status: 'deleting',
      deletes_at: body.deletes_at,
      suspended_at: expect.stringMatching(/Z$/),
    });
    expect((await company.as.get('/v1/auth/me')).status).toBe(403);
    expect((await logIn(company.slug, company.owner.email, PASSWORD)).status).toBe(403);
    expect((await signed(company.apiKey).get('/groups')).status).toBe(403);
    const found = async (as: string) =>
      (await must(operator.get(`/admin/organizations?search=${company.slug}&status=${as}`))).total;
    expect([await found('deleting'), await found('suspended'), await found('active')]).toEqual([1, 0, 0]);
  });

  it.each(['-1', '91', '1.5', '1e1', '', 'soon'])('cannot be deleted after %j days', async (days) => {
    const company = await aCompany();
    const { status, body } = await deleteOrganization(company, days);
    expect([status, body.details[0].field]).toEqual([422, 'after_days']);
    expect(await readStatus(company)).toBe('active');
  });

  it('is deleted once: a later date is refused, an earlier one counts, and its status stays', async () => {
    const company = await aCompany();
    await must(deleteOrganization(company, '20'));
    const { body: refused, status } = await deleteOrganization(company, '20');
    expect([status, refused.details.reason, countDaysUntil(refused.details.deletes_at)]).toEqual([409, 'deleting', 20]);
    expect(readReason(await deleteOrganization(company))).toEqual([409, 'deleting']);
    const { body } = await deleteOrganization(company, '2');
    expect(countDaysUntil(body.deletes_at)).toBe(2);
    for (const change of ['active', 'suspended']) {
      expect(readReason(await operator.patch(makePath(company), { json: { status: change } }))).toEqual([
        409,
        'deleting',
      ]);
    }
    expect(await must(operator.patch(makePath(company), { json: { name: 'Globex' } }))).toMatchObject({
      name: 'Globex',
      status: 'deleting',
    });
  });

  it('is active again when it is restored', async () => {
    const company = await aCompany();
    await must(operator.patch(makePath(company), { json: { status: 'suspended' } }));
    await must(deleteOrganization(company));
    expect(await must(restore(company))).toMatchObject({ status: 'active', suspended_at: null, deletes_at: null });
    expect((await company.as.get('/v1/auth/me')).status).toBe(200);
    expect(readReason(await restore(company))).toEqual([409, 'not_deleting']);
    advanceClock(31 * DAY_MS);
    await runScheduled();
    expect(await readStatus(company)).toBe('active');
  });

  it('keeps all data until its date has come', async () => {
    const company = await aCompany();
    await must(deleteOrganization(company, '1'));
    await runScheduled();
    expect(await countRows('company_ends where id = ?', company.id)).toBe(0);
    await must(restore(company));
  });

  it('cannot be restored once its date has come', async () => {
    const company = await aCompany();
    await must(deleteOrganization(company, '1'));
    advanceClock(DAY_MS + 1000);
    expect(readReason(await restore(company))).toEqual([409, 'erasure_begun']);
    await must(endAtOnce(company).catch(() => operator.get(makePath(company))));
    await runErasure(company);
    expect((await restore(company)).status).toBe(404);
    expect((await deleteOrganization(company)).status).toBe(404);
    expect((await operator.get(makePath(company))).status).toBe(404);
  });

  it('cannot be restored, deleted anew or reactivated when its erasure begins meanwhile', async () => {
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
      const company = await aCompany();
      await must(deleteOrganization(company, '5'));
      const begin = () =>
        env.CONTROL_DB.prepare("insert into company_ends values (?, 1, null, '{}', null)").bind(company.id).run();
      const answered = await sendOvertaken(/^update "companies"/, begin, (changed) => ask(company, changed));
      expect(readReason(answered)).toEqual([409, answer]);
      expect(await readStatus(company)).toBe('deleting');
    }
    const company = await aCompany();
    const patched = await sendOvertaken(
      /^update "companies"/,
      () => must(deleteOrganization(company)),
      (changed) => operator.patch(makePath(company), { json: { status: 'active' }, env: changed }),
    );
    expect(readReason(patched)).toEqual([409, 'deleting']);
  });
});

describe('an organization that is erased', () => {
  it('leaves nothing but its certificate; its slug is free, and other companies are unchanged', async () => {
    const company = await aProvisionedCompany();
    const other = await aProvisionedCompany();
    await uploadFiles(company, [new File(['city\nRio of the marks\n'], 'cities.csv')]);
    const kept = async () => (await must(signed(other.apiKey).get('/users'))).results;
    const before = await kept();
    const letter = { companyId: company.id, jobId: newId(Date.now()), type: 'upload.load' };
    await env.FILES.put('dead-letters/data-console-jobs/1-a.json', JSON.stringify({ id: 'a', body: letter }));
    await env.FILES.put('dead-letters-sent/data-console-jobs/1-b.json', JSON.stringify({ id: 'b', body: letter }));
    await env.FILES.put(
      'undelivered/audit/broken.ndjson',
      `no record\n{"companyId":"${company.id}"}\n{"companyId":"${other.id}"}\n`,
    );
    await env.CONTROL_DB.prepare(
      "insert into mail_requests (id, kind, email, counted_as, requested_at, attempts) values ('m', 'password_reset', ?, 'x', 1, 0)",
    )
      .bind(company.owner.email)
      .run();
    expect((await createCompany({ slug: company.slug })).status).toBe(409);
    const claims = await decodeClaims(await expectNothingLeft(company, ['Rio of the marks']));
    expect(claims).toEqual({
      organization_id: company.id,
      requested_at: expect.stringMatching(/Z$/),
      completed_at: expect.stringMatching(/Z$/),
      stores: STORES.map(({ name }) => ({ store: name, removed: expect.any(Number), at: expect.stringMatching(/Z$/) })),
      backups_until: new Date(Date.parse(claims.completed_at) + 30 * DAY_MS).toISOString(),
    });
    const removed = Object.fromEntries(
      claims.stores.map((each: { store: string; removed: number }) => [each.store, each.removed]),
    );
    expect(removed.database).toBe(1);
    expect(removed.control_records).toBeGreaterThan(10);
    expect(removed.files).toBeGreaterThan(0);
    expect(removed.undelivered).toBe(3);
    const broken = await env.FILES.get('undelivered/audit/broken.ndjson');
    await env.FILES.delete('undelivered/audit/broken.ndjson');
    expect(await broken?.text()).toBe(`no record\n{"companyId":"${other.id}"}\n`);
    expect(await kept()).toEqual(before);
    expect((await createCompany({ slug: company.slug })).status).toBe(201);
    expect((await company.as.get('/v1/auth/me')).status).toBe(401);
  });

  it('is not restored by late messages, and late log records of it are discarded', async () => {
    const company = await aProvisionedCompany();
    await endAtOnce(company);
    await runErasure(company);
    await deliverMessage({ type: 'upload.load', companyId: company.id, jobId: newId(Date.now()) });
    await deliverMessage({ type: 'knowledge.recheck_questions', companyId: company.id, after: '' });
    await deliverMessage({ type: 'schedules.run', companyId: company.id });
    const record = makeAuditRecord({ companyId: company.id, principalId: 'late' });
    await storeInLog(env as never, 'audit', record);
    expect(await findPlaces([company.id, 'late'])).toEqual([]);
    const log = env.COMPANY_LOG.getByName(company.id);
    await evictDurableObject(log);
    await storeInLog(env as never, 'audit', record);
    await runInDurableObject(log, (_, { storage }) => storage.setAlarm(Date.now() + 60_000));
    await runDurableObjectAlarm(log);
    expect(await runInDurableObject(log, (_, { storage }) => storage.getAlarm())).toBeNull();
    expect(await findPlaces([company.id, 'late'])).toEqual([]);
  });

  it('is erased once more for what was still being written', async () => {
    const company = await aCompany();
    await endAtOnce(company);
    const certificate = await runErasure(company);
    await env.FILES.put(`uploads/${company.id}/job/0`, 'late');
    advanceClock(2 * 60 * 60 * 1000);
    await runScheduled();
    expect(await findPlaces([company.id])).toEqual([]);
    await env.FILES.put(`uploads/${company.id}/job/0`, 'later');
    advanceClock(2 * DAY_MS);
    await runScheduled();
    expect(await findPlaces([company.id])).toEqual([]);
    expect(await countRows('company_ends where id = ? and due_at is null', company.id)).toBe(1);
    expect(await runErasure(company)).toBe(certificate);
  });
});

describe('the erasure of an organization', () => {
  const fault = async (company: { id: string }, call: string, status: number, times: number) => {
    const url = new URL('/_test/faults', inject('neonApiUrl'));
    const body = JSON.stringify({ call, status, times, project_name: `console-${company.id}` });
    expect((await fetch(url, { method: 'POST', body })).status).toBe(200);
  };

  it.each([404, 423, 500])('goes on when Neon answers %i', async (status) => {
    const company = await aProvisionedCompany();
    await fault(company, 'delete_project', status, 1);
    await endAtOnce(company);
    const { stores } = await decodeClaims(await runErasure(company));
    expect(stores.find(({ store }: { store: string }) => store === 'database').removed).toBe(1);
    expect(await neon().findProject(`console-${company.id}`, Date.now() + 10_000)).toBeNull();
  });

  it('waits for a slow bucket, and deletes the control records last', async () => {
    const company = await aCompany();
    await env.FILES.put(`${company.id}/logos/x`, 'x');
    await endAtOnce(company);
    const turn = setTimeout;
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
        await new Promise((resolve) => turn(resolve, 10));
      }
      await run;
    } finally {
      vi.useRealTimers();
    }
    await runErasure(company);
    expect(await findPlaces([company.id])).toEqual([]);
  });

  it('waits for a Durable Object that is down', async () => {
    const company = await aCompany();
    await endAtOnce(company);
    const away = { getByName: () => ({ erase: () => Promise.reject(new Error('the object is away')) }) };
    await runScheduled({ COMPANY_LOG: away });
    expect(await readStatus(company)).toBe('deleting');
    expect(await countRows('users where company_id = ?', company.id)).toBe(1);
    await runErasure(company);
    expect(await findPlaces([company.id])).toEqual([]);
  });

  it('resumes wherever it was interrupted, and counts each row once', async () => {
    const company = await aCompany();
    await aUser(company);
    const rows = await Promise.all(
      CONTROL_TABLES.map((table) => countRows(`"${getName(table)}" where company_id = ?`, company.id)),
    );
    await endAtOnce(company);
    const tables = ['mail_requests', 'shared', 'sessions', 'users', 'accounts', 'companies'];
    for (const table of tables) await runScheduled(createFailingEnv(new RegExp(`^delete from "${table}"`)));
    await runScheduled(createFailingEnv(/^update "company_ends"/));
    advanceClock(10 * 60 * 1000);
    const { stores } = await decodeClaims(await runErasure(company));
    const removed = stores.find(({ store }: { store: string }) => store === 'control_records').removed;
    // What triggers delete of itself is no row of the count.
    const derived = ['account_users'];
    const own = rows.filter((_, at) => !derived.includes(getName(CONTROL_TABLES[at] as never)));
    expect(removed).toBe(own.reduce((sum, count) => sum + count, 0));
    expect(await findPlaces([company.id])).toEqual([]);
  });

  it('finds rows that are written while it runs', async () => {
    const company = await aCompany();
    await endAtOnce(company);
    const { id } = company;
    const late = () => env.CONTROL_DB.prepare("insert into outbox values ('late', ?, '{}', 1)").bind(id).run();
    await sendOvertaken(/^select .* from "outbox"/, late, (changed) => runScheduled(changed));
    expect(await readStatus(company)).toBe('deleting');
    await runErasure(company);
    expect(await findPlaces([company.id])).toEqual([]);
  });
});

describe('the list of stores to erase', () => {
  it('has every table of the control database', async () => {
    const listed = [...CONTROL_TABLES.map(getName), ...Object.keys(OTHER_TABLES)];
    expect(listed.toSorted()).toEqual((await listControlTables()).toSorted());
    expect(new Set(listed).size).toBe(listed.length);
  });

  it('has every Worker binding, and the certificate has every store behind a binding', () => {
    const bound = Object.values(STORES_OF_BINDINGS).flatMap((stores) => (typeof stores === 'string' ? [] : stores));
    // The database is Neon's, which is no binding.
    expect(new Set(bound.map(({ name }) => name))).toEqual(
      new Set(STORES.map(({ name }) => name).filter((name) => name !== 'database')),
    );
    for (const name of OBJECT_NAMES) expect(STORES_OF_BINDINGS).toHaveProperty(name);
  });

  it('names each file prefix once', () => {
    const places = [...listOwnFilePrefixes('of-the-company'), ...SHARED_FILE_PREFIXES];
    expect(new Set(places).size).toBe(places.length);
  });
});
