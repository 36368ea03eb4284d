import type { ZodType, z } from 'zod';
import type { Principal } from '../context.ts';
import type { Failure, FailureKind } from '../kernel/failure.ts';

/** How callers of a surface prove who they are. */
export type Credential = 'signature' | 'bearer' | 'external';

/** How a surface says a failure: HTTP status, its code, and a sentence where the domain's own does not fit. */
export type Wording = readonly [status: number, code: string, message?: string];

/** One way to say the domain: who calls, and how failures are worded. */
export interface Surface {
  name: string;
  title: string;
  credential: Credential;
  /** Schema of an error body, for the API's description. */
  errorBody: ZodType;
  /** The answer to a failure. `reasons` of the surface come first, then the family. */
  word(failure: Failure): { status: number; body: unknown };
}

/** Statuses that all surfaces share, by the family of the failure. */
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

/** A page of records with the exact number of all that match. */
export interface Page<T> {
  total: number;
  page: number;
  perPage: number;
  records: T[];
}

/** A failure's own members that belong into `details`, without those that have a place of their own; undefined when none. */
export function extraDetails(failure: Failure): Record<string, unknown> | undefined {
  const { message: _message, problems: _problems, retryAfter: _retryAfter, ...rest } = failure.detail;
  return Object.keys(rest).length > 0 ? rest : undefined;
}

export type Output<S extends ZodType> = z.output<S>;
export type { Principal };
