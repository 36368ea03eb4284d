/** A disturbance of one tunnel to the database of the project of that name. */
export interface TunnelFault {
  project_name: string;
  /** Regular expression: it hits the message of the driver that fits. Without it, the opening of a tunnel. */
  statement?: string;
  /**
   * - `lose_answer`: PostgreSQL gets the message, and the tunnel is cut before its answer
   * - `fall_silent`: from here on nothing passes either way, and the tunnel stays open: a dead socket
   * - `hold`: the message waits until the project is released
   */
  effect: 'lose_answer' | 'fall_silent' | 'hold';
}

/** The faults laid on tunnels, each for one message. For tests of those who speak through them. */
export class TunnelFaults {
  readonly #pending: TunnelFault[] = [];
  /** Of each project those not released yet, in the order they were laid and are met. */
  readonly #holds = new Map<string, Hold[]>();

  /** Lays a fault. */
  lay(fault: TunnelFault): void {
    this.#pending.push(fault);
    if (fault.effect === 'hold') this.#holdsOf(fault.project_name).push(new Hold());
  }

  /** Takes the fault that hits a message, or the opening of a tunnel where there is none. */
  take(projectName: string, message?: Buffer): TunnelFault | undefined {
    const index = this.#pending.findIndex(
      ({ project_name, statement }) => project_name === projectName && fits(statement, message),
    );
    return index < 0 ? undefined : this.#pending.splice(index, 1)[0];
  }

  /** Says that a message waits, and waits until the project is released. */
  async hold(projectName: string): Promise<void> {
    const hold = this.#holdsOf(projectName)[0];
    hold?.met();
    await hold?.released;
  }

  /** Resolves when a message of the project waits. */
  async untilHeld(projectName: string): Promise<void> {
    await this.#holdsOf(projectName)[0]?.held;
  }

  release(projectName: string): void {
    this.#holdsOf(projectName).shift()?.release();
  }

  #holdsOf(projectName: string): Hold[] {
    const holds = this.#holds.get(projectName) ?? [];
    this.#holds.set(projectName, holds);
    return holds;
  }
}

/** A message that waits, or will. */
class Hold {
  met!: () => void;
  release!: () => void;
  readonly held = new Promise<void>((resolve) => {
    this.met = resolve;
  });
  readonly released = new Promise<void>((resolve) => {
    this.release = resolve;
  });
}

function fits(statement: string | undefined, message: Buffer | undefined): boolean {
  if (statement === undefined || message === undefined) return statement === message;
  return new RegExp(statement).test(message.toString('latin1'));
}
