import { setTimeout as sleep } from 'node:timers/promises';

/** Round trips of opening a connection to Neon: TCP, TLS, the WebSocket. */
const OPENING_TRIP_COUNT = 3;

/**
 * Delays messages to a project's database, and counts the round trips that its callers made one after another. Messages
 * that are sent before an answer has arrived count as one trip; without a delay the two cannot be told apart.
 */
export class RoundTrips {
  readonly #projects = new Map<string, { milliseconds: number; tripCount: number }>();

  /** Sets the round-trip time of a project (ms), and counts its trips from 0. */
  setLatency(projectName: string, milliseconds: number): void {
    this.#projects.set(projectName, { milliseconds, tripCount: 0 });
  }

  /** Returns the longest chain of round trips since the latency was set. */
  getTripCount(projectName: string): number {
    return this.#projects.get(projectName)?.tripCount ?? 0;
  }

  /** Waits as long as opening a connection takes at the project's latency. */
  async waitForOpening(projectName: string): Promise<void> {
    const project = this.#projects.get(projectName);
    if (project === undefined) return;
    const tripCount = project.tripCount + OPENING_TRIP_COUNT;
    await sleep(project.milliseconds * OPENING_TRIP_COUNT);
    project.tripCount = Math.max(project.tripCount, tripCount);
  }

  /** Makes a link that delays and counts the messages of one connection. */
  createLink(projectName: string): Link {
    const project = this.#projects.get(projectName);
    let answeredTripCount = 0;
    let lastTripPromise: Promise<void> = Promise.resolve();
    return {
      async send(forward) {
        if (project === undefined || project.milliseconds === 0) return forward();
        const tripCount = project.tripCount + 1;
        const arrival = sleep(project.milliseconds);
        // Timers may fire in another order.
        lastTripPromise = lastTripPromise.then(async () => {
          await arrival;
          answeredTripCount = tripCount;
          await forward();
        });
        await lastTripPromise;
      },
      receive() {
        if (project !== undefined) project.tripCount = Math.max(project.tripCount, answeredTripCount);
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
