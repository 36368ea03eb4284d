import { createExecutionContext, env, waitOnExecutionContext } from 'cloudflare:test';
import worker from '../support/worker.ts';

/** Sends to the Worker what the client would send over the net. `changed` are variables that differ. */
export const toWorker = (changed: Record<string, unknown> = {}): typeof fetch =>
  (async (input: RequestInfo, init: RequestInit = {}) => {
    const execution = createExecutionContext();
    const request = new Request(input, { ...init, body: overTheNet(init.body) });
    const response = await worker.fetch(request, { ...env, ...changed } as typeof env, execution);
    await waitOnExecutionContext(execution);
    return response;
  }) as typeof fetch;

/** A request that arrives has a stream of the runtime's own, whatever wrote it. */
const overTheNet = (body: RequestInit['body']): RequestInit['body'] =>
  body instanceof ReadableStream ? body.pipeThrough(new IdentityTransformStream()) : body;
