import { env, runInDurableObject } from 'cloudflare:test';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Attempt, AttemptLimiter } from '../../src/objects/attempt-limiter.ts';

const WINDOW = 15 * 60_000;
const LEASE = 15_000;

afterEach(() => {
  vi.useRealTimers();
});

/** Somebody who has asked to try. */
interface Asking {
  /** The answer, once there is one. */
  answer?: Attempt;
}

interface Limiter {
  begin(id: string, limit: number): Promise<Asking>;
  settle(id: string, failed: boolean): Promise<void>;
  pass(ms: number): Promise<void>;
}

let limiters = 0;
/** Works within a limiter of its own, whose clock only moves when a test says so. */
function inLimiter(work: (limiter: Limiter) => Promise<void>): Promise<void> {
  limiters += 1;
  const stub = env.ATTEMPT_LIMITER.getByName(`limiter-${limiters}`) as DurableObjectStub<AttemptLimiter>;
  return runInDurableObject(stub, async (object: AttemptLimiter) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    const pass = async (ms: number) => {
      await vi.advanceTimersByTimeAsync(ms);
    };
    await work({
      pass,
      async begin(id, limit) {
        const asking: Asking = {};
        void object.begin(id, limit, WINDOW).then((answer) => {
          asking.answer = answer;
        });
        await pass(0);
        return asking;
      },
      async settle(id, failed) {
        await object.settle(id, failed, WINDOW);
        await pass(0);
      },
    });
  });
}

const LET_IN = { answer: { allowed: true } };
const refusedFor = (retryAfterMs: number) => ({ answer: { allowed: false, retryAfterMs } });
const WAITS = {};

describe('attempts counted by the limiter of failed attempts', () => {
  it('wait for others in flight that may still fail, and are refused when those have failed', () =>
    inLimiter(async ({ begin, settle }) => {
      expect(await begin('one', 2)).toEqual(LET_IN);
      expect(await begin('two', 2)).toEqual(LET_IN);
      const third = await begin('three', 2);
      const fourth = await begin('four', 2);
      expect([third, fourth]).toEqual([WAITS, WAITS]);
      await settle('one', false);
      expect([third, fourth]).toEqual([LET_IN, WAITS]);
      await settle('two', true);
      expect(fourth).toEqual(WAITS);
      await settle('three', true);
      expect(fourth).toEqual(refusedFor(WINDOW));
    }));

  it('are refused at once beyond the limit of failures, until the window of the first one has ended', () =>
    inLimiter(async ({ begin, settle, pass }) => {
      await begin('one', 2);
      await settle('one', true);
      await pass(60_000);
      await begin('two', 2);
      await settle('two', true);
      expect(await begin('three', 2)).toEqual(refusedFor(WINDOW - 60_000));
      await pass(WINDOW - 60_001);
      expect(await begin('four', 2)).toEqual(refusedFor(1));
      await pass(1);
      expect(await begin('five', 2)).toEqual(LET_IN);
      await settle('five', true);
      // The failures of the window before are forgotten.
      expect(await begin('six', 2)).toEqual(LET_IN);
    }));

  it('with the same id count as one', () =>
    inLimiter(async ({ begin, settle }) => {
      expect([await begin('one', 1), await begin('one', 1)]).toEqual([LET_IN, LET_IN]);
      await settle('one', false);
      await settle('one', false);
      expect(await begin('two', 1)).toEqual(LET_IN);
    }));

  it('that are not settled within their lease count as failed once, whatever is reported later', () =>
    inLimiter(async ({ begin, settle, pass }) => {
      await begin('slow', 2);
      await begin('quick', 2);
      const waiting = await begin('waiting', 2);
      await pass(LEASE - 1);
      await settle('quick', false);
      expect(waiting).toEqual(LET_IN);
      await pass(1);
      await settle('waiting', false);
      await settle('slow', true);
      expect(await begin('next', 2)).toEqual(LET_IN);
      expect(await begin('last', 2)).toEqual(WAITS);
    }));

  it('that are not settled within their lease count as failed for those that wait for them', () =>
    inLimiter(async ({ begin, pass }) => {
      await begin('lost', 1);
      const waiting = await begin('waiting', 1);
      await pass(LEASE);
      expect(waiting).toEqual(refusedFor(WINDOW));
    }));

  it('that succeed after their window has ended do not make room for another', () =>
    inLimiter(async ({ begin, settle, pass }) => {
      await begin('slow', 1);
      await pass(LEASE + WINDOW);
      await settle('slow', false);
      await begin('wrong', 1);
      await settle('wrong', true);
      expect(await begin('another', 1)).toEqual(refusedFor(WINDOW));
    }));

  it('that a restart forgot count if they failed, not if they succeeded', () =>
    inLimiter(async ({ begin, settle }) => {
      await settle('right', false);
      expect(await begin('one', 1)).toEqual(LET_IN);
      await settle('one', false);
      await settle('wrong', true);
      expect(await begin('two', 1)).toEqual(refusedFor(WINDOW));
    }));
});
