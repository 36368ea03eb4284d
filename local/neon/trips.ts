import { setTimeout as sleep } from 'node:timers/promises';

/** What opening a connection to Neon takes: TCP, TLS, the WebSocket. */
const OPENING_TRIPS = 3;

/**
 * Distance to the projects' databases, and how many round trips in sequence their callers made over it: whatever is sent
 * without waiting for an answer that is on its way counts with what was sent before it. Only over a distance can the two
 * be told apart.
 */
export class Trips {
  readonly #projects = new Map<string, { milliseconds: number; trips: number }>();

  /** Puts a project that far away, there and back, and counts from 0. */
  place(projectName: string, milliseconds: number): void {
    this.#projects.set(projectName, { milliseconds, trips: 0 });
  }

  /** The longest chain of round trips since then. */
  of(projectName: string): number {
    return this.#projects.get(projectName)?.trips ?? 0;
  }

  /** Resolves when a connection is open, so far away. */
  async open(projectName: string): Promise<void> {
    const project = this.#projects.get(projectName);
    if (project === undefined) return;
    const trips = project.trips + OPENING_TRIPS;
    await sleep(project.milliseconds * OPENING_TRIPS);
    project.trips = Math.max(project.trips, trips);
  }

  /** The way of one connection's messages. */
  way(projectName: string): Way {
    const project = this.#projects.get(projectName);
    let answered = 0;
    let last: Promise<void> = Promise.resolve();
    return {
      async there(pass) {
        if (project === undefined || project.milliseconds === 0) return pass();
        const trips = project.trips + 1;
        const arrival = sleep(project.milliseconds);
        // In their order, whatever timers do.
        last = last.then(async () => {
          await arrival;
          answered = trips;
          await pass();
        });
        await last;
      },
      back() {
        if (project !== undefined) project.trips = Math.max(project.trips, answered);
      },
    };
  }
}

export interface Way {
  /** Passes a message to the database when it has come there. The distance is laid on this way alone. */
  there(pass: () => void | Promise<void>): void | Promise<void>;
  /** Counts an answer, which is there at once. */
  back(): void;
}
