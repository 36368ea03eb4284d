import { env, runInDurableObject } from 'cloudflare:test';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ViewerGate } from '../../src/objects/viewer-gate.ts';

afterEach(() => {
  vi.useRealTimers();
});

/** A request for a slot that a viewer has made. */
interface SlotRequest {
  id: string;
  /** Whether the request was admitted; undefined while it waits. */
  isAdmitted?: boolean;
}

interface TestGate {
  object: ViewerGate;
  /** Requests slots, one after another, and waits until nothing more happens by itself. */
  requestSlots(...viewers: string[]): Promise<SlotRequest[]>;
  /** Repeats an earlier request for a slot, under the same id. */
  repeatRequest(slotRequest: SlotRequest, viewer: string): Promise<SlotRequest>;
  releaseSlot(slotRequest?: SlotRequest): Promise<void>;
  advanceClock(ms: number): Promise<void>;
}

let gateCount = 0;
/** Runs `work` with a gate that belongs to no company, whose clock only moves when a test says so. */
function runInGate(work: (gate: TestGate) => Promise<void>): Promise<void> {
  const stub = env.VIEWER_GATE.getByName(`viewers-${++gateCount}`) as DurableObjectStub<ViewerGate>;
  return runInDurableObject(stub, async (object: ViewerGate) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    const advanceClock = async (ms: number) => {
      await vi.advanceTimersByTimeAsync(ms);
    };
    const requestSlot = (id: string, viewer: string): SlotRequest => {
      const slotRequest: SlotRequest = { id };
      void object.enter({ id, viewer }).then((isAdmitted) => {
        slotRequest.isAdmitted = isAdmitted;
      });
      return slotRequest;
    };
    let requestCount = 0;
    await work({
      object,
      advanceClock,
      async requestSlots(...viewers) {
        const slotRequests = viewers.map((viewer) => requestSlot(`slot-${++requestCount}`, viewer));
        await advanceClock(0);
        return slotRequests;
      },
      async repeatRequest({ id }, viewer) {
        const slotRequest = requestSlot(id, viewer);
        await advanceClock(0);
        return slotRequest;
      },
      async releaseSlot(slotRequest) {
        object.leave((slotRequest as SlotRequest).id);
        await advanceClock(0);
      },
    });
  });
}

const listAdmissions = (requests: SlotRequest[]) => requests.map(({ isAdmitted }) => isAdmitted);
const repeatViewer = (count: number, viewer: string): string[] => Array(count).fill(viewer);

describe('the gate that gives viewers slots for executions', () => {
  it('gives a viewer eight slots, and all viewers together twelve', () =>
    runInGate(async ({ requestSlots }) => {
      expect(listAdmissions(await requestSlots(...repeatViewer(9, 'ana')))).toEqual([
        ...Array(8).fill(true),
        undefined,
      ]);
      expect(listAdmissions(await requestSlots(...repeatViewer(3, 'bia')))).toEqual([true, true, true]);
      expect(listAdmissions(await requestSlots('cid', 'bia'))).toEqual([true, undefined]);
    }));

  it('gives a slot that is released to the first waiting viewer who is below the limit per viewer', () =>
    runInGate(async ({ requestSlots, releaseSlot }) => {
      const runningRequests = await requestSlots(...repeatViewer(8, 'ana'), ...repeatViewer(3, 'bia'), 'cid');
      const waitingRequests = await requestSlots('ana', 'bia', 'bia');
      await releaseSlot(runningRequests.at(-1));
      expect(listAdmissions(waitingRequests)).toEqual([undefined, true, undefined]);
      await releaseSlot(runningRequests[0]);
      expect(listAdmissions(waitingRequests)).toEqual([true, true, undefined]);
    }));

  it('refuses a viewer who has waited twelve seconds, and keeps no slot for them', () =>
    runInGate(async ({ requestSlots, releaseSlot, advanceClock }) => {
      const runningRequests = await requestSlots(...repeatViewer(8, 'ana'));
      const [waiting, gone] = await requestSlots('ana', 'ana');
      await releaseSlot(gone);
      expect([waiting?.isAdmitted, gone?.isAdmitted]).toEqual([undefined, false]);
      await advanceClock(11_999);
      expect(waiting?.isAdmitted).toBeUndefined();
      const [later] = await requestSlots('ana');
      await advanceClock(1);
      expect([waiting?.isAdmitted, later?.isAdmitted]).toEqual([false, undefined]);
      await releaseSlot(runningRequests[0]);
      expect(later?.isAdmitted).toBe(true);
    }));

  it('ends a slot that is never released, after forty-five seconds', () =>
    runInGate(async ({ requestSlots, advanceClock }) => {
      await requestSlots(...repeatViewer(8, 'ana'));
      await advanceClock(44_999);
      const [early] = await requestSlots('ana');
      expect(early?.isAdmitted).toBeUndefined();
      await advanceClock(1);
      expect(listAdmissions(await requestSlots(...repeatViewer(8, 'ana')))).toEqual([
        ...Array(7).fill(true),
        undefined,
      ]);
      expect(early?.isAdmitted).toBe(true);
    }));

  it('lets at most 250 requests of a viewer wait, and at most 500 of all viewers', () =>
    runInGate(async ({ requestSlots }) => {
      await requestSlots(...repeatViewer(8, 'ana'), ...repeatViewer(4, 'bia'));
      expect(new Set(listAdmissions(await requestSlots(...repeatViewer(250, 'ana'))))).toEqual(new Set([undefined]));
      expect(listAdmissions(await requestSlots('ana', 'bia'))).toEqual([false, undefined]);
      expect(new Set(listAdmissions(await requestSlots(...repeatViewer(249, 'bia'))))).toEqual(new Set([undefined]));
      expect(listAdmissions(await requestSlots('cid'))).toEqual([false]);
    }));

  it('gives a repeated request no second slot, and no second place in the queue', () =>
    runInGate(async ({ requestSlots, repeatRequest, releaseSlot }) => {
      const runningRequests = await requestSlots(...repeatViewer(8, 'ana'));
      expect((await repeatRequest(runningRequests[0] as SlotRequest, 'ana')).isAdmitted).toBe(true);
      const [waiting] = await requestSlots('ana');
      const repeatedRequest = await repeatRequest(waiting as SlotRequest, 'ana');
      await releaseSlot(runningRequests[0]);
      expect(repeatedRequest.isAdmitted).toBe(true);
      expect(listAdmissions(await requestSlots('ana'))).toEqual([undefined]);
      await releaseSlot(repeatedRequest);
      await releaseSlot(runningRequests[1]);
      expect(listAdmissions(await requestSlots('ana'))).toEqual([true]);
    }));
});
