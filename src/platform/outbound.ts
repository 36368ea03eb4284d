import { defineFailure } from '../kernel/failure.ts';
import { readBounded } from './bounded.ts';
import { AddressRefusedError, fetchOutside } from './outside-fetch.ts';

const TIMEOUT_MS = 8000;
/** The maximum size of a response in bytes. Metadata, key sets and token answers are a few kilobytes. */
const MAX_RESPONSE_BYTES = 512 * 1024;

export const outboundRefused = defineFailure('outbound.refused', 'unavailable', {
  message: 'The address of the identity provider may not be called.',
  detail: (problem: string) => ({ message: `The address ${problem}.` }),
});

export const outboundFailed = defineFailure('outbound.failed', 'unavailable', {
  message: 'The identity provider could not be reached.',
});

/**
 * Creates a function that fetches from identity providers that customers choose, with limits of time and size. @param
 * allowPrivateHosts the same as in {@link fetchOutside} @returns a function like `fetch`, whose response has been read completely
 */
export function createOutboundFetch(allowPrivateHosts: boolean) {
  return async (url: string, init: RequestInit = {}): Promise<Response> => {
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const response = await fetchOutside(url, { ...init, signal }, allowPrivateHosts);
      const body = await readBounded(response.body, MAX_RESPONSE_BYTES);
      if (body === null) throw new Error('The answer is too large.');
      const headers = { 'content-type': response.headers.get('content-type') ?? '' };
      return new Response(body.length > 0 ? body : null, { status: response.status, headers });
    } catch (error) {
      if (error instanceof AddressRefusedError) throw outboundRefused(error.problem);
      // The cause tells of our network: it is for the log, not for the caller.
      throw outboundFailed().addCause(error);
    }
  };
}
