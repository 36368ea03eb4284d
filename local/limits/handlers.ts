import { runInInvocation } from './invocation.ts';

/** Handlers whose invocations refuse what the platform refuses. */
export function limitHandlers<Handlers extends object>(handlers: Handlers): Handlers {
  const wrapped = Object.entries(handlers).map(([name, handler]) => [
    name,
    (...given: unknown[]) => runInInvocation(() => handler(...given)),
  ]);
  return Object.fromEntries(wrapped) as Handlers;
}
