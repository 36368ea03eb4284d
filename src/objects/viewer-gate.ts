import { DurableObject } from 'cloudflare:workers';

/**
 * How many executions of viewers run at once: those of a company, and of one viewer. Each takes up to four connections of
 * the company's reader, who has forty: what viewers leave is the company's own, whatever they do.
 */
const AT_ONCE = { company: 6, viewer: 3 };
/** How long one waits for its turn, and how many do: of a company, and of one viewer, who must not fill the line. */
const PATIENCE_MS = 8_000;
const MOST_WAITING = { company: 500, viewer: 250 };
/** One that was never given back ends by itself: beyond what an execution may take. */
const LONGEST_TURN_MS = 45_000;

interface Turn {
  id: string;
  viewer: string;
}

interface Waiting extends Turn {
  begin(admitted: boolean): void;
}

/**
 * One per company: gives those who look at what it shared their turns at its database, in the order they came. All of it
 * lives in memory: what an eviction forgets is bounded by `LONGEST_TURN_MS`.
 */
export class ViewerGate extends DurableObject {
  readonly #running = new Map<string, Turn & { endsAt: number }>();
  readonly #waiting: Waiting[] = [];

  /** Waits for a turn. @returns false when it did not come in time; with true it is to be given back by `leave` */
  async enter(turn: Turn): Promise<boolean> {
    const ofViewer = this.#waiting.filter(({ viewer }) => viewer === turn.viewer).length;
    if (this.#waiting.length >= MOST_WAITING.company || ofViewer >= MOST_WAITING.viewer) return false;
    const admitted = new Promise<boolean>((begin) => this.#waiting.push({ ...turn, begin }));
    this.#admit();
    const timer = setTimeout(() => {
      this.#admit();
      this.#forget(turn.id);
    }, PATIENCE_MS);
    const outcome = await admitted;
    clearTimeout(timer);
    return outcome;
  }

  /** Ends a turn, or the waiting for it. */
  leave(id: string): void {
    this.#forget(id);
    this.#running.delete(id);
    this.#admit();
  }

  #admit(): void {
    const now = Date.now();
    for (const [id, { endsAt }] of this.#running) if (endsAt <= now) this.#running.delete(id);
    while (this.#running.size < AT_ONCE.company) {
      const next = this.#waiting.findIndex(({ viewer }) => this.#runningOf(viewer) < AT_ONCE.viewer);
      const [turn] = next < 0 ? [] : this.#waiting.splice(next, 1);
      if (!turn) return;
      const { id, viewer, begin } = turn;
      this.#running.set(id, { id, viewer, endsAt: now + LONGEST_TURN_MS });
      begin(true);
    }
  }

  #runningOf(viewer: string): number {
    return [...this.#running.values()].filter((turn) => turn.viewer === viewer).length;
  }

  #forget(id: string): void {
    const place = this.#waiting.findIndex((turn) => turn.id === id);
    if (place >= 0) this.#waiting.splice(place, 1)[0]?.begin(false);
  }
}
