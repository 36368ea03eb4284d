/**
 * The family of a domain failure. Surfaces fall back on it when they have no wording of their own for a reason.
 *
 * `invalid` bad input · `unauthenticated` no or wrong credential · `forbidden` not allowed · `missing` no such thing ·
 * `conflict` against the present state · `too_large` over a size limit · `too_many` over a rate limit ·
 * `malformed` not even parseable · `unavailable` a counterpart is down.
 */
export type FailureKind =
  | 'invalid'
  | 'unauthenticated'
  | 'forbidden'
  | 'missing'
  | 'conflict'
  | 'too_large'
  | 'too_many'
  | 'malformed'
  | 'unavailable';

/** One thing wrong with the input: the member's path and what was expected of it. */
export interface FieldProblem {
  field: string;
  message: string;
  /** 0-based row of a row batch, where the input is a list of rows. */
  row?: number;
}

/** What a failure can tell beyond its reason. Everything here may be shown to the caller. */
export interface FailureDetail {
  /** English sentence: what is wrong and what was expected. */
  message?: string;
  /** The single field at fault. */
  field?: string;
  /** Every field at fault, for validation failures. */
  problems?: FieldProblem[];
  /** Seconds until a new try makes sense. */
  retryAfter?: number;
  /** Further members of the answer's `details`. */
  [extra: string]: unknown;
}

/**
 * A fact of the domain that ends the request: thrown by services, worded by the surface that was called.
 * `reason` is `concept.fact`, e.g. `user.email_taken`. It knows no HTTP status.
 */
export class Failure extends Error {
  readonly kind: FailureKind;
  readonly reason: string;
  readonly detail: FailureDetail;

  constructor(kind: FailureKind, reason: string, detail: FailureDetail = {}) {
    super(detail.message ?? reason);
    this.name = 'Failure';
    this.kind = kind;
    this.reason = reason;
    this.detail = detail;
  }
}

/** A validation failure with one or more named fields. */
export function invalid(problems: FieldProblem[], message = 'The request is not valid.'): Failure {
  return new Failure('invalid', 'request.invalid', { message, problems });
}
