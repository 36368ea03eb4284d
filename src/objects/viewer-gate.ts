import { DurableObject } from 'cloudflare:workers';

/**
 * The maximum numbers of concurrent executions for a company's viewers together, and for one viewer: each uses two of the
 * reader's forty connections.
 */
const MAX_EXECUTIONS = { company: 12, viewer: 8 };
/** The time that a viewer waits for a slot. */
const MAX_WAIT_MS = 12_000;
/** The maximum numbers of waiting requests of a company and of one viewer. */
const MAX_WAITING_EXECUTIONS = { company: 500, viewer: 250 };
/** The time after which a slot that was not released ends, longer than any execution. */
const MAX_SLOT_MS = 45_000;

/** The time after which a database that has not answered no longer counts as waking. */
const MAX_WAKING_MS = 15_000;

interface ExecutionSlot {
  id: string;
  viewer: string;
}

interface WaitingViewer extends ExecutionSlot {
  begin(isAdmitted: boolean): void;
}

/**
 * Gives viewers slots at their company's database, in the order of their requests; a slot that is never released ends by itself.
 */
export class ViewerGate extends DurableObject {
  readonly #runningExecutions = new Map<string, ExecutionSlot & { endsAt: number }>();
  readonly #waitingViewers: WaitingViewer[] = [];
  /** The time until which the company's database is believed to be waking. */
  #wakingUntil = 0;

  /**
   * Waits for a slot, which `leave` releases. @returns whether the slot came in time; a repeated call with the same id has the
   * same slot
   */
  async enter(slot: ExecutionSlot): Promise<boolean> {
    if (this.#runningExecutions.has(slot.id)) return true;
    this.#forget(slot.id);
    const viewerWaitingCount = this.#waitingViewers.filter(({ viewer }) => viewer === slot.viewer).length;
    if (
      this.#waitingViewers.length >= MAX_WAITING_EXECUTIONS.company ||
      viewerWaitingCount >= MAX_WAITING_EXECUTIONS.viewer
    )
      return false;
    const admissionPromise = new Promise<boolean>((begin) => this.#waitingViewers.push({ ...slot, begin }));
    this.#admit();
    const timer = setTimeout(() => {
      this.#admit();
      this.#forget(slot.id);
    }, MAX_WAIT_MS);
    const isAdmitted = await admissionPromise;
    clearTimeout(timer);
    return isAdmitted;
  }

  /** Releases a slot, or ends the wait for it. */
  leave(id: string): void {
    this.#forget(id);
    this.#runningExecutions.delete(id);
    this.#admit();
  }

  /** Records that the company's database is waking, or awake. */
  noteWaking(isWaking: boolean): void {
    this.#wakingUntil = isWaking ? Date.now() + MAX_WAKING_MS : 0;
  }

  isWaking(): boolean {
    return Date.now() < this.#wakingUntil;
  }

  #admit(): void {
    const now = Date.now();
    for (const [id, { endsAt }] of this.#runningExecutions) if (endsAt <= now) this.#runningExecutions.delete(id);
    while (this.#runningExecutions.size < MAX_EXECUTIONS.company) {
      const nextIndex = this.#waitingViewers.findIndex(
        ({ viewer }) => this.#countRunning(viewer) < MAX_EXECUTIONS.viewer,
      );
      const [slot] = nextIndex < 0 ? [] : this.#waitingViewers.splice(nextIndex, 1);
      if (!slot) return;
      const { id, viewer, begin } = slot;
      this.#runningExecutions.set(id, { id, viewer, endsAt: now + MAX_SLOT_MS });
      begin(true);
    }
  }

  #countRunning(viewer: string): number {
    return [...this.#runningExecutions.values()].filter((slot) => slot.viewer === viewer).length;
  }

  #forget(id: string): void {
    const index = this.#waitingViewers.findIndex((slot) => slot.id === id);
    if (index >= 0) this.#waitingViewers.splice(index, 1)[0]?.begin(false);
  }
}
