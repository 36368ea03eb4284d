import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ReadRecordVersions, respondWhenChanged, type WaitingRequest } from '../../src/http/waiting.ts';

const COMPANY_ID = 'a'.repeat(24);
const makeId = (index: number) => index.toString(16).padStart(24, '0');

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Creates records whose versions are numbers. Each test has records of its own, so that its polls stay separate. */
function createRecords() {
  const versions = new Map<string, number>();
  const requestedIdLists: string[][] = [];
  const readVersions: ReadRecordVersions = async (_, ids) => {
    requestedIdLists.push([...ids]);
    return new Map(ids.map((id) => [id, String(versions.get(id) ?? 0)]));
  };
  return { versions, looks: requestedIdLists, stamps: readVersions };
}

/** Starts a request that knows version 0 of a record. @returns its answer and, once answered, its duration */
function startWait(
  { versions, stamps }: Pick<ReturnType<typeof createRecords>, 'versions' | 'stamps'>,
  changes: Partial<WaitingRequest> = {},
) {
  const id = changes.id ?? makeId(0);
  const show = async () => ({ version: versions.get(id) ?? 0 });
  const answer = respondWhenChanged({
    readVersions: stamps,
    ctx: { actor: { companyId: COMPANY_ID } } as WaitingRequest['ctx'],
    id,
    waitSeconds: 10,
    releaseConnections: async () => {},
    isKnownVersion: async (shownRecord) => (shownRecord as { version: number }).version === 0,
    respond: show,
    respondAfterRecheck: show,
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

/** Advances the timers by the given time, in steps in which all work that is due is done. */
const advanceTimers = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

describe('a request that waits for a record to change', () => {
  it('is answered within 1.25 seconds of the change', async () => {
    const testRecords = createRecords();
    const startedWait = startWait(testRecords);
    await advanceTimers(3_100);
    expect(startedWait.at).toBeNaN();
    testRecords.versions.set(makeId(0), 1);
    await advanceTimers(1_250);
    expect(await startedWait.answer).toEqual({ version: 1 });
  });

  it('is answered when its time is over, with the record as it is at that moment', async () => {
    const testRecords = createRecords();
    const startedWait = startWait(testRecords);
    await advanceTimers(9_999);
    expect(startedWait.at).toBeNaN();
    await advanceTimers(1);
    expect([await startedWait.answer, startedWait.at]).toEqual([{ version: 0 }, 10_000]);
  });

  it('sees a change that is made while the record is first read', async () => {
    const testRecords = createRecords();
    const show = async () => {
      testRecords.versions.set(makeId(0), 1);
      return { version: 0 };
    };
    const startedWait = startWait(testRecords, { respond: show });
    await advanceTimers(1_250);
    expect(await startedWait.answer).toEqual({ version: 1 });
  });

  it('continues to wait if the change is not visible to its caller', async () => {
    const testRecords = createRecords();
    const startedWait = startWait(testRecords, { isKnownVersion: async () => true });
    testRecords.versions.set(makeId(0), 1);
    await advanceTimers(9_999);
    expect(startedWait.at).toBeNaN();
    // Once more where something has changed, not at each look.
    expect(testRecords.looks.length).toBeLessThanOrEqual(10);
  });

  it('polls once a second at most, together with all waiting requests of its company', async () => {
    const testRecords = createRecords();
    const startedWaits = Array.from({ length: 40 }, (_, index) => startWait(testRecords, { id: makeId(index % 20) }));
    await advanceTimers(400);
    const lateWait = startWait(testRecords, { id: makeId(7) });
    expect(testRecords.looks).toHaveLength(41);
    await advanceTimers(9_500);
    expect(testRecords.looks.length - 41).toBeLessThanOrEqual(9);
    expect(testRecords.looks.at(-1)).toHaveLength(20);
    await advanceTimers(1_000);
    await Promise.all([...startedWaits, lateWait].map(({ answer }) => answer));
    expect(startedWaits.map(({ at }) => at)).toEqual(startedWaits.map(() => 10_000));
  });

  it('polls for other requests too, and has the request answered whose record changed', async () => {
    const testRecords = createRecords();
    const startedWaits = Array.from({ length: 20 }, (_, index) => startWait(testRecords, { id: makeId(index) }));
    await advanceTimers(1_400);
    testRecords.versions.set(makeId(19), 1);
    await advanceTimers(1_250);
    expect(startedWaits.map(({ at }) => Number.isNaN(at))).toEqual([...Array(19).fill(true), false]);
  });

  it('polls only for records that some request still waits for', async () => {
    const testRecords = createRecords();
    startWait(testRecords, { id: makeId(1), waitSeconds: 2 });
    startWait(testRecords, { id: makeId(2), waitSeconds: 5 });
    await advanceTimers(4_500);
    expect(testRecords.looks.at(-1)).toEqual([makeId(2)]);
    await advanceTimers(20_000);
    expect(testRecords.looks.length).toBeLessThanOrEqual(2 + 5);
  });

  it('takes over polling from a request that was lost during its poll', async () => {
    const testRecords = createRecords();
    let callCount = 0;
    const readVersions: ReadRecordVersions = (ctx, ids) => {
      callCount += 1;
      return callCount === 3 ? new Promise(() => {}) : testRecords.stamps(ctx, ids);
    };
    startWait({ ...testRecords, stamps: readVersions }, { waitSeconds: 25 });
    const other = startWait({ ...testRecords, stamps: readVersions }, { waitSeconds: 25 });
    await advanceTimers(2_000);
    testRecords.versions.set(makeId(0), 1);
    await advanceTimers(8_900);
    expect(other.at).toBeNaN();
    await advanceTimers(1_500);
    expect(await other.answer).toEqual({ version: 1 });
  });

  it('fails when its poll fails, while other requests continue to wait', async () => {
    const testRecords = createRecords();
    let callCount = 0;
    const readVersions: ReadRecordVersions = async (ctx, ids) => {
      callCount += 1;
      if (callCount === 3) throw new Error('away');
      return testRecords.stamps(ctx, ids);
    };
    const failingWait = startWait({ ...testRecords, stamps: readVersions });
    const other = startWait({ ...testRecords, stamps: readVersions });
    await advanceTimers(1_500);
    await expect(failingWait.answer).rejects.toThrow('away');
    testRecords.versions.set(makeId(0), 1);
    await advanceTimers(2_250);
    expect(await other.answer).toEqual({ version: 1 });
  });

  it('releases its connections before it waits, and after each poll', async () => {
    const testRecords = createRecords();
    let isOpen = false;
    const readVersions: ReadRecordVersions = (ctx, ids) => {
      isOpen = true;
      return testRecords.stamps(ctx, ids);
    };
    const release = async () => {
      isOpen = false;
    };
    startWait({ ...testRecords, stamps: readVersions }, { releaseConnections: release });
    const openStates: boolean[] = [];
    for (let step = 0; step < 30; step += 1) {
      await advanceTimers(100);
      openStates.push(isOpen);
    }
    expect([testRecords.looks.length >= 3, openStates]).toEqual([true, openStates.map(() => false)]);
  });

  it('does not poll for an invalid id', async () => {
    const testRecords = createRecords();
    expect(await startWait(testRecords, { id: '\0' }).answer).toEqual({ version: 0 });
    expect(testRecords.looks).toEqual([]);
  });
});
