import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ReadStamps, respondWhenChanged, type WaitingRequest } from '../../src/http/waiting.ts';

const COMPANY = 'a'.repeat(24);
const makeId = (index: number) => index.toString(16).padStart(24, '0');

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Records whose versions are numbers. Each test has its own, so that none looks together with another's. */
function createRecords() {
  const versions = new Map<string, number>();
  const looks: string[][] = [];
  const stamps: ReadStamps = async (_, ids) => {
    looks.push([...ids]);
    return new Map(ids.map((id) => [id, String(versions.get(id) ?? 0)]));
  };
  return { versions, looks, stamps };
}

/** A request that knows version 0 of a record. */
function startWait(
  { versions, stamps }: Pick<ReturnType<typeof createRecords>, 'versions' | 'stamps'>,
  changes: Partial<WaitingRequest> = {},
) {
  const id = changes.id ?? makeId(0);
  const show = async () => ({ version: versions.get(id) ?? 0 });
  const answer = respondWhenChanged({
    stamps,
    ctx: { actor: { companyId: COMPANY } } as WaitingRequest['ctx'],
    id,
    seconds: 10,
    release: async () => {},
    isKnown: async (shown) => (shown as { version: number }).version === 0,
    show,
    showAnew: show,
    ...changes,
  });
  const state = { answer, at: Number.NaN };
  const beganAt = performance.now();
  answer.then(
    () => {
      state.at = performance.now() - beganAt;
    },
    () => {},
  );
  return state;
}

/** Lets so much time pass, in steps in which all that is due is done. */
const advanceTimers = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

describe('a request that waits for a record to change', () => {
  it('is answered within 1.25 seconds of the change', async () => {
    const kept = createRecords();
    const wait = startWait(kept);
    await advanceTimers(3_100);
    expect(wait.at).toBeNaN();
    kept.versions.set(makeId(0), 1);
    await advanceTimers(1_250);
    expect(await wait.answer).toEqual({ version: 1 });
  });

  it('is answered when its time is over, with the record as it is then', async () => {
    const kept = createRecords();
    const wait = startWait(kept);
    await advanceTimers(9_999);
    expect(wait.at).toBeNaN();
    await advanceTimers(1);
    expect([await wait.answer, wait.at]).toEqual([{ version: 0 }, 10_000]);
  });

  it('sees a change that is made while the record is first read', async () => {
    const kept = createRecords();
    const show = async () => {
      kept.versions.set(makeId(0), 1);
      return { version: 0 };
    };
    const wait = startWait(kept, { show });
    await advanceTimers(1_250);
    expect(await wait.answer).toEqual({ version: 1 });
  });

  it('goes on waiting if the change is not visible to its caller', async () => {
    const kept = createRecords();
    const wait = startWait(kept, { isKnown: async () => true });
    kept.versions.set(makeId(0), 1);
    await advanceTimers(9_999);
    expect(wait.at).toBeNaN();
    // Once more where something has changed, not at each look.
    expect(kept.looks.length).toBeLessThanOrEqual(10);
  });

  it('polls once a second at most, together with all waiting requests of its company', async () => {
    const kept = createRecords();
    const waits = Array.from({ length: 40 }, (_, index) => startWait(kept, { id: makeId(index % 20) }));
    await advanceTimers(400);
    const late = startWait(kept, { id: makeId(7) });
    expect(kept.looks).toHaveLength(41);
    await advanceTimers(9_500);
    expect(kept.looks.length - 41).toBeLessThanOrEqual(9);
    expect(kept.looks.at(-1)).toHaveLength(20);
    await advanceTimers(1_000);
    await Promise.all([...waits, late].map(({ answer }) => answer));
    expect(waits.map(({ at }) => at)).toEqual(waits.map(() => 10_000));
  });

  it('that polls for others has the one answered whose record changed', async () => {
    const kept = createRecords();
    const waits = Array.from({ length: 20 }, (_, index) => startWait(kept, { id: makeId(index) }));
    await advanceTimers(1_400);
    kept.versions.set(makeId(19), 1);
    await advanceTimers(1_250);
    expect(waits.map(({ at }) => Number.isNaN(at))).toEqual([...Array(19).fill(true), false]);
  });

  it('polls only for records that are still waited for', async () => {
    const kept = createRecords();
    startWait(kept, { id: makeId(1), seconds: 2 });
    startWait(kept, { id: makeId(2), seconds: 5 });
    await advanceTimers(4_500);
    expect(kept.looks.at(-1)).toEqual([makeId(2)]);
    await advanceTimers(20_000);
    expect(kept.looks.length).toBeLessThanOrEqual(2 + 5);
  });

  it('takes over polling from a request that was lost during its poll', async () => {
    const kept = createRecords();
    let calls = 0;
    const stamps: ReadStamps = (ctx, ids) => {
      calls += 1;
      return calls === 3 ? new Promise(() => {}) : kept.stamps(ctx, ids);
    };
    startWait({ ...kept, stamps }, { seconds: 25 });
    const other = startWait({ ...kept, stamps }, { seconds: 25 });
    await advanceTimers(2_000);
    kept.versions.set(makeId(0), 1);
    await advanceTimers(8_900);
    expect(other.at).toBeNaN();
    await advanceTimers(1_500);
    expect(await other.answer).toEqual({ version: 1 });
  });

  it('fails when its poll fails, while others go on', async () => {
    const kept = createRecords();
    let calls = 0;
    const stamps: ReadStamps = async (ctx, ids) => {
      calls += 1;
      if (calls === 3) throw new Error('away');
      return kept.stamps(ctx, ids);
    };
    const failing = startWait({ ...kept, stamps });
    const other = startWait({ ...kept, stamps });
    await advanceTimers(1_500);
    await expect(failing.answer).rejects.toThrow('away');
    kept.versions.set(makeId(0), 1);
    await advanceTimers(2_250);
    expect(await other.answer).toEqual({ version: 1 });
  });

  it('releases its connections before it waits, and after each poll', async () => {
    const kept = createRecords();
    let open = false;
    const stamps: ReadStamps = (ctx, ids) => {
      open = true;
      return kept.stamps(ctx, ids);
    };
    const release = async () => {
      open = false;
    };
    startWait({ ...kept, stamps }, { release });
    const seen: boolean[] = [];
    for (let step = 0; step < 30; step += 1) {
      await advanceTimers(100);
      seen.push(open);
    }
    expect([kept.looks.length >= 3, seen]).toEqual([true, seen.map(() => false)]);
  });

  it('does not poll for an invalid id', async () => {
    const kept = createRecords();
    expect(await startWait(kept, { id: '\0' }).answer).toEqual({ version: 0 });
    expect(kept.looks).toEqual([]);
  });
});
