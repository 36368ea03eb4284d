import { AsyncLocalStorage } from 'node:async_hooks';
import { LIMITS, LimitExceededError } from './limits.ts';

/** Counts of the subrequests, queries and connections of one invocation of a Worker. */
class Invocation {
  #subrequestCount = 0;
  #queryCount = 0;
  #openConnectionCount = 0;
  readonly #waitingResolvers: (() => void)[] = [];

  countQuery(): void {
    this.#queryCount += 1;
    if (this.#queryCount > LIMITS.queries.value) throw new LimitExceededError('queries', this.#queryCount);
    this.countSubrequest();
  }

  countSubrequest(): void {
    this.#subrequestCount += 1;
    if (this.#subrequestCount > LIMITS.subrequests.value)
      throw new LimitExceededError('subrequests', this.#subrequestCount);
  }

  async connect<T>(openConnection: () => Promise<T>): Promise<T> {
    this.countSubrequest();
    if (this.#openConnectionCount === LIMITS.connections.value)
      await new Promise<void>((resolve) => this.#waitingResolvers.push(resolve));
    else this.#openConnectionCount += 1;
    try {
      return await openConnection();
    } finally {
      const nextWaiter = this.#waitingResolvers.shift();
      if (nextWaiter) nextWaiter();
      else this.#openConnectionCount -= 1;
    }
  }
}

const currentInvocation = new AsyncLocalStorage<Invocation>();

/** Runs an invocation of a Worker, whose use of the platform is counted. */
export const runInInvocation = <T>(handler: () => T): T => currentInvocation.run(new Invocation(), handler);

/** Wraps handlers, so that each invocation refuses what the platform refuses. */
export function limitHandlers<Handlers extends object>(handlers: Handlers): Handlers {
  const wrapped = Object.entries(handlers).map(([name, handler]) => [
    name,
    (...args: unknown[]) => runInInvocation(() => handler(...args)),
  ]);
  return Object.fromEntries(wrapped) as Handlers;
}

/** Counts a query of D1. @throws LimitExceededError */
export const countQuery = (): void => currentInvocation.getStore()?.countQuery();

/** Opens a connection when the invocation may have another one. @throws LimitExceededError */
export const openWithinLimit = <T>(openConnection: () => Promise<T>): Promise<T> =>
  currentInvocation.getStore()?.connect(openConnection) ?? openConnection();
