import { AsyncLocalStorage } from 'node:async_hooks';
import { LIMITS, LimitExceededError } from './limits.ts';

/** Counts of the subrequests, queries and connections of one invocation of a Worker. */
class Invocation {
  #subrequests = 0;
  #queries = 0;
  #open = 0;
  readonly #waiting: (() => void)[] = [];

  countQuery(): void {
    this.#queries += 1;
    if (this.#queries > LIMITS.queries.value) throw new LimitExceededError('queries', this.#queries);
    this.countSubrequest();
  }

  countSubrequest(): void {
    this.#subrequests += 1;
    if (this.#subrequests > LIMITS.subrequests.value) throw new LimitExceededError('subrequests', this.#subrequests);
  }

  async connect<T>(openConnection: () => Promise<T>): Promise<T> {
    this.countSubrequest();
    if (this.#open === LIMITS.connections.value) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#open += 1;
    try {
      return await openConnection();
    } finally {
      const nextWaiter = this.#waiting.shift();
      if (nextWaiter) nextWaiter();
      else this.#open -= 1;
    }
  }
}

const currentInvocation = new AsyncLocalStorage<Invocation>();

/** Runs an invocation of a Worker, whose use of the platform is counted. */
export const runInInvocation = <T>(handler: () => T): T => currentInvocation.run(new Invocation(), handler);

/** Counts a query of D1. @throws LimitExceededError */
export const countQuery = (): void => currentInvocation.getStore()?.countQuery();

/** Opens a connection when the invocation may have another one. @throws LimitExceededError */
export const openWithinLimit = <T>(openConnection: () => Promise<T>): Promise<T> =>
  currentInvocation.getStore()?.connect(openConnection) ?? openConnection();
