import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ReadStamps, type WaitingRequest, whenChanged } from '../../src/http/waiting.ts';

const COMPANY = 'a'.repeat(24);
const idOf = (index: number) => index.toString(16).padStart(24, '0');

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Records whose versions are numbers. Each test has its own, so that none looks together with another's. */
function records() {
  const versions = new Map<string, number>();
  const looks: string[][] = [];
  const stamps: ReadStamps = async (_, ids) => {
    looks.push([...ids]);
    return new Map(ids.map((id) => [id, String(versions.get(id) ?? 0)]));
  };
  return { versions, looks, stamps };
}

/** A request that knows version 0 of a record. */
function aWait(
  { versions, stamps }: Pick<ReturnType<typeof records>, 'versions' | 'stamps'>,
  changes: Partial<WaitingRequest> = {},
) {
  const id = changes.id ?? idOf(0);
  const show = async () => ({ version: versions.get(id) ?? 0 });
  const answer = whenChanged({
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
const pass = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

describe('a request that waits for a record to change', () => {
  it('is answered within 1.25 seconds of the change', async () => {
    const kept = records();
    const wait = aWait(kept);
    await pass(3_100);
    expect(wait.at).toBeNaN();
    kept.versions.set(idOf(0), 1);
    await pass(1_250);
    expect(await wait.answer).toEqual({ version: 1 });
  });

  it('is answered when its time is over, with the record as it is then', async () => {
    const kept = records();
    const wait = aWait(kept);
    await pass(9_999);
    expect(wait.at).toBeNaN();
    await pass(1);
    expect([await wait.answer, wait.at]).toEqual([{ version: 0 }, 10_000]);
  });

  it('sees a change that is made while the record is first read', async () => {
    const kept = records();
    const show = async () => {
      kept.versions.set(idOf(0), 1);
      return { version: 0 };
    };
    const wait = aWait(kept, { show });
    await pass(1_250);
    expect(await wait.answer).toEqual({ version: 1 });
  });

  it('goes on waiting if the change is not visible to its caller', async () => {
    const kept = records();
    const wait = aWait(kept, { isKnown: async () => true });
    kept.versions.set(idOf(0), 1);
    await pass(9_999);
    expect(wait.at).toBeNaN();
    // Once more where something has changed, not at each look.
    expect(kept.looks.length).toBeLessThanOrEqual(10);
  });

  it('polls once a second at most, together with all waiting requests of its company', async () => {
    const kept = records();
    const waits = Array.from({ length: 40 }, (_, index) => aWait(kept, { id: idOf(index % 20) }));
    await pass(400);
    const late = aWait(kept, { id: idOf(7) });
    expect(kept.looks).toHaveLength(41);
    await pass(9_500);
    expect(kept.looks.length - 41).toBeLessThanOrEqual(9);
    expect(kept.looks.at(-1)).toHaveLength(20);
    await pass(1_000);
    await Promise.all([...waits, late].map(({ answer }) => answer));
    expect(waits.map(({ at }) => at)).toEqual(waits.map(() => 10_000));
  });

  it('that polls for others has the one answered whose record changed', async () => {
    const kept = records();
    const waits = Array.from({ length: 20 }, (_, index) => aWait(kept, { id: idOf(index) }));
    await pass(1_400);
    kept.versions.set(idOf(19), 1);
    await pass(1_250);
    expect(waits.map(({ at }) => Number.isNaN(at))).toEqual([...Array(19).fill(true), false]);
  });

  it('polls only for records that are still waited for', async () => {
    const kept = records();
    aWait(kept, { id: idOf(1), seconds: 2 });
    aWait(kept, { id: idOf(2), seconds: 5 });
    await pass(4_500);
    expect(kept.looks.at(-1)).toEqual([idOf(2)]);
    await pass(20_000);
    expect(kept.looks.length).toBeLessThanOrEqual(2 + 5);
  });

  it('takes over polling from a request that was lost during its poll', async () => {
    const kept = records();
    let calls = 0;
    const stamps: ReadStamps = (ctx, ids) => {
      calls += 1;
      return calls === 3 ? new Promise(() => {}) : kept.stamps(ctx, ids);
    };
    aWait({ ...kept, stamps }, { seconds: 25 });
    const other = aWait({ ...kept, stamps }, { seconds: 25 });
    await pass(2_000);
    kept.versions.set(idOf(0), 1);
    await pass(8_900);
    expect(other.at).toBeNaN();
    await pass(1_500);
    expect(await other.answer).toEqual({ version: 1 });
  });

  it('fails when its poll fails, while others go on', async () => {
    const kept = records();
    let calls = 0;
    const stamps: ReadStamps = async (ctx, ids) => {
      calls += 1;
      if (calls === 3) throw new Error('away');
      return kept.stamps(ctx, ids);
    };
    const failing = aWait({ ...kept, stamps });
    const other = aWait({ ...kept, stamps });
    await pass(1_500);
    await expect(failing.answer).rejects.toThrow('away');
    kept.versions.set(idOf(0), 1);
    await pass(2_250);
    expect(await other.answer).toEqual({ version: 1 });
  });

  it('releases its connections before it waits, and after each poll', async () => {
    const kept = records();
    let open = false;
    const stamps: ReadStamps = (ctx, ids) => {
      open = true;
      return kept.stamps(ctx, ids);
    };
    const release = async () => {
      open = false;
    };
    aWait({ ...kept, stamps }, { release });
    const seen: boolean[] = [];
    for (let step = 0; step < 30; step += 1) {
      await pass(100);
      seen.push(open);
    }
    expect([kept.looks.length >= 3, seen]).toEqual([true, seen.map(() => false)]);
  });

  it('does not poll for an invalid id', async () => {
    const kept = records();
    expect(await aWait(kept, { id: '\0' }).answer).toEqual({ version: 0 });
    expect(kept.looks).toEqual([]);
  });
});
