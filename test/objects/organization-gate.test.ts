import {
  abortAllDurableObjects,
  env,
  evictDurableObject,
  runDurableObjectAlarm,
  runInDurableObject,
} from 'cloudflare:test';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Admission, OrganizationGate } from '../../src/objects/organization-gate.ts';
import { sendWire, signRequest } from '../signature/support.ts';
import { resetClock, stopClockAt } from '../support/clock.ts';
import { aCompany, type Company } from '../support/worlds.ts';

const MARGIN_MS = 15 * 60_000;

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});
afterEach(resetClock);

let gates = 0;
/** A gate of no company, to be called directly. */
function aGate() {
  gates += 1;
  const gate = env.ORGANIZATION_GATE.getByName(`gate-${gates}`);
  const ask = async (admission: Partial<Admission> = {}) => {
    const verdict = await gate.admit({
      principalId: 'somebody',
      requestId: crypto.randomUUID(),
      limits: { organization: 1000, principal: 100 },
      ...admission,
    });
    return verdict.refused ?? verdict;
  };
  return { gate, ask };
}

const nonce = (value: string, goodUntil = Date.now() + 300_000, accessKey = 'sa_key') => ({
  accessKey,
  value,
  goodUntil,
});
/** The tables of nonces that a gate has, and the nonces in them. */
const readNonceTables = (gate: DurableObjectStub) =>
  runInDurableObject(gate, (_, { storage: { sql } }) => {
    const tables = sql
      .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE name GLOB 'nonces*' ORDER BY name")
      .toArray()
      .map(({ name }) => name);
    const nonces = tables.flatMap((name) => sql.exec<{ nonce: string }>(`SELECT nonce FROM ${name}`).toArray());
    return { tables, nonces: nonces.map(({ nonce }) => nonce).sort() };
  });
const remembered = async (gate: DurableObjectStub) => (await readNonceTables(gate)).nonces;

const NO_LIMITS = { organization: 1e9, principal: 1e9 };

/** The rows that an object writes meanwhile, by the platform's own count; an alarm is one. */
function rowsWrittenBy(storage: DurableObjectStorage, work: () => void): number {
  const storageOf = Object.getPrototypeOf(storage) as DurableObjectStorage;
  const { setAlarm } = storageOf;
  let alarms = 0;
  storageOf.setAlarm = function counted(this: DurableObjectStorage, ...given) {
    alarms += 1;
    return setAlarm.apply(this, given);
  };
  const prototype = Object.getPrototypeOf(storage.sql) as SqlStorage;
  const { exec } = prototype;
  const cursors: { rowsWritten: number }[] = [];
  prototype.exec = function counted(this: SqlStorage, ...given: Parameters<SqlStorage['exec']>) {
    const cursor = exec.apply(this, given);
    cursors.push(cursor);
    return cursor;
  } as SqlStorage['exec'];
  work();
  prototype.exec = exec;
  storageOf.setAlarm = setAlarm;
  return cursors.reduce((sum, { rowsWritten }) => sum + rowsWritten, alarms);
}

/** When the hour is over that a time lies in. */
const HOUR_MS = 60 * 60_000;
const endOfHour = (time: number) => (Math.floor(time / HOUR_MS) + 1) * HOUR_MS;

describe('a signed request', () => {
  it('is accepted once', async () => {
    const wire = await signRequest(company.apiKey);
    expect((await sendWire(wire)).status).toBe(200);
    const { status, body } = await sendWire(wire);
    expect(status).toBe(401);
    expect(body).toMatchObject({ error: 'Unauthorized', details: { reason: 'nonce_reused', field: 'x-nonce' } });
  });

  it('is accepted once when a hundred copies arrive together', async () => {
    const wire = await signRequest(company.apiKey);
    const answers = await Promise.all(Array.from({ length: 100 }, () => sendWire(wire)));
    const reasons = answers.map(({ status, body }) => (status === 200 ? 'accepted' : body.details.reason));
    expect(reasons.filter((reason) => reason === 'accepted')).toHaveLength(1);
    expect(reasons.filter((reason) => reason === 'nonce_reused')).toHaveLength(99);
  });

  it.each([
    ['is evicted', () => evictDurableObject(env.ORGANIZATION_GATE.getByName(company.id))],
    ['is restarted', () => abortAllDurableObjects()],
  ])('is remembered when the organization’s Durable Object %s', async (_what, interrupt) => {
    const wire = await signRequest(company.apiKey);
    expect((await sendWire(wire)).status).toBe(200);
    await interrupt();
    expect((await sendWire(wire)).body.details.reason).toBe('nonce_reused');
    expect((await sendWire(await signRequest(company.apiKey))).status).toBe(200);
  });

  it('may have a nonce that another key has used', async () => {
    const { gate, ask } = aGate();
    expect(await ask({ nonce: nonce('same-nonce', undefined, 'sa_one') })).not.toBe('nonce_reused');
    expect(await ask({ nonce: nonce('same-nonce', undefined, 'sa_two') })).not.toBe('nonce_reused');
    expect(await ask({ nonce: nonce('same-nonce', undefined, 'sa_one') })).toBe('nonce_reused');
    expect(await remembered(gate)).toHaveLength(2);
  });

  it('may be sent again when a rate limit refused it', async () => {
    const wire = await signRequest(company.apiKey);
    expect((await sendWire(wire, { RATE_LIMIT_ORGANIZATION_PER_MINUTE: '1' })).status).toBe(429);
    expect((await sendWire(wire)).status).toBe(200);
    expect((await sendWire(wire)).status).toBe(401);
  });
});

describe('the withdrawal of an admitted request', () => {
  it('gives back what the request used up of both rate limits, and its nonce', async () => {
    const { gate, ask } = aGate();
    const limits = { organization: 2, principal: 2 };
    const admission = { principalId: 'somebody', requestId: 'refused', limits, nonce: nonce('given-back') };
    expect(await ask(admission)).toMatchObject({ organization: { remaining: 1 }, principal: { remaining: 1 } });
    await gate.withdraw(admission);
    const again = await ask({ ...admission, requestId: 'sent again' });
    expect(again).toMatchObject({ organization: { remaining: 1 }, principal: { remaining: 1 } });
  });

  it('gives back no nonce but that of the request, however often it is repeated', async () => {
    const { gate, ask } = aGate();
    const admission = { principalId: 'somebody', limits: { organization: 9, principal: 9 }, requestId: 'refused' };
    const others = [nonce('another'), nonce('the-same', undefined, 'sa_other')];
    for (const other of others) await ask({ nonce: other });
    await ask({ ...admission, nonce: nonce('the-same') });
    await gate.withdraw({ ...admission, nonce: nonce('the-same') });
    for (const other of others) expect(await ask({ nonce: other })).toBe('nonce_reused');
    await ask({ nonce: nonce('the-same'), requestId: 'sent again' });
    await gate.withdraw({ ...admission, nonce: nonce('the-same') });
    expect(await ask({ nonce: nonce('the-same') })).toBe('nonce_reused');
  });

  it('is possible without a nonce', async () => {
    const { gate, ask } = aGate();
    const admission = { principalId: 'somebody', limits: { organization: 9, principal: 9 }, requestId: 'refused' };
    await ask(admission);
    await gate.withdraw(admission);
    expect(await ask(admission)).toMatchObject({ organization: { remaining: 8 }, principal: { remaining: 8 } });
  });
});

describe('a nonce', () => {
  it('is deleted with others of its hour when the last of them has expired, and not before', async () => {
    const { gate, ask } = aGate();
    const goodUntil = endOfHour(Date.now()) + HOUR_MS - MARGIN_MS - 1;
    await ask({ nonce: nonce('a-minute-ago', goodUntil - 60_000) });
    await ask({ nonce: nonce('last-of-hour', goodUntil) });
    await ask({ nonce: nonce('next-hour', goodUntil + 1) });
    stopClockAt(goodUntil + MARGIN_MS);
    await runDurableObjectAlarm(gate);
    expect(await remembered(gate)).toEqual(['a-minute-ago', 'last-of-hour', 'next-hour']);
    stopClockAt(goodUntil + MARGIN_MS + 1);
    await runDurableObjectAlarm(gate);
    expect(await remembered(gate)).toEqual(['next-hour']);
    resetClock();
    expect(await ask({ nonce: nonce('next-hour', goodUntil + 1) })).toBe('nonce_reused');
    expect(await ask({ nonce: nonce('last-of-hour', goodUntil) })).not.toBe('nonce_reused');
  });

  it('is deleted by an alarm, which is set again while any is left', async () => {
    const { gate, ask } = aGate();
    const alarm = () => runInDurableObject(gate, (_, { storage }) => storage.getAlarm());
    const goodUntil = endOfHour(Date.now()) + HOUR_MS - MARGIN_MS - 1;
    const end = goodUntil + MARGIN_MS + 1;
    await ask({ nonce: nonce('first-nonce', goodUntil) });
    expect(await alarm()).toBe(end);
    await evictDurableObject(gate);
    await ask({ nonce: nonce('later-nonce', goodUntil + 1) });
    expect(await alarm()).toBe(end);
    stopClockAt(end);
    await runDurableObjectAlarm(gate);
    expect(await remembered(gate)).toEqual(['later-nonce']);
    expect(await alarm()).toBe(end + HOUR_MS);
    stopClockAt(end + HOUR_MS);
    await runDurableObjectAlarm(gate);
    expect(await readNonceTables(gate)).toEqual({ tables: [], nonces: [] });
    expect(await alarm()).toBeNull();
    resetClock();
    await ask({ nonce: nonce('first-nonce', goodUntil) });
    expect(await alarm()).toBe(end);
  });

  it('writes one row, also after an eviction', async () => {
    const { gate, ask } = aGate();
    // Of two hours, so that the alarm is for the earlier one.
    const goodUntil = endOfHour(Date.now()) - MARGIN_MS - 1;
    await ask({ nonce: nonce('first-nonce', goodUntil + HOUR_MS) });
    await ask({ nonce: nonce('later-nonce', goodUntil + 2 * HOUR_MS) });
    const rowsOfTen = (from: string) =>
      runInDurableObject(gate, (object: OrganizationGate, { storage }) =>
        rowsWrittenBy(storage, () => {
          for (let n = 0; n < 10; n += 1) {
            const value = `${from}-${n}`;
            const until = goodUntil + (n % 2 === 0 ? 1 : 2) * HOUR_MS;
            object.admit({ principalId: 'ana', requestId: value, limits: NO_LIMITS, nonce: nonce(value, until) });
          }
        }),
      );
    expect(await rowsOfTen('before')).toBe(10);
    await evictDurableObject(gate);
    expect(await rowsOfTen('behind')).toBe(10);
  });

  it('that the previous release stored is refused, and deleted after an hour', async () => {
    const { gate, ask } = aGate();
    await runInDurableObject(gate, (_, { storage: { sql } }) => {
      sql.exec(`CREATE TABLE nonces (access_key TEXT NOT NULL, nonce TEXT NOT NULL, expires_at INTEGER NOT NULL,
        PRIMARY KEY (access_key, nonce)) WITHOUT ROWID`);
      sql.exec('CREATE INDEX nonces_by_expiry ON nonces (expires_at)');
      sql.exec('ALTER TABLE nonces ADD COLUMN request_id TEXT');
      sql.exec('INSERT INTO nonces VALUES (?, ?, ?, ?)', 'sa_key', 'before', Date.now(), 'its request');
    });
    await evictDurableObject(gate);
    expect(await ask({ nonce: nonce('before') })).toBe('nonce_reused');
    expect(await ask({ nonce: nonce('before'), requestId: 'its request' })).not.toBe('nonce_reused');
    expect((await readNonceTables(gate)).tables).not.toContain('nonces');
    stopClockAt(endOfHour(Date.now()) + HOUR_MS);
    await ask({ nonce: nonce('another', Date.now() + 2 * HOUR_MS) });
    await runDurableObjectAlarm(gate);
    expect(await remembered(gate)).toEqual(['another']);
  });

  it('that an older release stored without a request id is refused', async () => {
    const { gate, ask } = aGate();
    await runInDurableObject(gate, (_, { storage: { sql } }) => {
      sql.exec('CREATE TABLE nonces (access_key, nonce, expires_at, PRIMARY KEY (access_key, nonce)) WITHOUT ROWID');
      sql.exec("INSERT INTO nonces VALUES ('sa_key', 'long before', 1)");
    });
    await evictDurableObject(gate);
    expect(await ask({ nonce: nonce('long before') })).toBe('nonce_reused');
  });

  it('is refused when the date of its request has passed, stored or not', async () => {
    const { gate, ask } = aGate();
    const goodUntil = Date.now();
    stopClockAt(goodUntil);
    expect(await ask({ nonce: nonce('last-moment', goodUntil) })).toMatchObject({ refused: null });
    stopClockAt(goodUntil + 1);
    expect(await ask({ nonce: nonce('too-late-now', goodUntil) })).toBe('clock_skew');
    expect(await remembered(gate)).toEqual(['last-moment']);
  });
});

describe('a call of the organization’s Durable Object whose answer is lost', () => {
  /** A gate whose first call fails as on the platform, after it did the work if `worked`. */
  const breaking = (error: object, worked: boolean) => {
    let calls = 0;
    const getByName = (name: string) => ({
      admit: async (admission: Admission) => {
        calls += 1;
        const gate = env.ORGANIZATION_GATE.getByName(name);
        if (calls > 1) return gate.admit(admission);
        if (worked) await gate.admit(admission);
        throw Object.assign(new Error('Durable Object reset because its code was updated.'), error);
      },
    });
    const variables = { ORGANIZATION_GATE: { getByName } } as unknown as Record<string, string>;
    return { variables, calls: () => calls };
  };

  it.each([
    ['the first one did its work', true],
    ['the first one did nothing', false],
  ])('is made once more when %s', async (_what, worked) => {
    const { variables, calls } = breaking({ retryable: true }, worked);
    const wire = await signRequest(company.apiKey);
    expect((await sendWire(wire, variables)).status).toBe(200);
    expect(calls()).toBe(2);
    expect((await sendWire(wire)).body.details.reason).toBe('nonce_reused');
  });

  it.each([
    ['an overloaded object', { retryable: true, overloaded: true }],
    ['an error that comes again', {}],
  ])('is not made again for %s', async (_what, error) => {
    const { variables, calls } = breaking(error, false);
    expect((await sendWire(await signRequest(company.apiKey), variables)).status).toBe(503);
    expect(calls()).toBe(1);
  });
});

describe('the rate limits of an organization', () => {
  it('count in a window that starts with the first request', async () => {
    const { ask } = aGate();
    const before = Date.now();
    const first = await ask();
    await scheduler.wait(20);
    const second = await ask();
    if (typeof first === 'string' || typeof second === 'string') throw new Error('there is no nonce');
    expect(first.organization).toMatchObject({ limit: 1000, remaining: 999, allowed: true });
    expect(first.organization.resetAt).toBeGreaterThanOrEqual(before + 60_000);
    expect(first.organization.resetAt).toBeLessThanOrEqual(Date.now() + 60_000);
    expect(second.organization).toEqual({ ...first.organization, remaining: 998 });
    expect(second.principal).toEqual({ ...first.principal, remaining: 98 });
  });

  it('count principals separately, and the organization as a whole', async () => {
    const { ask } = aGate();
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
    const { ask } = aGate();
    const limits = { organization: 1000, principal: 100 };
    const verdicts = await Promise.all(Array.from({ length: 300 }, () => ask({ limits })));
    expect(verdicts.filter((verdict) => typeof verdict !== 'string' && verdict.principal.allowed)).toHaveLength(100);
  });
});
