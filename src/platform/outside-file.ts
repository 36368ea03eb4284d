import { withinTime } from '../kernel/time-limit.ts';
import { AddressRefused, fetchOutside } from './outside-fetch.ts';

/** The maximum number of redirects that are followed. */
export const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Why nothing more comes: the address may not be called, redirects too often, says nothing, or was lost. */
export type OutsideProblem = 'refused' | 'redirects' | 'silent' | 'lost';

/** Tells nothing of the address, so that it can be logged. */
export class OutsideFailed extends Error {
  readonly problem: OutsideProblem;

  constructor(problem: OutsideProblem) {
    super(`the address failed: ${problem}`);
    this.name = 'OutsideFailed';
    this.problem = problem;
  }
}

/** An answer whose body is read piece by piece. */
export interface OutsideResponse {
  status: number;
  headers: Headers;
  /** The next bytes; null at the end. @throws OutsideFailed where none come in time, or the connection is lost */
  read(): Promise<Uint8Array | null>;
  /** Ends the connection. */
  close(): void;
}

/**
 * Opens a file at an address that customers choose, of any size: each address on the way is held against the rules for
 * outside addresses, and nothing of ours is sent along.
 * @param limits `allowPrivate` as {@link fetchOutside} has it; `silenceMs` how long nothing may come
 * @throws OutsideFailed
 */
export async function openOutside(
  address: string,
  headers: Record<string, string>,
  { allowPrivate, silenceMs }: { allowPrivate: boolean; silenceMs: number },
): Promise<OutsideResponse> {
  let next = address;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const abort = new AbortController();
    const asked = fetchOutside(next, { headers, signal: abort.signal }, allowPrivate);
    const response = await inTime(silenceMs, asked, abort);
    const location = REDIRECTS.has(response.status) ? response.headers.get('location') : null;
    if (location === null) return toOutsideResponse(response, abort, silenceMs);
    abort.abort();
    if (!URL.canParse(location, next)) throw new OutsideFailed('refused');
    next = new URL(location, next).href;
  }
  throw new OutsideFailed('redirects');
}

function toOutsideResponse(
  { status, headers, body }: Response,
  abort: AbortController,
  silenceMs: number,
): OutsideResponse {
  const reader = body?.getReader();
  return {
    status,
    headers,
    async read() {
      if (!reader) return null;
      const { value, done } = await inTime(silenceMs, reader.read(), abort);
      return done ? null : value;
    },
    close: () => abort.abort(),
  };
}

/** The cause of a lost connection tells of our network, and may name the address: it goes no further. */
async function inTime<T>(ms: number, work: Promise<T>, abort: AbortController): Promise<T> {
  try {
    return await withinTime(ms, work, () => new OutsideFailed('silent'));
  } catch (error) {
    work.catch(() => {});
    abort.abort();
    if (error instanceof OutsideFailed) throw error;
    throw new OutsideFailed(error instanceof AddressRefused ? 'refused' : 'lost');
  }
}
