import { createExecutionContext, env, waitOnExecutionContext } from 'cloudflare:test';
import worker from '../support/worker.ts';

/** Creates a `fetch` that passes the client's requests to the Worker. `changedEnv` holds environment variables to override. */
export const createWorkerFetch = (changedEnv: Record<string, unknown> = {}): typeof fetch =>
  (async (input: RequestInfo, init: RequestInit = {}) => {
    const executionContext = createExecutionContext();
    const request = new Request(input, { ...init, body: toRuntimeStream(init.body) });
    const response = await worker.fetch(request, { ...env, ...changedEnv } as typeof env, executionContext);
    await waitOnExecutionContext(executionContext);
    return response;
  }) as typeof fetch;

/**
 * Converts a stream body to a stream of the runtime, as the Worker receives it over the network; other bodies stay as they are.
 */
const toRuntimeStream = (body: RequestInit['body']): RequestInit['body'] =>
  body instanceof ReadableStream ? body.pipeThrough(new IdentityTransformStream()) : body;
