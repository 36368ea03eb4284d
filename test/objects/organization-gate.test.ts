import {
  abortAllDurableObjects,
  env,
  evictDurableObject,
  runDurableObjectAlarm,
  runInDurableObject,
} from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import type { AdmissionRequest, OrganizationGate } from '../../src/objects/organization-gate.ts';
import { sendWireRequest, signRequest } from '../signature/support.ts';
import { resetClock, stopClockAt } from '../support/clock.ts';
import { createOwnedCompany } from '../support/companies.ts';

const CLOCK_MARGIN_MS = 15 * 60_000;

const company = await createOwnedCompany();

let gateCount = 0;
/** Creates a gate that belongs to no company, to be called directly. */
function createGate() {
  const gate = env.ORGANIZATION_GATE.getByName(`gate-${++gateCount}`);
  const requestAdmission = async (admission: Partial<AdmissionRequest> = {}) => {
    const verdict = await gate.admit({
      principalId: 'somebody',
      requestId: crypto.randomUUID(),
      limits: { organization: 1000, principal: 100 },
      ...admission,
    });
    return verdict.refused ?? verdict;
  };
  return { gate, ask: requestAdmission };
}

const createNonce = (value: string, goodUntil = Date.now() + 300_000, accessKey = 'sa_key') => ({
  accessKey,
  value,
  goodUntil,
});
const readNonceTables = (gate: DurableObjectStub) =>
  runInDurableObject(gate, (_, { storage: { sql } }) => {
    const tables = sql
      .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE name GLOB 'nonces*' ORDER BY name")
      .toArray()
      .map(({ name }) => name);
    const nonces = tables.flatMap((name) => sql.exec<{ nonce: string }>(`SELECT nonce FROM ${name}`).toArray());
    return { tables, nonces: nonces.map(({ nonce }) => nonce).sort() };
  });
const listNonces = async (gate: DurableObjectStub) => (await readNonceTables(gate)).nonces;

const NO_LIMITS = { organization: 1e9, principal: 1e9 };

/** Counts the rows that an object writes during `work`, by the platform's own count; an alarm is one row. */
function countRowsWritten(storage: DurableObjectStorage, work: () => void): number {
  const storagePrototype = Object.getPrototypeOf(storage) as DurableObjectStorage;
  const { setAlarm } = storagePrototype;
  let alarmCount = 0;
  storagePrototype.setAlarm = function counted(this: DurableObjectStorage, ...alarmArguments) {
    alarmCount += 1;
    return setAlarm.apply(this, alarmArguments);
  };
  const sqlPrototype = Object.getPrototypeOf(storage.sql) as SqlStorage;
  const { exec } = sqlPrototype;
  const cursors: { rowsWritten: number }[] = [];
  sqlPrototype.exec = function counted(this: SqlStorage, ...sqlArguments: Parameters<SqlStorage['exec']>) {
    const cursor = exec.apply(this, sqlArguments);
    cursors.push(cursor);
    return cursor;
  } as SqlStorage['exec'];
  work();
  sqlPrototype.exec = exec;
  storagePrototype.setAlarm = setAlarm;
  return cursors.reduce((sum, { rowsWritten }) => sum + rowsWritten, alarmCount);
}

const HOUR_MS = 60 * 60_000;
const getEndOfHour = (time: number) => (Math.floor(time / HOUR_MS) + 1) * HOUR_MS;

describe('a signed request', () => {
  it('is accepted once', async () => {
    const signedRequest = await signRequest(company.apiKey);
    expect((await sendWireRequest(signedRequest)).status).toBe(200);
    const { status, body } = await sendWireRequest(signedRequest);
    expect(status).toBe(401);
    expect(body).toMatchObject({ error: 'Unauthorized', details: { reason: 'nonce_reused', field: 'x-nonce' } });
  });

  it('is accepted once when a hundred copies arrive together', async () => {
    const signedRequest = await signRequest(company.apiKey);
    const answers = await Promise.all(Array.from({ length: 100 }, () => sendWireRequest(signedRequest)));
    const reasons = answers.map(({ status, body }) => (status === 200 ? 'accepted' : body.details.reason));
    expect(reasons.filter((reason) => reason === 'accepted')).toHaveLength(1);
    expect(reasons.filter((reason) => reason === 'nonce_reused')).toHaveLength(99);
  });

  it.each([
    ['is evicted', () => evictDurableObject(env.ORGANIZATION_GATE.getByName(company.id))],
    ['is restarted', () => abortAllDurableObjects()],
  ])('is remembered when the organization’s Durable Object %s', async (_what, interruptGate) => {
    const signedRequest = await signRequest(company.apiKey);
    expect((await sendWireRequest(signedRequest)).status).toBe(200);
    await interruptGate();
    expect((await sendWireRequest(signedRequest)).body.details.reason).toBe('nonce_reused');
    expect((await sendWireRequest(await signRequest(company.apiKey))).status).toBe(200);
  });

  it('may have a nonce that another key has used', async () => {
    const { gate, ask } = createGate();
    expect(await ask({ nonce: createNonce('same-nonce', undefined, 'sa_one') })).not.toBe('nonce_reused');
    expect(await ask({ nonce: createNonce('same-nonce', undefined, 'sa_two') })).not.toBe('nonce_reused');
    expect(await ask({ nonce: createNonce('same-nonce', undefined, 'sa_one') })).toBe('nonce_reused');
    expect(await listNonces(gate)).toHaveLength(2);
  });

  it('may be sent again when a rate limit refused it', async () => {
    const signedRequest = await signRequest(company.apiKey);
    expect((await sendWireRequest(signedRequest, { RATE_LIMIT_ORGANIZATION_PER_MINUTE: '1' })).status).toBe(429);
    expect((await sendWireRequest(signedRequest)).status).toBe(200);
    expect((await sendWireRequest(signedRequest)).status).toBe(401);
  });
});

describe('the withdrawal of an admitted request', () => {
  it('gives back what the request used up of both rate limits, and its nonce', async () => {
    const { gate, ask } = createGate();
    const limits = { organization: 2, principal: 2 };
    const admission = { principalId: 'somebody', requestId: 'refused', limits, nonce: createNonce('given-back') };
    expect(await ask(admission)).toMatchObject({ organization: { remaining: 1 }, principal: { remaining: 1 } });
    await gate.withdraw(admission);
    const repeatedVerdict = await ask({ ...admission, requestId: 'sent again' });
    expect(repeatedVerdict).toMatchObject({ organization: { remaining: 1 }, principal: { remaining: 1 } });
  });

  it('gives back only the nonce of that request, however often it is repeated', async () => {
    const { gate, ask } = createGate();
    const admission = { principalId: 'somebody', limits: { organization: 9, principal: 9 }, requestId: 'refused' };
    const otherNonces = [createNonce('another'), createNonce('the-same', undefined, 'sa_other')];
    for (const other of otherNonces) await ask({ nonce: other });
    await ask({ ...admission, nonce: createNonce('the-same') });
    await gate.withdraw({ ...admission, nonce: createNonce('the-same') });
    for (const other of otherNonces) expect(await ask({ nonce: other })).toBe('nonce_reused');
    await ask({ nonce: createNonce('the-same'), requestId: 'sent again' });
    await gate.withdraw({ ...admission, nonce: createNonce('the-same') });
    expect(await ask({ nonce: createNonce('the-same') })).toBe('nonce_reused');
  });

  it('is possible without a nonce', async () => {
    const { gate, ask } = createGate();
    const admission = { principalId: 'somebody', limits: { organization: 9, principal: 9 }, requestId: 'refused' };
    await ask(admission);
    await gate.withdraw(admission);
    expect(await ask(admission)).toMatchObject({ organization: { remaining: 8 }, principal: { remaining: 8 } });
  });
});

describe('a nonce', () => {
  it('is deleted with all nonces of its hour when the last of them has expired, and not before', async () => {
    const { gate, ask } = createGate();
    const goodUntil = getEndOfHour(Date.now()) + HOUR_MS - CLOCK_MARGIN_MS - 1;
    await ask({ nonce: createNonce('a-minute-ago', goodUntil - 60_000) });
    await ask({ nonce: createNonce('last-of-hour', goodUntil) });
    await ask({ nonce: createNonce('next-hour', goodUntil + 1) });
    stopClockAt(goodUntil + CLOCK_MARGIN_MS);
    await runDurableObjectAlarm(gate);
    expect(await listNonces(gate)).toEqual(['a-minute-ago', 'last-of-hour', 'next-hour']);
    stopClockAt(goodUntil + CLOCK_MARGIN_MS + 1);
    await runDurableObjectAlarm(gate);
    expect(await listNonces(gate)).toEqual(['next-hour']);
    resetClock();
    expect(await ask({ nonce: createNonce('next-hour', goodUntil + 1) })).toBe('nonce_reused');
    expect(await ask({ nonce: createNonce('last-of-hour', goodUntil) })).not.toBe('nonce_reused');
  });

  it('is deleted by an alarm, which is set again while any nonce is left', async () => {
    const { gate, ask } = createGate();
    const readAlarm = () => runInDurableObject(gate, (_, { storage }) => storage.getAlarm());
    const goodUntil = getEndOfHour(Date.now()) + HOUR_MS - CLOCK_MARGIN_MS - 1;
    const end = goodUntil + CLOCK_MARGIN_MS + 1;
    await ask({ nonce: createNonce('first-nonce', goodUntil) });
    expect(await readAlarm()).toBe(end);
    await evictDurableObject(gate);
    await ask({ nonce: createNonce('later-nonce', goodUntil + 1) });
    expect(await readAlarm()).toBe(end);
    stopClockAt(end);
    await runDurableObjectAlarm(gate);
    expect(await listNonces(gate)).toEqual(['later-nonce']);
    expect(await readAlarm()).toBe(end + HOUR_MS);
    stopClockAt(end + HOUR_MS);
    await runDurableObjectAlarm(gate);
    expect(await readNonceTables(gate)).toEqual({ tables: [], nonces: [] });
    expect(await readAlarm()).toBeNull();
    resetClock();
    await ask({ nonce: createNonce('first-nonce', goodUntil) });
    expect(await readAlarm()).toBe(end);
  });

  it('writes one row, also after an eviction', async () => {
    const { gate, ask } = createGate();
    // Of two hours, so that the alarm is for the earlier one.
    const goodUntil = getEndOfHour(Date.now()) - CLOCK_MARGIN_MS - 1;
    await ask({ nonce: createNonce('first-nonce', goodUntil + HOUR_MS) });
    await ask({ nonce: createNonce('later-nonce', goodUntil + 2 * HOUR_MS) });
    const countRowsOfTen = (from: string) =>
      runInDurableObject(gate, (object: OrganizationGate, { storage }) =>
        countRowsWritten(storage, () => {
          for (let n = 0; n < 10; n += 1) {
            const value = `${from}-${n}`;
            const expiresAt = goodUntil + (n % 2 === 0 ? 1 : 2) * HOUR_MS;
            object.admit({
              principalId: 'ana',
              requestId: value,
              limits: NO_LIMITS,
              nonce: createNonce(value, expiresAt),
            });
          }
        }),
      );
    expect(await countRowsOfTen('before')).toBe(10);
    await evictDurableObject(gate);
    expect(await countRowsOfTen('behind')).toBe(10);
  });

  it('that the previous release stored is refused, and deleted after an hour', async () => {
    const { gate, ask } = createGate();
    await runInDurableObject(gate, (_, { storage: { sql } }) => {
      sql.exec(`CREATE TABLE nonces (access_key TEXT NOT NULL, nonce TEXT NOT NULL, expires_at INTEGER NOT NULL,
        PRIMARY KEY (access_key, nonce)) WITHOUT ROWID`);
      sql.exec('CREATE INDEX nonces_by_expiry ON nonces (expires_at)');
      sql.exec('ALTER TABLE nonces ADD COLUMN request_id TEXT');
      sql.exec('INSERT INTO nonces VALUES (?, ?, ?, ?)', 'sa_key', 'before', Date.now(), 'its request');
    });
    await evictDurableObject(gate);
    expect(await ask({ nonce: createNonce('before') })).toBe('nonce_reused');
    expect(await ask({ nonce: createNonce('before'), requestId: 'its request' })).not.toBe('nonce_reused');
    expect((await readNonceTables(gate)).tables).not.toContain('nonces');
    stopClockAt(getEndOfHour(Date.now()) + HOUR_MS);
    await ask({ nonce: createNonce('another', Date.now() + 2 * HOUR_MS) });
    await runDurableObjectAlarm(gate);
    expect(await listNonces(gate)).toEqual(['another']);
  });

  it('that an older release stored without a request id is refused', async () => {
    const { gate, ask } = createGate();
    await runInDurableObject(gate, (_, { storage: { sql } }) => {
      sql.exec('CREATE TABLE nonces (access_key, nonce, expires_at, PRIMARY KEY (access_key, nonce)) WITHOUT ROWID');
      sql.exec("INSERT INTO nonces VALUES ('sa_key', 'long before', 1)");
    });
    await evictDurableObject(gate);
    expect(await ask({ nonce: createNonce('long before') })).toBe('nonce_reused');
  });

  it('is refused when the date of its request has passed, stored or not', async () => {
    const { gate, ask } = createGate();
    const goodUntil = Date.now();
    stopClockAt(goodUntil);
    expect(await ask({ nonce: createNonce('last-moment', goodUntil) })).toMatchObject({ refused: null });
    stopClockAt(goodUntil + 1);
    expect(await ask({ nonce: createNonce('too-late-now', goodUntil) })).toBe('clock_skew');
    expect(await listNonces(gate)).toEqual(['last-moment']);
  });
});

describe('a call of the organization’s Durable Object whose answer is lost', () => {
  /** Creates a gate whose first call fails as calls fail on the platform; if `didWork`, after the gate has done the work. */
  const createFailingGate = (error: object, didWork: boolean) => {
    let callCount = 0;
    const getByName = (name: string) => ({
      admit: async (admission: AdmissionRequest) => {
        callCount += 1;
        const gate = env.ORGANIZATION_GATE.getByName(name);
        if (callCount > 1) return gate.admit(admission);
        if (didWork) await gate.admit(admission);
        throw Object.assign(new Error('Durable Object reset because its code was updated.'), error);
      },
    });
    const variables = { ORGANIZATION_GATE: { getByName } } as unknown as Record<string, string>;
    return { variables, calls: () => callCount };
  };

  it.each([
    ['the first one did its work', true],
    ['the first one did nothing', false],
  ])('is made once more when %s', async (_what, didWork) => {
    const { variables, calls } = createFailingGate({ retryable: true }, didWork);
    const signedRequest = await signRequest(company.apiKey);
    expect((await sendWireRequest(signedRequest, variables)).status).toBe(200);
    expect(calls()).toBe(2);
    expect((await sendWireRequest(signedRequest)).body.details.reason).toBe('nonce_reused');
  });

  it.each([
    ['an overloaded object', { retryable: true, overloaded: true }],
    ['an error that comes again', {}],
  ])('is not made again for %s', async (_what, error) => {
    const { variables, calls } = createFailingGate(error, false);
    expect((await sendWireRequest(await signRequest(company.apiKey), variables)).status).toBe(503);
    expect(calls()).toBe(1);
  });
});

describe('the rate limits of an organization', () => {
  it('count in a window that starts with the first request', async () => {
    const { ask } = createGate();
    const startedAt = Date.now();
    const first = await ask();
    await scheduler.wait(20);
    const secondVerdict = await ask();
    if (typeof first === 'string' || typeof secondVerdict === 'string') throw new Error('there is no nonce');
    expect(first.organization).toMatchObject({ limit: 1000, remaining: 999, allowed: true });
    expect(first.organization.resetAt).toBeGreaterThanOrEqual(startedAt + 60_000);
    expect(first.organization.resetAt).toBeLessThanOrEqual(Date.now() + 60_000);
    expect(secondVerdict.organization).toEqual({ ...first.organization, remaining: 998 });
    expect(secondVerdict.principal).toEqual({ ...first.principal, remaining: 98 });
  });

  it('count principals separately, and the organization as a whole', async () => {
    const { ask } = createGate();
    const limits = { organization: 3, principal: 2 };
    const verdicts: Awaited<ReturnType<typeof ask>>[] = [];
    for (const principalId of ['ana', 'ana', 'ana', 'bia', 'cid', 'cid'])
      verdicts.push(await ask({ principalId, limits }));
    expect(
      verdicts.map(
        (verdict) => typeof verdict !== 'string' && [verdict.organization.allowed, verdict.principal.allowed],
      ),
    ).toEqual([
      [true, true],
      [true, true],
      // The organization still has room, and keeps it.
      [true, false],
      [true, true],
      [false, true],
      [false, true],
    ]);
  });

  it('accept exactly as many of 300 simultaneous requests as they allow', async () => {
    const { ask } = createGate();
    const limits = { organization: 1000, principal: 100 };
    const verdicts = await Promise.all(Array.from({ length: 300 }, () => ask({ limits })));
    expect(verdicts.filter((verdict) => typeof verdict !== 'string' && verdict.principal.allowed)).toHaveLength(100);
  });
});
