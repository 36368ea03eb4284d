import { setTimeout as sleep } from 'node:timers/promises';

/** What opening a connection to Neon takes: TCP, TLS, the WebSocket. */
const OPENING_TRIPS = 3;

/**
 * Delays messages to a project's database, and counts the round trips that its callers made one after another. Messages
 * that are sent before an answer has arrived count as one trip; without a delay the two cannot be told apart.
 */
export class RoundTrips {
  readonly #projects = new Map<string, { milliseconds: number; trips: number }>();

  /** Sets the time that a round trip to a project takes, and counts from 0. */
  setDistance(projectName: string, milliseconds: number): void {
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

  /** Delays and counts the messages of one connection. */
  link(projectName: string): Link {
    const project = this.#projects.get(projectName);
    let answered = 0;
    let last: Promise<void> = Promise.resolve();
    return {
      async send(forward) {
        if (project === undefined || project.milliseconds === 0) return forward();
        const trips = project.trips + 1;
        const arrival = sleep(project.milliseconds);
        // Timers may fire in another order.
        last = last.then(async () => {
          await arrival;
          answered = trips;
          await forward();
        });
        await last;
      },
      receive() {
        if (project !== undefined) project.trips = Math.max(project.trips, answered);
      },
    };
  }
}

export interface Link {
  /** Forwards a message to the database after the whole time of a round trip. */
  send(forward: () => void | Promise<void>): void | Promise<void>;
  /** Counts an answer, which is not delayed. */
  receive(): void;
}
