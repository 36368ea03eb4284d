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

/** One thing wrong with the input: the field's path and what was expected of it. */
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
  /** What else the answer's `details` hold. */
  [extra: string]: unknown;
}

/** Those who word failures in their own way. Domain knowledge words them as the console does. */
export type SurfaceName = 'organization' | 'console' | 'managed-tables' | 'sharing';

/** How a surface words a failure. What is left out is worded as the surface words the failure's family. */
export interface Wording {
  status?: number;
  code?: string;
  /** In place of the failure's own sentence. */
  message?: string;
  /** In place of what the failure tells. */
  details?: Readonly<Record<string, unknown>>;
}

/**
 * A failure of the domain as its module defines it, and the function that makes one to throw. `Surfaces` are those that
 * have words for it: a route of another surface cannot list it among its failures.
 */
// biome-ignore lint/suspicious/noExplicitAny: each failure is made from arguments of its own.
export interface FailureType<Surfaces extends SurfaceName = never, Arguments extends any[] = any[]> {
  (...about: Arguments): Failure;
  readonly kind: FailureKind;
  /** `concept.fact`, such as `user.email_taken`; no other failure has it. */
  readonly reason: string;
  readonly says: { readonly [Surface in Surfaces]: string | Wording };
  /** What it means, whatever it is made from: for the description of the API. */
  readonly describes: string | undefined;
  /** Whether an error is such a failure. */
  matches(error: unknown): error is Failure;
}

/** What a failure tells: always the same, or made from arguments. */
// biome-ignore lint/suspicious/noExplicitAny: each failure is made from arguments of its own.
type Detail = FailureDetail | ((...about: any[]) => FailureDetail);
type ArgumentsOf<D extends Detail> = D extends (...about: infer Arguments) => FailureDetail ? Arguments : [];

/** A failure that is made from arguments says as well what it means before there are any. */
type Definition<Surfaces extends SurfaceName, D extends Detail> = {
  kind: FailureKind;
  detail: D;
  says: { readonly [Surface in Surfaces]: string | Wording };
} & (D extends FailureDetail ? { describes?: never } : { describes: string });

/**
 * Defines a failure. `says` is how surfaces word it: the code, or what differs from the words of the family. `describes` is
 * the sentence of a failure that is made from arguments, unless its `detail` makes a better one of them.
 * @param reason `concept.fact`, once in the project
 */
export function defineFailure<Surfaces extends SurfaceName, const D extends Detail>(
  reason: string,
  { kind, detail, says, describes }: Definition<Surfaces, D>,
): FailureType<Surfaces, ArgumentsOf<D>> {
  const isMade = typeof detail === 'function';
  // Its name is what stack traces show.
  const makeFailure = (...about: ArgumentsOf<D>) =>
    new Failure(type, isMade ? { message: describes, ...detail(...about) } : detail);
  const type: FailureType<Surfaces, ArgumentsOf<D>> = Object.assign(makeFailure, {
    kind,
    reason,
    says,
    describes: isMade ? describes : detail.message,
    matches: (error: unknown): error is Failure => error instanceof Failure && error.reason === reason,
  });
  return type;
}

/** A fact of the domain that ends the request: thrown by services, worded by the surface that was called. */
export class Failure extends Error {
  readonly kind: FailureKind;
  readonly reason: string;
  readonly detail: FailureDetail;
  readonly says: Partial<Record<SurfaceName, string | Wording>>;

  /** Only by `defineFailure`. */
  constructor({ kind, reason, says }: FailureType, detail: FailureDetail) {
    super(detail.message ?? reason);
    this.name = 'Failure';
    this.kind = kind;
    this.reason = reason;
    this.detail = detail;
    this.says = says;
  }

  /** The same failure with the error that led to it, for logs: callers are not told. */
  because(cause: unknown): this {
    this.cause = cause;
    return this;
  }
}

/** Whether an error says that the input is not valid. */
export const isInvalid = (error: unknown): error is Failure => error instanceof Failure && error.kind === 'invalid';

/** Input that is not valid, with what is wrong with each field. Every route that takes input can answer it. */
export const invalid = defineFailure('request.invalid', {
  kind: 'invalid',
  describes: 'The request is not valid.',
  detail: (problems: FieldProblem[], message = 'The request is not valid.') => ({ message, problems }),
  says: {
    organization: 'ValidationError',
    console: 'VALIDATION_ERROR',
    sharing: 'VALIDATION_ERROR',
    'managed-tables': { message: 'Os dados enviados são inválidos.' },
  },
});
