import type { ZodType } from 'zod';
import type { Failure, FailureKind } from '../kernel/failure.ts';

/** How callers of a surface prove who they are. `external` is the token of an outsider, or a person's session token. */
export type Credential = 'signature' | 'bearer' | 'external';

/** How a surface says a failure: HTTP status, its code, and a sentence where the domain's own does not fit. */
export type Wording = readonly [status: number, code: string, message?: string];

/** One way to say the domain: who calls, and how failures are worded. */
export interface Surface {
  name: string;
  title: string;
  /** For the reader of the API's description: who calls, and what it is for. */
  description: string;
  credential: Credential;
  /** Schema of an error body, for the API's description. */
  errorBody: ZodType;
  /** The answer to a failure. Reasons that the surface words itself come first, then the family. */
  word(failure: Failure): { status: number; body: unknown };
  /** The body of a 500: it tells nothing of what went wrong inside. */
  internalError: unknown;
}

/** The status of a failure, by its family, where a surface does not say otherwise. */
export const STATUS: Record<FailureKind, number> = {
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

/** The codes that console and sharing share, by the family of the failure. */
export const UPPER_CASE_CODES: Record<FailureKind, string> = {
  invalid: 'VALIDATION_ERROR',
  unauthenticated: 'UNAUTHORIZED',
  forbidden: 'FORBIDDEN',
  missing: 'NOT_FOUND',
  conflict: 'CONFLICT',
  too_large: 'PAYLOAD_TOO_LARGE',
  too_many: 'RateLimitExceeded',
  malformed: 'BAD_REQUEST',
  unavailable: 'SERVICE_UNAVAILABLE',
};

/** What console and sharing say alike: about requests that reach no endpoint, and changes whose outcome nobody knows. */
export const REQUEST_REASONS: Record<string, Wording> = {
  'tenant_sql.result_unknown': [503, 'RESULT_UNKNOWN'],
  'request.malformed_json': [400, 'INVALID_JSON', 'The body is not valid JSON.'],
  'request.unknown_route': [404, 'NOT_FOUND', 'There is no such route.'],
  'request.wrong_method': [405, 'METHOD_NOT_ALLOWED', 'This method is not available on this route.'],
};

/** What the answer's `details` hold: the fields at fault, or the failure's further members; undefined when none. */
export function detailsOf(failure: Failure): unknown {
  const { message: _message, problems, retryAfter: _retryAfter, ...rest } = failure.detail;
  if (problems) return problems;
  return Object.keys(rest).length > 0 ? rest : undefined;
}
