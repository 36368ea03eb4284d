import { env, runInDurableObject } from 'cloudflare:test';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { AttemptLimiter, AttemptPermission } from '../../src/objects/attempt-limiter.ts';

const WINDOW_MS = 15 * 60_000;
const LEASE_MS = 15_000;

afterEach(() => {
  vi.useRealTimers();
});

/** A call of `begin` that is waiting for its answer or has it. */
interface PendingAttempt {
  /** The answer of the limiter, once it has answered. */
  answer?: AttemptPermission;
}

interface TestLimiter {
  begin(id: string, limit: number): Promise<PendingAttempt>;
  settle(id: string, hasFailed: boolean): Promise<void>;
  advanceClock(ms: number): Promise<void>;
}

let limiterCount = 0;
/** Runs `work` with a new limiter, whose clock only moves when a test says so. */
function runInLimiter(work: (limiter: TestLimiter) => Promise<void>): Promise<void> {
  const stub = env.ATTEMPT_LIMITER.getByName(`limiter-${++limiterCount}`) as DurableObjectStub<AttemptLimiter>;
  return runInDurableObject(stub, async (object: AttemptLimiter) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    const advanceClock = async (ms: number) => {
      await vi.advanceTimersByTimeAsync(ms);
    };
    await work({
      advanceClock,
      async begin(id, limit) {
        const attempt: PendingAttempt = {};
        void object.begin(id, limit, WINDOW_MS).then((answer) => {
          attempt.answer = answer;
        });
        await advanceClock(0);
        return attempt;
      },
      async settle(id, hasFailed) {
        await object.settle(id, hasFailed, WINDOW_MS);
        await advanceClock(0);
      },
    });
  });
}

const ALLOWED_ANSWER = { answer: { allowed: true } };
const makeRefusal = (retryAfterMs: number) => ({ answer: { allowed: false, retryAfterMs } });
const NO_ANSWER = {};

describe('attempts counted by the limiter of failed attempts', () => {
  it('wait for earlier attempts in flight that may still fail, and are refused when those have failed', () =>
    runInLimiter(async ({ begin, settle }) => {
      expect(await begin('one', 2)).toEqual(ALLOWED_ANSWER);
      expect(await begin('two', 2)).toEqual(ALLOWED_ANSWER);
      const thirdAttempt = await begin('three', 2);
      const fourthAttempt = await begin('four', 2);
      expect([thirdAttempt, fourthAttempt]).toEqual([NO_ANSWER, NO_ANSWER]);
      await settle('one', false);
      expect([thirdAttempt, fourthAttempt]).toEqual([ALLOWED_ANSWER, NO_ANSWER]);
      await settle('two', true);
      expect(fourthAttempt).toEqual(NO_ANSWER);
      await settle('three', true);
      expect(fourthAttempt).toEqual(makeRefusal(WINDOW_MS));
    }));

  it('are refused at once beyond the limit of failures, until the window of the first failure has ended', () =>
    runInLimiter(async ({ begin, settle, advanceClock }) => {
      await begin('one', 2);
      await settle('one', true);
      await advanceClock(60_000);
      await begin('two', 2);
      await settle('two', true);
      expect(await begin('three', 2)).toEqual(makeRefusal(WINDOW_MS - 60_000));
      await advanceClock(WINDOW_MS - 60_001);
      expect(await begin('four', 2)).toEqual(makeRefusal(1));
      await advanceClock(1);
      expect(await begin('five', 2)).toEqual(ALLOWED_ANSWER);
      await settle('five', true);
      // The failures of the window before are forgotten.
      expect(await begin('six', 2)).toEqual(ALLOWED_ANSWER);
    }));

  it('with the same id count as one', () =>
    runInLimiter(async ({ begin, settle }) => {
      expect([await begin('one', 1), await begin('one', 1)]).toEqual([ALLOWED_ANSWER, ALLOWED_ANSWER]);
      await settle('one', false);
      await settle('one', false);
      expect(await begin('two', 1)).toEqual(ALLOWED_ANSWER);
    }));

  it('that are not settled within their lease count as failed once, whatever is reported later', () =>
    runInLimiter(async ({ begin, settle, advanceClock }) => {
      await begin('slow', 2);
      await begin('quick', 2);
      const waitingAttempt = await begin('waiting', 2);
      await advanceClock(LEASE_MS - 1);
      await settle('quick', false);
      expect(waitingAttempt).toEqual(ALLOWED_ANSWER);
      await advanceClock(1);
      await settle('waiting', false);
      await settle('slow', true);
      expect(await begin('next', 2)).toEqual(ALLOWED_ANSWER);
      expect(await begin('last', 2)).toEqual(NO_ANSWER);
    }));

  it('that are not settled within their lease count as failed for the attempts that wait for them', () =>
    runInLimiter(async ({ begin, advanceClock }) => {
      await begin('lost', 1);
      const waitingAttempt = await begin('waiting', 1);
      await advanceClock(LEASE_MS);
      expect(waitingAttempt).toEqual(makeRefusal(WINDOW_MS));
    }));

  it('that succeed after their window has ended do not allow another attempt', () =>
    runInLimiter(async ({ begin, settle, advanceClock }) => {
      await begin('slow', 1);
      await advanceClock(LEASE_MS + WINDOW_MS);
      await settle('slow', false);
      await begin('wrong', 1);
      await settle('wrong', true);
      expect(await begin('another', 1)).toEqual(makeRefusal(WINDOW_MS));
    }));

  it('that are lost in a restart count if they failed, not if they succeeded', () =>
    runInLimiter(async ({ begin, settle }) => {
      await settle('right', false);
      expect(await begin('one', 1)).toEqual(ALLOWED_ANSWER);
      await settle('one', false);
      await settle('wrong', true);
      expect(await begin('two', 1)).toEqual(makeRefusal(WINDOW_MS));
    }));
});
