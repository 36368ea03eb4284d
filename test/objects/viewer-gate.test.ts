import { env, runInDurableObject } from 'cloudflare:test';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ViewerGate } from '../../src/objects/viewer-gate.ts';

afterEach(() => {
  vi.useRealTimers();
});

/** Somebody who has asked for a slot. */
interface Asking {
  id: string;
  /** Its result so far. */
  admitted?: boolean;
}

interface Gate {
  object: ViewerGate;
  /** Asks for slots, one after another, and waits until nothing more happens by itself. */
  ask(...viewers: string[]): Promise<Asking[]>;
  /** Repeats an earlier request for a slot. */
  askAgain(asking: Asking, viewer: string): Promise<Asking>;
  leave(asking?: Asking): Promise<void>;
  pass(ms: number): Promise<void>;
}

let gates = 0;
/** Works within a gate of no company, whose clock only moves when a test says so. */
function inGate(work: (gate: Gate) => Promise<void>): Promise<void> {
  gates += 1;
  const stub = env.VIEWER_GATE.getByName(`viewers-${gates}`) as DurableObjectStub<ViewerGate>;
  return runInDurableObject(stub, async (object: ViewerGate) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    const pass = async (ms: number) => {
      await vi.advanceTimersByTimeAsync(ms);
    };
    const enter = (id: string, viewer: string): Asking => {
      const asking: Asking = { id };
      void object.enter({ id, viewer }).then((admitted) => {
        asking.admitted = admitted;
      });
      return asking;
    };
    let asked = 0;
    await work({
      object,
      pass,
      async ask(...viewers) {
        const asking = viewers.map((viewer) => enter(`slot-${++asked}`, viewer));
        await pass(0);
        return asking;
      },
      async askAgain({ id }, viewer) {
        const asking = enter(id, viewer);
        await pass(0);
        return asking;
      },
      async leave(asking) {
        object.leave((asking as Asking).id);
        await pass(0);
      },
    });
  });
}

const admissionsOf = (all: Asking[]) => all.map(({ admitted }) => admitted);
const times = (count: number, viewer: string): string[] => Array(count).fill(viewer);

describe('the gate that gives viewers slots for executions', () => {
  it('gives a viewer eight slots, and all viewers together twelve', () =>
    inGate(async ({ ask }) => {
      expect(admissionsOf(await ask(...times(9, 'ana')))).toEqual([...Array(8).fill(true), undefined]);
      expect(admissionsOf(await ask(...times(3, 'bia')))).toEqual([true, true, true]);
      expect(admissionsOf(await ask('cid', 'bia'))).toEqual([true, undefined]);
    }));

  it('gives a slot that is released to the first waiting viewer who may have it', () =>
    inGate(async ({ ask, leave }) => {
      const running = await ask(...times(8, 'ana'), ...times(3, 'bia'), 'cid');
      const waiting = await ask('ana', 'bia', 'bia');
      await leave(running.at(-1));
      expect(admissionsOf(waiting)).toEqual([undefined, true, undefined]);
      await leave(running[0]);
      expect(admissionsOf(waiting)).toEqual([true, true, undefined]);
    }));

  it('refuses a viewer who has waited twelve seconds, and keeps no slot for them', () =>
    inGate(async ({ ask, leave, pass }) => {
      const running = await ask(...times(8, 'ana'));
      const [waiting, gone] = await ask('ana', 'ana');
      await leave(gone);
      expect([waiting?.admitted, gone?.admitted]).toEqual([undefined, false]);
      await pass(11_999);
      expect(waiting?.admitted).toBeUndefined();
      const [later] = await ask('ana');
      await pass(1);
      expect([waiting?.admitted, later?.admitted]).toEqual([false, undefined]);
      await leave(running[0]);
      expect(later?.admitted).toBe(true);
    }));

  it('ends a slot that is never released, after forty-five seconds', () =>
    inGate(async ({ ask, pass }) => {
      await ask(...times(8, 'ana'));
      await pass(44_999);
      const [early] = await ask('ana');
      expect(early?.admitted).toBeUndefined();
      await pass(1);
      expect(admissionsOf(await ask(...times(8, 'ana')))).toEqual([...Array(7).fill(true), undefined]);
      expect(early?.admitted).toBe(true);
    }));

  it('lets 250 requests of a viewer wait, and 500 of all viewers', () =>
    inGate(async ({ ask }) => {
      await ask(...times(8, 'ana'), ...times(4, 'bia'));
      expect(new Set(admissionsOf(await ask(...times(250, 'ana'))))).toEqual(new Set([undefined]));
      expect(admissionsOf(await ask('ana', 'bia'))).toEqual([false, undefined]);
      expect(new Set(admissionsOf(await ask(...times(249, 'bia'))))).toEqual(new Set([undefined]));
      expect(admissionsOf(await ask('cid'))).toEqual([false]);
    }));

  it('gives a repeated request no second slot, and no second place in the queue', () =>
    inGate(async ({ ask, askAgain, leave }) => {
      const running = await ask(...times(8, 'ana'));
      expect((await askAgain(running[0] as Asking, 'ana')).admitted).toBe(true);
      const [waiting] = await ask('ana');
      const again = await askAgain(waiting as Asking, 'ana');
      await leave(running[0]);
      expect(again.admitted).toBe(true);
      expect(admissionsOf(await ask('ana'))).toEqual([undefined]);
      await leave(again);
      await leave(running[1]);
      expect(admissionsOf(await ask('ana'))).toEqual([true]);
    }));
});
