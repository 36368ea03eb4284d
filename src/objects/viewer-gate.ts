import { DurableObject } from 'cloudflare:workers';

/** The executions at once for a company's viewers, and for one: two connections each, of the reader's forty. */
const CONCURRENCY = { company: 12, viewer: 8 };
/** The time that a viewer waits for a slot, and the number that may wait, of a company and of one viewer. */
const MAX_WAIT_MS = 12_000;
const MAX_WAITING = { company: 500, viewer: 250 };
/** A slot that is not released ends after this time, which is longer than any execution. */
const MAX_SLOT_MS = 45_000;

/** A database that does not answer for so long is not waking. */
const MAX_WAKING_MS = 15_000;

interface Slot {
  id: string;
  viewer: string;
}

interface WaitingViewer extends Slot {
  begin(admitted: boolean): void;
}

/** Gives viewers slots at their company's database, in the order they came; one that is forgotten ends by itself. */
export class ViewerGate extends DurableObject {
  readonly #running = new Map<string, Slot & { endsAt: number }>();
  readonly #waiting: WaitingViewer[] = [];
  /** The time until which the company's database is believed to be waking. */
  #wakingUntil = 0;

  /** Waits for a slot, which `leave` frees. @returns whether in time; a call repeated by its id has the same slot */
  async enter(slot: Slot): Promise<boolean> {
    if (this.#running.has(slot.id)) return true;
    this.#forget(slot.id);
    const ofViewer = this.#waiting.filter(({ viewer }) => viewer === slot.viewer).length;
    if (this.#waiting.length >= MAX_WAITING.company || ofViewer >= MAX_WAITING.viewer) return false;
    const admitted = new Promise<boolean>((begin) => this.#waiting.push({ ...slot, begin }));
    this.#admit();
    const timer = setTimeout(() => {
      this.#admit();
      this.#forget(slot.id);
    }, MAX_WAIT_MS);
    const outcome = await admitted;
    clearTimeout(timer);
    return outcome;
  }

  /** Releases a slot, or ends the wait for it. */
  leave(id: string): void {
    this.#forget(id);
    this.#running.delete(id);
    this.#admit();
  }

  /** Takes note that the company's database is waking, or awake. */
  noteWaking(isWaking: boolean): void {
    this.#wakingUntil = isWaking ? Date.now() + MAX_WAKING_MS : 0;
  }

  isWaking(): boolean {
    return Date.now() < this.#wakingUntil;
  }

  #admit(): void {
    const now = Date.now();
    for (const [id, { endsAt }] of this.#running) if (endsAt <= now) this.#running.delete(id);
    while (this.#running.size < CONCURRENCY.company) {
      const next = this.#waiting.findIndex(({ viewer }) => this.#countRunning(viewer) < CONCURRENCY.viewer);
      const [slot] = next < 0 ? [] : this.#waiting.splice(next, 1);
      if (!slot) return;
      const { id, viewer, begin } = slot;
      this.#running.set(id, { id, viewer, endsAt: now + MAX_SLOT_MS });
      begin(true);
    }
  }

  #countRunning(viewer: string): number {
    return [...this.#running.values()].filter((slot) => slot.viewer === viewer).length;
  }

  #forget(id: string): void {
    const place = this.#waiting.findIndex((slot) => slot.id === id);
    if (place >= 0) this.#waiting.splice(place, 1)[0]?.begin(false);
  }
}
