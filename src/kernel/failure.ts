/**
 * The family of a domain failure. A surface words a failure by its family, unless the failure has a wording of its own
 * for the surface.
 *
 * `invalid` bad input · `unauthenticated` no or wrong credential · `forbidden` not allowed · `missing` no such thing ·
 * `conflict` against the present state · `too_large` over a size limit · `too_many` over a rate limit · `malformed` not
 * even parseable · `unavailable` a counterpart is down.
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

/** Maximum number of a body's problems that are reported. */
export const MAX_PROBLEMS = 100;

/** Problem of the input: the field's path and what was expected of it. */
export interface FieldProblem {
  field: string;
  message: string;
  /** Index of the row in a row batch, from 0, if the input is a list of rows. */
  row?: number;
}

/** Data of a failure in addition to its reason. Everything here may be shown to the caller. */
export interface FailureDetail {
  /** Sentence in English: what is wrong and what was expected. */
  message?: string;
  /** Name of the single field at fault. */
  field?: string;
  /** Problems of all fields at fault, for validation failures. */
  problems?: FieldProblem[];
  /** Seconds until a new try makes sense. */
  retryAfter?: number;
  /** Additional members of the answer's `details`. */
  [extra: string]: unknown;
}

/** Surface that words failures in its own way. Domain knowledge words them as the console does. */
export type SurfaceName = 'organization' | 'console' | 'managed-tables' | 'sharing' | 'directory' | 'oauth';

/** Surface's wording of a failure. If a part is left out, the wording of the failure's family applies. */
export interface Wording {
  status?: number;
  code?: string;
  /** Message that replaces the failure's own. */
  message?: string;
  /** `details` that replace the failure's own. */
  details?: Readonly<Record<string, unknown>>;
}

/** Wordings on surfaces that differ from the wording of the failure's family: the code, or the parts that differ. */
export type SurfaceWordings = { readonly [Surface in SurfaceName]?: string | Wording };

/** Type of failures as its module defines it: a function that makes a failure to throw. */
// biome-ignore lint/suspicious/noExplicitAny: each failure is made from arguments of its own.
export interface FailureType<Arguments extends any[] = any[]> {
  (...about: Arguments): Failure;
  readonly kind: FailureKind;
  /** Reason `concept.fact`, such as `user.email_taken`; unique among the failures. */
  readonly reason: string;
  readonly wordings: SurfaceWordings;
  /** Meaning of the failure, whatever its arguments: for the description of the API. */
  readonly description: string;
  /** Returns true if an error is a failure of this type. */
  matches(error: unknown): error is Failure;
}

/** Data of a failure in addition to its sentence: constant, or made from arguments. */
// biome-ignore lint/suspicious/noExplicitAny: each failure is made from arguments of its own.
type DetailSource = FailureDetail | ((...about: any[]) => FailureDetail);
type ArgumentsOf<D extends DetailSource> = D extends (...about: infer Arguments) => FailureDetail ? Arguments : [];

interface FailureDefinition<D extends DetailSource> extends SurfaceWordings {
  /** Problem and expectation, in English. A `detail` that is made from arguments may contain a more precise message. */
  message: string;
  /** Message in Portuguese, for managed tables: replaces the sentence of all failures of this `kind` (`FAMILY_SENTENCES`). */
  portuguese?: string;
  detail?: D;
}

/** Parts of a definition that replace those of a function such as `defineNotFoundFailure`. */
type DefinitionOverrides<D extends DetailSource = FailureDetail> = Partial<FailureDefinition<D>>;

/** Defines a failure (`concept.fact`, once in the project), with surfaces' own wording: a text is a code. */
export function defineFailure<const D extends DetailSource = FailureDetail>(
  reason: string,
  kind: FailureKind,
  { message, portuguese, detail, ...words }: FailureDefinition<D>,
): FailureType<ArgumentsOf<D>> {
  // Its name is what stack traces show.
  const makeFailure = (...about: ArgumentsOf<D>) =>
    new Failure(type, { message, ...(typeof detail === 'function' ? detail(...about) : detail) });
  const type: FailureType<ArgumentsOf<D>> = Object.assign(makeFailure, {
    kind,
    reason,
    wordings: portuguese === undefined ? words : addPortugueseMessage(words, portuguese),
    description: message,
    matches: (error: unknown): error is Failure => error instanceof Failure && error.reason === reason,
  });
  return type;
}

function addPortugueseMessage(words: SurfaceWordings, message: string): SurfaceWordings {
  const ownWording = words['managed-tables'];
  return {
    ...words,
    'managed-tables': { ...(typeof ownWording === 'string' ? { code: ownWording } : ownWording), message },
  };
}

/**
 * Makes the wordings of a failure with a code of its own on every surface; the organization API writes
 * `METHOD_NOT_ALLOWED` as `MethodNotAllowed`, OAuth as `method_not_allowed`.
 */
export function makeCodeWordings(code: string, status?: number): SurfaceWordings {
  const addStatus = (ownCode: string) => (status === undefined ? ownCode : { status, code: ownCode });
  const organizationCode = code.replaceAll(
    /([A-Z])([A-Z]*)_?/g,
    (_, firstLetter, otherLetters) => firstLetter + otherLetters.toLowerCase(),
  );
  const ownWording = addStatus(code);
  const directory = status === undefined ? {} : { directory: { status } };
  const oauthWording = addStatus(code.toLowerCase());
  return {
    organization: addStatus(organizationCode),
    console: ownWording,
    sharing: ownWording,
    'managed-tables': ownWording,
    oauth: oauthWording,
    ...directory,
  };
}

const toNoun = (concept: string): string => concept.replaceAll('_', ' ');

/** Defines the failure that a resource does not exist: `SIGNING_KEY_NOT_FOUND` on the console. */
export const defineNotFoundFailure = <const D extends DetailSource = FailureDetail>(
  concept: string,
  overrides: DefinitionOverrides<D> = {},
) =>
  defineFailure<D>(`${concept}.not_found`, 'missing', {
    message: `There is no such ${toNoun(concept)}.`,
    console: `${concept.toUpperCase()}_NOT_FOUND`,
    ...overrides,
  });

/** Defines a `defineNotFoundFailure` failure whose answers name the field of the resource (by default the first) and the unknown ids. */
export const defineNotFoundFailureBy = <const Field extends string>(
  concept: string,
  fields: readonly [Field, ...Field[]],
  overrides: Omit<DefinitionOverrides, 'detail'> = {},
) =>
  defineNotFoundFailure(concept, {
    ...overrides,
    detail: (field: Field = fields[0], ids?: string[]) => ({ field, reason: 'not_found', ...(ids && { ids }) }),
  });

/** Defines the failure that another record has the same value of a unique field: `GROUP_NAME_DUPLICATE` on the console. */
export const defineTakenFailure = (concept: string, field: string, overrides: DefinitionOverrides = {}) =>
  defineFailure(`${concept}.${field}_taken`, 'conflict', {
    message: `Another ${toNoun(concept)} has this ${field}.`,
    detail: { field, reason: 'taken' },
    console: `${concept.toUpperCase()}_${field.toUpperCase()}_DUPLICATE`,
    directory: 'uniqueness',
    ...overrides,
  });

/** Defines the failure that the resource is already deleted. On the console it is as if it had never existed. */
export const defineDeletedFailure = (concept: string, overrides: DefinitionOverrides = {}) =>
  defineFailure(`${concept}.already_deleted`, 'missing', {
    message: `This ${toNoun(concept)} is already deleted.`,
    detail: { field: 'id', reason: 'already_deleted' },
    organization: { status: 400, code: 'AlreadyDeleted' },
    console: {
      code: `${concept.toUpperCase()}_NOT_FOUND`,
      message: `There is no such ${toNoun(concept)}.`,
      details: { field: 'id', reason: 'not_found' },
    },
    ...overrides,
  });

/** Failure of the domain that ends the request: thrown by services, worded by the surface that was called. */
export class Failure extends Error {
  readonly kind: FailureKind;
  readonly reason: string;
  readonly detail: FailureDetail;
  readonly wordings: SurfaceWordings;

  /** Makes a failure; called only by `defineFailure`. */
  constructor({ kind, reason, wordings: says }: FailureType, detail: FailureDetail) {
    super(detail.message ?? reason);
    this.name = 'Failure';
    this.kind = kind;
    this.reason = reason;
    this.detail = detail;
    this.wordings = says;
  }

  /** Adds the error that led to the failure, for logs; callers do not see it. */
  addCause(cause: unknown): this {
    this.cause = cause;
    return this;
  }
}

/** Returns true if an error says that the input is not valid. */
export const isInvalidInput = (error: unknown): error is Failure =>
  error instanceof Failure && error.kind === 'invalid';

/** The input is not valid, with the problem of each field. Every route that takes input can answer this failure. */
export const invalidInput = defineFailure('request.invalid', 'invalid', {
  message: 'The request is not valid.',
  detail: (problems: FieldProblem[], message?: string) => ({ problems, ...(message !== undefined && { message }) }),
});
