import { awaitWithinTime } from '../kernel/time-limit.ts';
import { AddressRefusedError, fetchOutside } from './outside-fetch.ts';

/** The maximum number of redirects that are followed. */
export const MAX_REDIRECTS = 5;
const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308]);

/** Why no more bytes come: the URL may not be called, or redirects too often; silence; a lost connection. */
export type OutsideProblem = 'refused' | 'redirects' | 'silent' | 'lost';

/** Thrown when a file from outside cannot be read. It contains no URL, so that it can be logged. */
export class OutsideFetchError extends Error {
  readonly problem: OutsideProblem;

  constructor(problem: OutsideProblem) {
    super(`the address failed: ${problem}`);
    this.name = 'OutsideFetchError';
    this.problem = problem;
  }
}

/** A response whose body is read piece by piece. */
export interface OutsideResponse {
  status: number;
  headers: Headers;
  /** Reads the next bytes; null at the end. @throws OutsideFetchError where none come in time, or the connection is lost */
  read(): Promise<Uint8Array | null>;
  /** Ends the connection. */
  close(): void;
}

/**
 * Opens a file of any size at a URL that customers choose: each URL of the redirects is checked by the rules for outside
 * addresses, and no credentials of ours are sent. @param limits.allowPrivateHosts see {@link fetchOutside} @param
 * limits.silenceMs the longest time without bytes @throws OutsideFetchError
 */
export async function openOutsideFile(
  url: string,
  headers: Record<string, string>,
  { allowPrivateHosts, silenceMs }: { allowPrivateHosts: boolean; silenceMs: number },
): Promise<OutsideResponse> {
  let currentAddress = url;
  for (let redirectCount = 0; redirectCount <= MAX_REDIRECTS; redirectCount += 1) {
    const abortController = new AbortController();
    const pendingResponse = fetchOutside(
      currentAddress,
      { headers, signal: abortController.signal },
      allowPrivateHosts,
    );
    const response = await waitWithinTime(silenceMs, pendingResponse, abortController);
    const location = REDIRECT_STATUSES.has(response.status) ? response.headers.get('location') : null;
    if (location === null) return toOutsideResponse(response, abortController, silenceMs);
    abortController.abort();
    if (!URL.canParse(location, currentAddress)) throw new OutsideFetchError('refused');
    currentAddress = new URL(location, currentAddress).href;
  }
  throw new OutsideFetchError('redirects');
}

function toOutsideResponse(
  { status, headers, body }: Response,
  abortController: AbortController,
  silenceMs: number,
): OutsideResponse {
  const reader = body?.getReader();
  return {
    status,
    headers,
    async read() {
      if (!reader) return null;
      const { value, done } = await waitWithinTime(silenceMs, reader.read(), abortController);
      return done ? null : value;
    },
    close: () => abortController.abort(),
  };
}

/**
 * Waits for `work` within a time. The cause of a lost connection, which tells of our network and may name the URL, is not
 * passed on.
 */
async function waitWithinTime<T>(ms: number, work: Promise<T>, abortController: AbortController): Promise<T> {
  try {
    return await awaitWithinTime(ms, work, () => new OutsideFetchError('silent'));
  } catch (error) {
    work.catch(() => {});
    abortController.abort();
    if (error instanceof OutsideFetchError) throw error;
    throw new OutsideFetchError(error instanceof AddressRefusedError ? 'refused' : 'lost');
  }
}
