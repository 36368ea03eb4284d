import { defineFailure } from '../kernel/failure.ts';
import { addressProblem } from '../kernel/public-address.ts';
import { readBounded } from './bounded.ts';

const TIMEOUT_MS = 8000;
/** Metadata, key sets and token answers are a few kilobytes. */
const LARGEST_ANSWER = 512 * 1024;

export const outboundRefused = defineFailure('outbound.refused', 'unavailable', {
  message: 'The address of the identity provider may not be called.',
  detail: (problem: string) => ({ message: `The address ${problem}.` }),
});

export const outboundFailed = defineFailure('outbound.failed', 'unavailable', {
  message: 'The identity provider could not be reached.',
});

/**
 * A fetch for addresses that customers choose: only to public https hosts, without redirects, with limits of time and size.
 * @param allowPrivate for development: also plain http to this machine
 * @returns a function like `fetch`, whose answer has been read whole
 */
export function outboundFetch(allowPrivate: boolean) {
  return async (address: string, init: RequestInit = {}): Promise<Response> => {
    const problem = addressProblem(address, allowPrivate);
    if (problem !== null) throw outboundRefused(problem);
    try {
      const response = await fetch(address, { ...init, redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });
      const body = await readBounded(response.body, LARGEST_ANSWER);
      if (body === null) throw new Error('The answer is too large.');
      const headers = { 'content-type': response.headers.get('content-type') ?? '' };
      return new Response(body.length > 0 ? body : null, { status: response.status, headers });
    } catch (error) {
      // The cause tells of our network: it is for the log, not for the caller.
      throw outboundFailed().because(error);
    }
  };
}
