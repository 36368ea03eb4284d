import {
  abortAllDurableObjects,
  env,
  evictDurableObject,
  runDurableObjectAlarm,
  runInDurableObject,
} from 'cloudflare:test';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Admission } from '../../src/objects/organization-gate.ts';
import { send, signedWire } from '../signature/support.ts';
import { resetClock, standAt } from '../support/clock.ts';
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
const remembered = (gate: DurableObjectStub) =>
  runInDurableObject(gate, (_, { storage }) =>
    storage.sql
      .exec<{ nonce: string }>('SELECT nonce FROM nonces ORDER BY nonce')
      .toArray()
      .map((row) => row.nonce),
  );

describe('a signed request', () => {
  it('is let in once', async () => {
    const wire = await signedWire(company.apiKey);
    expect((await send(wire)).status).toBe(200);
    const { status, body } = await send(wire);
    expect(status).toBe(401);
    expect(body).toMatchObject({ error: 'Unauthorized', details: { reason: 'nonce_reused', field: 'x-nonce' } });
  });

  it('is let in once when a hundred copies arrive together', async () => {
    const wire = await signedWire(company.apiKey);
    const answers = await Promise.all(Array.from({ length: 100 }, () => send(wire)));
    const reasons = answers.map(({ status, body }) => (status === 200 ? 'accepted' : body.details.reason));
    expect(reasons.filter((reason) => reason === 'accepted')).toHaveLength(1);
    expect(reasons.filter((reason) => reason === 'nonce_reused')).toHaveLength(99);
  });

  it.each([
    ['is evicted', () => evictDurableObject(env.ORGANIZATION_GATE.getByName(company.id))],
    ['is restarted', () => abortAllDurableObjects()],
  ])('is remembered when the gate %s', async (_what, interrupt) => {
    const wire = await signedWire(company.apiKey);
    expect((await send(wire)).status).toBe(200);
    await interrupt();
    expect((await send(wire)).body.details.reason).toBe('nonce_reused');
    expect((await send(await signedWire(company.apiKey))).status).toBe(200);
  });

  it('may carry the nonce of another key', async () => {
    const { gate, ask } = aGate();
    expect(await ask({ nonce: nonce('same-nonce', undefined, 'sa_one') })).not.toBe('nonce_reused');
    expect(await ask({ nonce: nonce('same-nonce', undefined, 'sa_two') })).not.toBe('nonce_reused');
    expect(await ask({ nonce: nonce('same-nonce', undefined, 'sa_one') })).toBe('nonce_reused');
    expect(await remembered(gate)).toHaveLength(2);
  });

  it('may be sent again when a limit refused it', async () => {
    const wire = await signedWire(company.apiKey);
    expect((await send(wire, { RATE_LIMIT_ORGANIZATION_PER_MINUTE: '1' })).status).toBe(429);
    expect((await send(wire)).status).toBe(200);
    expect((await send(wire)).status).toBe(401);
  });
});

describe('an admission that is withdrawn', () => {
  it('gives back what it used up of both limits, and its nonce', async () => {
    const { gate, ask } = aGate();
    const limits = { organization: 2, principal: 2 };
    const admission = { principalId: 'somebody', requestId: 'refused', limits, nonce: nonce('given-back') };
    expect(await ask(admission)).toMatchObject({ organization: { remaining: 1 }, principal: { remaining: 1 } });
    await gate.withdraw(admission);
    const again = await ask({ ...admission, requestId: 'sent again' });
    expect(again).toMatchObject({ organization: { remaining: 1 }, principal: { remaining: 1 } });
  });

  it('gives back no nonce but its own, however often it is withdrawn', async () => {
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

  it('needs no nonce', async () => {
    const { gate, ask } = aGate();
    const admission = { principalId: 'somebody', limits: { organization: 9, principal: 9 }, requestId: 'refused' };
    await ask(admission);
    await gate.withdraw(admission);
    expect(await ask(admission)).toMatchObject({ organization: { remaining: 8 }, principal: { remaining: 8 } });
  });
});

describe('a nonce', () => {
  it('is deleted when its request is too old, and not before', async () => {
    const { gate, ask } = aGate();
    await ask({ nonce: nonce('long-gone') });
    await ask({ nonce: nonce('still-good') });
    // Aged behind its back: an alarm that is due at once would run before we can.
    const age = "UPDATE nonces SET expires_at = 1 WHERE nonce = 'long-gone'";
    await runInDurableObject(gate, (_, { storage }) => storage.sql.exec(age).toArray());
    expect(await runDurableObjectAlarm(gate)).toBe(true);
    expect(await remembered(gate)).toEqual(['still-good']);
    expect(await ask({ nonce: nonce('still-good') })).toBe('nonce_reused');
  });

  it('is purged by an alarm, which is set again while any is left', async () => {
    const { gate, ask } = aGate();
    const alarm = () => runInDurableObject(gate, (_, { storage }) => storage.getAlarm());
    const goodUntil = Date.now() + 300_000;
    const expiresAt = goodUntil + MARGIN_MS;
    await ask({ nonce: nonce('first-nonce', goodUntil) });
    expect(await alarm()).toBe(expiresAt + 1);
    await evictDurableObject(gate);
    await ask({ nonce: nonce('later-nonce', goodUntil + 60_000) });
    expect(await alarm()).toBe(expiresAt + 1);
    await runDurableObjectAlarm(gate);
    expect(await alarm()).toBe(expiresAt);

    await runInDurableObject(gate, (_, { storage }) => storage.sql.exec('UPDATE nonces SET expires_at = 1').toArray());
    await runDurableObjectAlarm(gate);
    expect(await remembered(gate)).toEqual([]);
    expect(await alarm()).toBeNull();
    await ask({ nonce: nonce('first-nonce', goodUntil) });
    expect(await alarm()).toBe(expiresAt + 1);
  });

  it('is kept until a quarter of an hour after the date of its request', async () => {
    const { gate, ask } = aGate();
    const goodUntil = Date.now() + 300_000;
    await ask({ nonce: nonce('kept-nonce', goodUntil) });
    standAt(goodUntil + MARGIN_MS - 1);
    await runDurableObjectAlarm(gate);
    expect(await remembered(gate)).toEqual(['kept-nonce']);
    standAt(goodUntil + MARGIN_MS);
    await runDurableObjectAlarm(gate);
    expect(await remembered(gate)).toEqual([]);
  });

  it('is refused when its date has passed, remembered or not', async () => {
    const { gate, ask } = aGate();
    const goodUntil = Date.now();
    standAt(goodUntil);
    expect(await ask({ nonce: nonce('last-moment', goodUntil) })).toMatchObject({ refused: null });
    standAt(goodUntil + 1);
    expect(await ask({ nonce: nonce('too-late-now', goodUntil) })).toBe('clock_skew');
    expect(await remembered(gate)).toEqual(['last-moment']);
  });
});

describe('a call of the gate whose answer is lost', () => {
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
    const wire = await signedWire(company.apiKey);
    expect((await send(wire, variables)).status).toBe(200);
    expect(calls()).toBe(2);
    expect((await send(wire)).body.details.reason).toBe('nonce_reused');
  });

  it.each([
    ['an overloaded object', { retryable: true, overloaded: true }],
    ['an error that comes again', {}],
  ])('is not made again for %s', async (_what, error) => {
    const { variables, calls } = breaking(error, false);
    expect((await send(await signedWire(company.apiKey), variables)).status).toBe(503);
    expect(calls()).toBe(1);
  });
});

describe('the limits', () => {
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

  it('count principals apart, and the organization as one', async () => {
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

  it('let in exactly as many of a crowd as there is room for', async () => {
    const { ask } = aGate();
    const limits = { organization: 1000, principal: 100 };
    const verdicts = await Promise.all(Array.from({ length: 300 }, () => ask({ limits })));
    expect(verdicts.filter((verdict) => typeof verdict !== 'string' && verdict.principal.allowed)).toHaveLength(100);
  });
});
