/**
 * The family of a domain failure. Surfaces word a failure as its family, unless it says otherwise.
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

/** The maximum number of problems of a body that are reported. */
export const MAX_PROBLEMS = 100;

/** A problem of the input: the field's path and what was expected of it. */
export interface FieldProblem {
  field: string;
  message: string;
  /** 0-based row of a row batch, where the input is a list of rows. */
  row?: number;
}

/** Data of a failure beyond its reason. Everything here may be shown to the caller. */
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

/** The surfaces that word failures in their own way. Domain knowledge words them as the console does. */
export type SurfaceName = 'organization' | 'console' | 'managed-tables' | 'sharing' | 'directory' | 'oauth';

/** A surface's wording of a failure. Where a part is left out, the wording of the failure's family applies. */
export interface Wording {
  status?: number;
  code?: string;
  /** The message in place of the failure's own. */
  message?: string;
  /** The `details` in place of the failure's own. */
  details?: Readonly<Record<string, unknown>>;
}

/** The wording on surfaces that do not use that of the failure's family: the code, or the parts that differ. */
export type Words = { readonly [Surface in SurfaceName]?: string | Wording };

/** A failure of the domain as its module defines it, and the function that makes one to throw. */
// biome-ignore lint/suspicious/noExplicitAny: each failure is made from arguments of its own.
export interface FailureType<Arguments extends any[] = any[]> {
  (...about: Arguments): Failure;
  readonly kind: FailureKind;
  /** `concept.fact`, such as `user.email_taken`; no other failure has it. */
  readonly reason: string;
  readonly says: Words;
  /** The failure's meaning, whatever it is made from: for the description of the API. */
  readonly describes: string;
  /** Whether an error is a failure of this type. */
  matches(error: unknown): error is Failure;
}

/** The data of a failure besides its sentence: always the same, or made from arguments. */
// biome-ignore lint/suspicious/noExplicitAny: each failure is made from arguments of its own.
type Detail = FailureDetail | ((...about: any[]) => FailureDetail);
type ArgumentsOf<D extends Detail> = D extends (...about: infer Arguments) => FailureDetail ? Arguments : [];

interface Definition<D extends Detail> extends Words {
  /** The problem and what was expected, in English. A `detail` that is made from arguments may say it better. */
  message: string;
  /** The message in Portuguese, for managed tables: in place of the sentence of the family. */
  portuguese?: string;
  detail?: D;
}

/** The parts of a definition that differ from its rule. */
type Exceptions<D extends Detail = FailureDetail> = Partial<Definition<D>>;

/** Defines a failure (`concept.fact`, once in the project), with surfaces' own wording: a text is a code. */
export function defineFailure<const D extends Detail = FailureDetail>(
  reason: string,
  kind: FailureKind,
  { message, portuguese, detail, ...words }: Definition<D>,
): FailureType<ArgumentsOf<D>> {
  // Its name is what stack traces show.
  const makeFailure = (...about: ArgumentsOf<D>) =>
    new Failure(type, { message, ...(typeof detail === 'function' ? detail(...about) : detail) });
  const type: FailureType<ArgumentsOf<D>> = Object.assign(makeFailure, {
    kind,
    reason,
    says: portuguese === undefined ? words : inPortuguese(words, portuguese),
    describes: message,
    matches: (error: unknown): error is Failure => error instanceof Failure && error.reason === reason,
  });
  return type;
}

function inPortuguese(words: Words, message: string): Words {
  const own = words['managed-tables'];
  return { ...words, 'managed-tables': { ...(typeof own === 'string' ? { code: own } : own), message } };
}

/** A code of its own on every surface; the organization API writes `METHOD_NOT_ALLOWED` as `MethodNotAllowed`, OAuth as `method_not_allowed`. */
export function everywhere(code: string, status?: number): Words {
  const withStatus = (own: string) => (status === undefined ? own : { status, code: own });
  const organization = code.replaceAll(/([A-Z])([A-Z]*)_?/g, (_, first, rest) => first + rest.toLowerCase());
  const own = withStatus(code);
  const directory = status === undefined ? {} : { directory: { status } };
  const oauth = withStatus(code.toLowerCase());
  return {
    organization: withStatus(organization),
    console: own,
    sharing: own,
    'managed-tables': own,
    oauth,
    ...directory,
  };
}

const toNoun = (concept: string): string => concept.replaceAll('_', ' ');

/** A resource does not exist: `SIGNING_KEY_NOT_FOUND` on the console. */
export const notFound = <const D extends Detail = FailureDetail>(concept: string, exceptions: Exceptions<D> = {}) =>
  defineFailure<D>(`${concept}.not_found`, 'missing', {
    message: `There is no such ${toNoun(concept)}.`,
    console: `${concept.toUpperCase()}_NOT_FOUND`,
    ...exceptions,
  });

/** Like `notFound`, where answers tell the field that names the resource (the first, by default), and unknown ids. */
export const notFoundBy = <const Field extends string>(
  concept: string,
  fields: readonly [Field, ...Field[]],
  exceptions: Omit<Exceptions, 'detail'> = {},
) =>
  notFound(concept, {
    ...exceptions,
    detail: (field: Field = fields[0], ids?: string[]) => ({ field, reason: 'not_found', ...(ids && { ids }) }),
  });

/** Another record has the same value of a field that is to be unique: `GROUP_NAME_DUPLICATE` on the console. */
export const defineTaken = (concept: string, field: string, exceptions: Exceptions = {}) =>
  defineFailure(`${concept}.${field}_taken`, 'conflict', {
    message: `Another ${toNoun(concept)} has this ${field}.`,
    detail: { field, reason: 'taken' },
    console: `${concept.toUpperCase()}_${field.toUpperCase()}_DUPLICATE`,
    directory: 'uniqueness',
    ...exceptions,
  });

/** The resource is deleted already, and cannot be deleted again. On the console it is as if it had never been there. */
export const alreadyDeleted = (concept: string, exceptions: Exceptions = {}) =>
  defineFailure(`${concept}.already_deleted`, 'missing', {
    message: `This ${toNoun(concept)} is already deleted.`,
    detail: { field: 'id', reason: 'already_deleted' },
    organization: { status: 400, code: 'AlreadyDeleted' },
    console: {
      code: `${concept.toUpperCase()}_NOT_FOUND`,
      message: `There is no such ${toNoun(concept)}.`,
      details: { field: 'id', reason: 'not_found' },
    },
    ...exceptions,
  });

/** A fact of the domain that ends the request: thrown by services, worded by the surface that was called. */
export class Failure extends Error {
  readonly kind: FailureKind;
  readonly reason: string;
  readonly detail: FailureDetail;
  readonly says: Words;

  /** Called only by `defineFailure`. */
  constructor({ kind, reason, says }: FailureType, detail: FailureDetail) {
    super(detail.message ?? reason);
    this.name = 'Failure';
    this.kind = kind;
    this.reason = reason;
    this.detail = detail;
    this.says = says;
  }

  /** Adds the error that led to the failure, for logs: callers are not told. */
  because(cause: unknown): this {
    this.cause = cause;
    return this;
  }
}

/** Whether an error says that the input is not valid. */
export const isInvalid = (error: unknown): error is Failure => error instanceof Failure && error.kind === 'invalid';

/** Input that is not valid, with the problem of each field. Every route that takes input can answer it. */
export const invalid = defineFailure('request.invalid', 'invalid', {
  message: 'The request is not valid.',
  detail: (problems: FieldProblem[], message?: string) => ({ problems, ...(message !== undefined && { message }) }),
});
