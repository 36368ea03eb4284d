/** Fault of one tunnel to the database of the project with the given name. */
export interface TunnelFault {
  project_name: string;
  /** Regular expression for the driver's message that is affected; without it, the opening of a tunnel is affected. */
  statement?: string;
  /**
   * - `lose_answer`: PostgreSQL gets the message, and the tunnel is cut before its answer
   * - `fall_silent`: from here on nothing passes either way, and the tunnel stays open: a dead socket
   * - `hold`: the message waits until the project is released
   */
  effect: 'lose_answer' | 'fall_silent' | 'hold';
}

/** Faults set on tunnels, each for one message. For tests of the driver's users. */
export class TunnelFaults {
  readonly #pendingFaults: TunnelFault[] = [];
  /** Unreleased holds of each project, in the order in which they were set. */
  readonly #holds = new Map<string, HoldPromises[]>();

  setFault(fault: TunnelFault): void {
    this.#pendingFaults.push(fault);
    if (fault.effect !== 'hold') return;
    this.#getHolds(fault.project_name).push({ held: Promise.withResolvers(), released: Promise.withResolvers() });
  }

  /** Removes and returns the fault set on a message, or on the opening of a tunnel without one. */
  takeFault(projectName: string, message?: Buffer): TunnelFault | undefined {
    const index = this.#pendingFaults.findIndex(
      ({ project_name, statement }) => project_name === projectName && matchesMessage(statement, message),
    );
    return index < 0 ? undefined : this.#pendingFaults.splice(index, 1)[0];
  }

  /** Holds a message until the project is released. */
  async holdMessage(projectName: string): Promise<void> {
    const hold = this.#getHolds(projectName)[0];
    hold?.held.resolve();
    await hold?.released.promise;
  }

  /** Resolves when a message of the project is held. */
  async waitForHeldMessage(projectName: string): Promise<void> {
    await this.#getHolds(projectName)[0]?.held.promise;
  }

  releaseMessage(projectName: string): void {
    this.#getHolds(projectName).shift()?.released.resolve();
  }

  #getHolds(projectName: string): HoldPromises[] {
    const holds = this.#holds.get(projectName) ?? [];
    this.#holds.set(projectName, holds);
    return holds;
  }
}

/** Promises of a message to hold: that it is held, and that it is released. */
type HoldPromises = Record<'held' | 'released', PromiseWithResolvers<void>>;

function matchesMessage(statement: string | undefined, message: Buffer | undefined): boolean {
  if (statement === undefined || message === undefined) return statement === message;
  return new RegExp(statement).test(message.toString('latin1'));
}
