import { type ZodObject, z } from 'zod';
import type { Failure, FailureKind, FailureType, SurfaceName, Wording } from '../kernel/failure.ts';
import { FIELD_REASONS } from '../texts/errors/fields.ts';
import { explainField, formatTryAgain, translate } from '../texts/errors/translate.ts';
import { chooseAcceptedLocale, type Locale } from '../texts/locales.ts';

/**
 * Kind of credential that callers of a surface send. `bearer` is a session token or a service token, `external` these or the
 * token of an outsider, `machine` a signature or a service token, `agent` a session token, a service token or an API key with
 * its secret, `directory` a service token or an API key with its secret.
 */
export type Credential = 'signature' | 'bearer' | 'external' | 'machine' | 'agent' | 'directory';

const fieldProblemSchema = z
  .object({
    field: z.string(),
    reason: z.enum(FIELD_REASONS),
    message: z.string().meta({ description: 'For a person, in the language that `Accept-Language` asks for.' }),
    limits: z
      .object({ min: z.number().optional(), max: z.number().optional() })
      .optional()
      .meta({ description: 'What the value must keep within.' }),
    row: z.int().optional().meta({ description: '0-based, where rows were sent.' }),
  })
  .loose()
  .meta({ id: 'FieldProblem' });

/** Schema of an error's `details`: the problem of each field, or other data about the failure. */
export const errorDetailsSchema = z.union([z.array(fieldProblemSchema), z.record(z.string(), z.unknown())]);

/** Parts of an error body. */
export interface ErrorParts {
  status: number;
  code: string;
  /** Fact of the failure without its concept: `not_found`. */
  reason: string;
  /** Message in the language of the caller. */
  message: string;
  /** Message in the language of the surface. */
  ownMessage: string;
  details?: unknown;
}

/** Surface's wording for all failures of a family without wordings of their own. An empty code means that none is sent. */
export type FamilyWording = Wording & { code: string };

/** Surface of the API: the part for one kind of callers, with its own wording of failures. */
export interface Surface {
  name: string;
  title: string;
  /** Description for readers of the API's documentation: its callers and its purpose. */
  description: string;
  credential: Credential;
  /** Beginnings of the surface's paths; empty for the surface of all other paths. */
  basePaths: readonly string[];
  /** Name under which failures define the surface's wording. */
  wordedAs: SurfaceName;
  /** Wording for the families of failures, for failures that have none of their own. */
  families: Families;
  /** Language for callers that request none. */
  defaultLanguage: Locale;
  /** True if every caller gets messages in `defaultLanguage`: the callers are programs whose protocol has no other language. */
  hasOneLanguage?: true;
  /** Schema of an error body, for the API's description. */
  errorBody: ZodObject;
  /** Name of the field of an error body that holds the code. */
  codeField: string;
  /** Makes the body of an error. */
  makeErrorBody(words: ErrorParts): unknown;
  /** Makes the `WWW-Authenticate` of every 401, for this address of the API. */
  formatChallenge(baseUrl: string): string;
  /** Media type of bodies, if not `application/json`. A surface that has one answers 429 in its own words, too. */
  mediaType?: string;
  /** Makes the headers that repeat parts of an answer's body. */
  repeats?(answer: object): Readonly<Record<string, string>>;
  /** Wording of a 500, which does not reveal the cause. */
  internalError: Pick<ErrorParts, 'code' | 'message'>;
}

/** Message of a 500, in English. */
export const INTERNAL_ERROR = 'Something went wrong on our side. Try again later.';

export const JSON_TYPE = 'application/json';

/** Returns the media type of a surface's bodies. */
export const getMediaType = ({ mediaType = JSON_TYPE }: Pick<Surface, 'mediaType'>): string => mediaType;

/** Status of a failure by its family, unless a surface differs. */
const STATUS_BY_KIND: Record<FailureKind, number> = {
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

type Families = Record<FailureKind, FamilyWording>;

const makeFamilies = (codes: Record<FailureKind, string>): Families =>
  Object.fromEntries(Object.entries(codes).map(([kind, code]) => [kind, { code }])) as Families;

/** Wordings of the families of failures on the organization API. */
export const ORGANIZATION_FAMILIES = makeFamilies({
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

/** Wordings of the families of failures that console and sharing share. */
export const CONSOLE_FAMILIES = makeFamilies({
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

/** Finds a surface's wording of a failure or a type: status, code and the parts that replace the failure's own. */
export function findWording(
  { wordedAs, families }: Pick<Surface, 'wordedAs' | 'families'>,
  { kind, wordings: says }: Pick<FailureType, 'kind' | 'wordings'>,
): Wording & { status: number; code: string } {
  const ownWording = says[wordedAs];
  return {
    status: STATUS_BY_KIND[kind],
    ...families[kind],
    ...(typeof ownWording === 'string' ? { code: ownWording } : ownWording),
  };
}

/** Words a failure for a surface. @param locale the caller's language */
export function wordFailure(
  surface: Surface,
  failure: Failure,
  locale: Locale = surface.defaultLanguage,
): { status: number; body: unknown } {
  const { status, code, details = wordDetails(failure, locale) } = findWording(surface, failure);
  const ownMessage = wordMessage(surface, failure);
  const message = locale === surface.defaultLanguage ? ownMessage : wordMessage(surface, failure, locale);
  const reason = failure.reason.slice(failure.reason.indexOf('.') + 1);
  return { status, body: surface.makeErrorBody({ status, code, reason, message, ownMessage, details }) };
}

/** Words the message of a failure for a surface. For too many requests it also says when to try again. */
export function wordMessage(surface: Surface, failure: Failure, locale: Locale = surface.defaultLanguage): string {
  const sentence = wordSentence(surface, failure, locale);
  return failure.kind === 'too_many' ? `${sentence} ${formatTryAgain(getSecondsToWait(failure), locale)}` : sentence;
}

/** Words the sentence of a failure: in English, or in the failure's own sentence for a surface of another language. */
function wordSentence(surface: Surface, failure: Failure, locale: Locale): string {
  const { message } = findWording(surface, failure);
  if (message !== undefined && locale === surface.defaultLanguage) return message;
  return translate(surface.defaultLanguage === 'en' ? (message ?? failure.message) : failure.message, locale);
}

/** Makes the body of a 500 in the words of a surface, without the cause. */
export function makeInternalError(surface: Surface, locale: Locale): unknown {
  const { code, message: ownMessage } = surface.internalError;
  const message = locale === surface.defaultLanguage ? ownMessage : translate(INTERNAL_ERROR, locale);
  return surface.makeErrorBody({ status: 500, code, reason: 'internal_error', message, ownMessage });
}

/** Chooses the language of an answer: the caller's favourite among ours, or that of the surface. */
export const chooseLanguage = ({ defaultLanguage, hasOneLanguage }: Surface, headers: Headers): Locale =>
  hasOneLanguage
    ? defaultLanguage
    : (chooseAcceptedLocale(headers.get('Accept-Language'), defaultLanguage) ?? defaultLanguage);

/** Returns the seconds to wait before a request that exceeded a limit is sent again. */
export const getSecondsToWait = ({ detail }: Failure): number => Math.max(1, Math.ceil(detail.retryAfter ?? 1));

/** Words an answer's `details`: the fields at fault, or other data about the failure; undefined for none. */
function wordDetails(failure: Failure, locale: Locale): unknown {
  const { message: _message, problems, retryAfter: _retryAfter, ...rest } = failure.detail;
  if (problems)
    return problems.map(({ field, message, ...more }) => ({ field, ...explainField(message, locale), ...more }));
  return Object.keys(rest).length > 0 ? rest : undefined;
}
