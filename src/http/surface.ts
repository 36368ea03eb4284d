import type { ZodObject } from 'zod';
import type { Failure, FailureKind, FailureType, SurfaceName, Wording } from '../kernel/failure.ts';

/**
 * How callers of a surface prove who they are. `bearer` is a session token or a service token, `external` these or the token
 * of an outsider, `machine` a signature or a service token, `agent` what `bearer` is or an API key with its secret.
 */
export type Credential = 'signature' | 'bearer' | 'external' | 'machine' | 'agent';

/** What an error tells. Managed tables have no code for most. */
export interface ErrorWords {
  code?: string;
  message: string;
  details?: unknown;
}

/** One way to say the domain: who calls, and how failures are worded. */
export interface Surface {
  name: string;
  title: string;
  /** For the reader of the API's description: who calls, and what it is for. */
  description: string;
  credential: Credential;
  /** What its paths begin with; empty for all paths that belong to no other surface. */
  bases: readonly string[];
  /** Whose words it uses. */
  wordedAs: SurfaceName;
  /** How it words a failure by its family, where the failure says nothing else. */
  families: Record<FailureKind, Wording>;
  /** The sentence that follows its own words for too many requests. */
  tryAgainIn(seconds: number): string;
  /** Schema of an error body, for the API's description, and the field of it that holds the code. */
  errorBody: ZodObject;
  codeField: string;
  /** The body of an error. */
  errorOf(words: ErrorWords): unknown;
  /** Of a surface whose clients look there: the path of what tells how to prove who they are, named by every 401. */
  metadataPath?: string;
  /** How it words a 500, which tells nothing of what went wrong inside. */
  internalError: Omit<ErrorWords, 'details'>;
}

/** The status of a failure, by its family, where a surface does not say otherwise. */
const STATUS: Record<FailureKind, number> = {
  invalid: 422,
  unauthenticated: 401,
  forbidden: 403,
  missing: 404,
  conflict: 409,
  too_large: 413,
  too_many: 429,
  malformed: 400,
  unavailable: 503,
};

const withCodes = (codes: Record<FailureKind, string>): Record<FailureKind, Wording> =>
  Object.fromEntries(Object.entries(codes).map(([kind, code]) => [kind, { code }])) as Record<FailureKind, Wording>;

/** The families of failures in the words of the organization API. */
export const ORGANIZATION_FAMILIES = withCodes({
  invalid: 'ValidationError',
  unauthenticated: 'Unauthorized',
  forbidden: 'Forbidden',
  missing: 'NotFound',
  conflict: 'AlreadyExists',
  too_large: 'PayloadTooLarge',
  too_many: 'RateLimitExceeded',
  malformed: 'BadRequest',
  unavailable: 'ServiceUnavailable',
});

/** The families of failures in the words that console and sharing share. */
export const CONSOLE_FAMILIES = withCodes({
  invalid: 'VALIDATION_ERROR',
  unauthenticated: 'UNAUTHORIZED',
  forbidden: 'FORBIDDEN',
  missing: 'NOT_FOUND',
  conflict: 'CONFLICT',
  too_large: 'PAYLOAD_TOO_LARGE',
  too_many: 'RateLimitExceeded',
  malformed: 'BAD_REQUEST',
  unavailable: 'SERVICE_UNAVAILABLE',
});

/** The words of a surface for a failure, or for every failure of a type: status, code and what replaces its own words. */
export function wordingOf(
  { wordedAs, families }: Pick<Surface, 'wordedAs' | 'families'>,
  { kind, says }: Pick<FailureType, 'kind' | 'says'>,
): Wording & { status: number } {
  const own = says[wordedAs];
  return { status: STATUS[kind], ...families[kind], ...(typeof own === 'string' ? { code: own } : own) };
}

/** A failure in the words of a surface. */
export function worded(surface: Surface, failure: Failure): { status: number; body: unknown } {
  const { status, code, details = detailsOf(failure) } = wordingOf(surface, failure);
  return { status, body: surface.errorOf({ code, message: messageOf(surface, failure), details }) };
}

/** What a failure says on a surface. One of too many requests also says when to try again, in the same language. */
export function messageOf(surface: Surface, failure: Failure): string {
  const { message } = wordingOf(surface, failure);
  if (failure.kind !== 'too_many') return message ?? failure.message;
  const seconds = secondsToWait(failure);
  return message === undefined
    ? `${failure.message} ${tryAgainIn(seconds)}`
    : `${message} ${surface.tryAgainIn(seconds)}`;
}

/** When to try again, in English. */
export const tryAgainIn = (seconds: number): string =>
  `Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`;

/** How long to wait before a request is made again that was one of too many. */
export const secondsToWait = ({ detail }: Failure): number => Math.max(1, Math.ceil(detail.retryAfter ?? 1));

/** What the answer's `details` hold: the fields at fault, or what else the failure tells; undefined when none. */
function detailsOf(failure: Failure): unknown {
  const { message: _message, problems, retryAfter: _retryAfter, ...rest } = failure.detail;
  if (problems) return problems;
  return Object.keys(rest).length > 0 ? rest : undefined;
}
