/** Calls of the management API for which a fault can be set. */
export type NeonCall =
  | 'list_projects'
  | 'create_project'
  | 'get_project'
  | 'delete_project'
  | 'list_operations'
  | 'get_operation'
  | 'connection_uri';

/** Fault of the next calls that concern the project with the given name. */
export interface NeonFault {
  call: NeonCall;
  project_name: string;
  /** Number of affected calls; one when left out. */
  times?: number;
  /** Status to answer without doing anything. */
  status?: number;
  /** Value of `Retry-After` beside `status`, in seconds. */
  retry_after?: number;
  /** True to do the work, and then drop the connection instead of answering. */
  lose_answer?: boolean;
  /** Milliseconds to wait before doing anything. */
  delay_ms?: number;
  /** With `create_project`: milliseconds for which its operations stay `running`. */
  operations_ms?: number;
}

/** Faults that are set, and numbers of calls, by project name. For tests of the callers. */
export class Faults {
  readonly #pendingFaults: (NeonFault & { remainingCount: number })[] = [];
  readonly #callCounts = new Map<string, number>();

  setFault(fault: NeonFault): void {
    this.#pendingFaults.push({ ...fault, remainingCount: fault.times ?? 1 });
  }

  /** Counts the call, and returns the fault set on it, if any. */
  takeFault(call: NeonCall, projectName: string): NeonFault | undefined {
    const key = `${call} ${projectName}`;
    this.#callCounts.set(key, (this.#callCounts.get(key) ?? 0) + 1);
    const index = this.#pendingFaults.findIndex((fault) => fault.call === call && fault.project_name === projectName);
    const fault = this.#pendingFaults[index];
    if (fault === undefined) return undefined;
    fault.remainingCount -= 1;
    if (fault.remainingCount <= 0) this.#pendingFaults.splice(index, 1);
    return fault;
  }

  /** Returns the number of calls by kind for the project with the given name. */
  countCalls(projectName: string): Record<string, number> {
    const suffix = ` ${projectName}`;
    return Object.fromEntries(
      [...this.#callCounts]
        .filter(([key]) => key.endsWith(suffix))
        .map(([key, n]) => [key.slice(0, -suffix.length), n]),
    );
  }
}
