import { inInvocation } from './invocation.ts';

/** Handlers whose invocations refuse what the platform refuses. */
export function limitedHandlers<Handlers extends object>(handlers: Handlers): Handlers {
  const wrapped = Object.entries(handlers).map(([name, handler]) => [
    name,
    (...given: unknown[]) => inInvocation(() => handler(...given)),
  ]);
  return Object.fromEntries(wrapped) as Handlers;
}
