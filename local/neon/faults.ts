/** The calls of the management API that a fault can be laid on. */
export type NeonCall =
  | 'list_projects'
  | 'create_project'
  | 'get_project'
  | 'delete_project'
  | 'list_operations'
  | 'get_operation'
  | 'connection_uri';

/** A disturbance of the next calls that concern the project of that name. */
export interface NeonFault {
  call: NeonCall;
  project_name: string;
  /** How many calls it hits; one when left out. */
  times?: number;
  /** Answer this status without doing anything. */
  status?: number;
  /** Value of `Retry-After` beside `status`, in seconds. */
  retry_after?: number;
  /** Do the work, then drop the connection instead of answering. */
  lose_answer?: boolean;
  /** Wait before doing anything, in milliseconds. */
  delay_ms?: number;
  /** With `create_project`: how long its operations stay `running`, in milliseconds. */
  operations_ms?: number;
}

/** The faults laid so far, and a count of the calls that came, per project name. For tests of the callers. */
export class Faults {
  readonly #pending: (NeonFault & { left: number })[] = [];
  readonly #counts = new Map<string, number>();

  /** Lays a fault on the next calls. */
  lay(fault: NeonFault): void {
    this.#pending.push({ ...fault, left: fault.times ?? 1 });
  }

  /** Counts the call, and takes the fault laid on it, if there is one. */
  take(call: NeonCall, projectName: string): NeonFault | undefined {
    const key = `${call} ${projectName}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    const index = this.#pending.findIndex((fault) => fault.call === call && fault.project_name === projectName);
    const fault = this.#pending[index];
    if (fault === undefined) return undefined;
    fault.left -= 1;
    if (fault.left <= 0) this.#pending.splice(index, 1);
    return fault;
  }

  /** How often each call concerned the project of that name. */
  counts(projectName: string): Record<string, number> {
    const suffix = ` ${projectName}`;
    return Object.fromEntries(
      [...this.#counts].filter(([key]) => key.endsWith(suffix)).map(([key, n]) => [key.slice(0, -suffix.length), n]),
    );
  }
}
