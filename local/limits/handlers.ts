import { runInInvocation } from './invocation.ts';

/** Wraps handlers, so that each invocation refuses what the platform refuses. */
export function limitHandlers<Handlers extends object>(handlers: Handlers): Handlers {
  const wrapped = Object.entries(handlers).map(([name, handler]) => [
    name,
    (...args: unknown[]) => runInInvocation(() => handler(...args)),
  ]);
  return Object.fromEntries(wrapped) as Handlers;
}
