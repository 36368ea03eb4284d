import { type ZodObject, z } from 'zod';
import type { Failure, FailureKind, FailureType, SurfaceName, Wording } from '../kernel/failure.ts';
import { FIELD_REASONS } from '../texts/errors/fields.ts';
import { explainField, translate, tryAgainIn } from '../texts/errors/say.ts';
import { acceptedLocale, type Locale } from '../texts/locales.ts';

/**
 * The kind of credential that callers of a surface send. `bearer` is a session token or a service token, `external` these or the
 * token of an outsider, `machine` a signature or a service token, `agent` what `bearer` is or an API key with its secret,
 * `directory` a service token or an API key with its secret.
 */
export type Credential = 'signature' | 'bearer' | 'external' | 'machine' | 'agent' | 'directory';

const fieldProblem = z
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

/** The `details` of an error: the problem of each field, or other data about the failure. */
export const errorDetails = z.union([z.array(fieldProblem), z.record(z.string(), z.unknown())]);

/** The parts of an error body. */
export interface ErrorWords {
  status: number;
  code: string;
  /** The fact without its concept: `not_found`. */
  reason: string;
  /** The message in the language of the caller, and in that of the surface. */
  message: string;
  ownMessage: string;
  details?: unknown;
}

/** A surface's wording for all failures of a family without their own. An empty code means that none is sent. */
export type FamilyWording = Wording & { code: string };

/** One of the API's surfaces, for its callers, with its own wording of failures. */
export interface Surface {
  name: string;
  title: string;
  /** For the reader of the API's description: who calls, and what it is for. */
  description: string;
  credential: Credential;
  /** The beginnings of its paths; empty for all paths that belong to no other surface. */
  bases: readonly string[];
  /** The name under which failures define its wording. */
  wordedAs: SurfaceName;
  /** Its wording for the families of failures, for failures that have none of their own. */
  families: Families;
  /** Its language for callers that ask for none. */
  language: Locale;
  /** Set where every caller gets that language: callers are programs whose protocol has no other. */
  hasOneLanguage?: true;
  /** Schema of an error body, for the API's description, and the field of it that holds the code. */
  errorBody: ZodObject;
  codeField: string;
  /** The body of an error. */
  errorOf(words: ErrorWords): unknown;
  /** The `WWW-Authenticate` of every 401, at this address of the API. */
  challenge(baseUrl: string): string;
  /** The media type of its bodies, where that is not `application/json`. Its 429 is in its own words, too. */
  mediaType?: string;
  /** Headers that repeat parts of an answer's body. */
  repeats?(shown: object): Readonly<Record<string, string>>;
  /** Its wording of a 500, which tells nothing about the cause. */
  internalError: Pick<ErrorWords, 'code' | 'message'>;
}

/** The message of a 500, in English. */
export const INTERNAL_ERROR = 'Something went wrong on our side. Try again later.';

export const JSON_TYPE = 'application/json';

/** The media type of a surface's bodies. */
export const getMediaType = ({ mediaType = JSON_TYPE }: Pick<Surface, 'mediaType'>): string => mediaType;

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

type Families = Record<FailureKind, FamilyWording>;

const addCodes = (codes: Record<FailureKind, string>): Families =>
  Object.fromEntries(Object.entries(codes).map(([kind, code]) => [kind, { code }])) as Families;

/** The families of failures in the words of the organization API. */
export const ORGANIZATION_FAMILIES = addCodes({
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
export const CONSOLE_FAMILIES = addCodes({
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

/** The words of a surface for a failure or a type: status, code and the parts that replace its own words. */
export function findWording(
  { wordedAs, families }: Pick<Surface, 'wordedAs' | 'families'>,
  { kind, says }: Pick<FailureType, 'kind' | 'says'>,
): Wording & { status: number; code: string } {
  const own = says[wordedAs];
  return { status: STATUS[kind], ...families[kind], ...(typeof own === 'string' ? { code: own } : own) };
}

/** A failure in the words of a surface. @param locale the caller's language */
export function wordFailure(
  surface: Surface,
  failure: Failure,
  locale: Locale = surface.language,
): { status: number; body: unknown } {
  const { status, code, details = wordDetails(failure, locale) } = findWording(surface, failure);
  const ownMessage = wordMessage(surface, failure);
  const message = locale === surface.language ? ownMessage : wordMessage(surface, failure, locale);
  const reason = failure.reason.slice(failure.reason.indexOf('.') + 1);
  return { status, body: surface.errorOf({ status, code, reason, message, ownMessage, details }) };
}

/** The message of a failure on a surface. For too many requests it also says when to try again, in the same language. */
export function wordMessage(surface: Surface, failure: Failure, locale: Locale = surface.language): string {
  const sentence = wordSentence(surface, failure, locale);
  return failure.kind === 'too_many' ? `${sentence} ${tryAgainIn(getSecondsToWait(failure), locale)}` : sentence;
}

/** Failures are written in English; some have a sentence of their own where the surface speaks another language. */
function wordSentence(surface: Surface, failure: Failure, locale: Locale): string {
  const { message } = findWording(surface, failure);
  if (message !== undefined && locale === surface.language) return message;
  return translate(surface.language === 'en' ? (message ?? failure.message) : failure.message, locale);
}

/** The body of a 500 in the words of a surface, which tells nothing of the cause. */
export function makeInternalError(surface: Surface, locale: Locale): unknown {
  const { code, message: ownMessage } = surface.internalError;
  const message = locale === surface.language ? ownMessage : translate(INTERNAL_ERROR, locale);
  return surface.errorOf({ status: 500, code, reason: 'internal_error', message, ownMessage });
}

/** The language of an answer: the caller's favourite among ours, or that of the surface. */
export const chooseLanguage = ({ language, hasOneLanguage }: Surface, headers: Headers): Locale =>
  hasOneLanguage ? language : (acceptedLocale(headers.get('Accept-Language'), language) ?? language);

/** The seconds to wait before a request that was one of too many is made again. */
export const getSecondsToWait = ({ detail }: Failure): number => Math.max(1, Math.ceil(detail.retryAfter ?? 1));

/** The answer's `details`: the fields at fault, or other data about the failure; undefined for none. */
function wordDetails(failure: Failure, locale: Locale): unknown {
  const { message: _message, problems, retryAfter: _retryAfter, ...rest } = failure.detail;
  if (problems)
    return problems.map(({ field, message, ...more }) => ({ field, ...explainField(message, locale), ...more }));
  return Object.keys(rest).length > 0 ? rest : undefined;
}
