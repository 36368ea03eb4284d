import { z } from 'zod';
import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi';
import type { FailureType } from '../kernel/failure.ts';
import type { Contract } from './endpoint.ts';
import { listImpliedFailures } from './failures.ts';
import { findWording, getMediaType, JSON_TYPE, type Surface } from './surface.ts';

/**
 * Makes a response for each status of a route's failures, with its codes.
 * @param furtherTypes failures in addition to those that the contract lists or implies
 */
export function makeFailureResponses(
  surface: Surface,
  contract: Contract,
  furtherTypes: readonly FailureType[],
): ZodOpenApiResponsesObject {
  const typesByStatus = Map.groupBy(
    [...listImpliedFailures(contract, surface.credential), ...(contract.fails ?? []), ...furtherTypes].filter(
      ({ kind }) => kind !== 'too_many',
    ),
    (type) => findWording(surface, type).status,
  );
  return {
    ...Object.fromEntries(
      [...typesByStatus].map(([status, types]) => [status, describeFailures(surface, status, types)]),
    ),
    ...Object.fromEntries(
      Object.entries(contract.otherAnswers ?? {}).map(([status, schema]) => [
        status,
        'raw' in schema ? makeRawResponse(schema) : { description: 'A failure.', content: { [JSON_TYPE]: { schema } } },
      ]),
    ),
    '429': describeTooManyRequests(surface),
    '500': describeInternalError(surface),
  };
}

/** Describes an answer that the handler builds itself. */
export const makeRawResponse = ({ raw: description, mediaTypes }: { raw: string; mediaTypes: readonly string[] }) => ({
  description,
  ...(mediaTypes.length > 0 && { content: makeRawContent(mediaTypes) }),
});

export const makeRawContent = (mediaTypes: readonly string[]) =>
  Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, { schema: makeRawSchema(mediaType) }]));

/** Makes the schema of a `raw` answer: text, JSON of an external shape, else bytes. */
const makeRawSchema = (mediaType: string): z.ZodType =>
  mediaType.startsWith('text/') ? z.string() : mediaType === JSON_TYPE ? z.unknown() : BYTES_SCHEMA;

const BYTES_SCHEMA = z.string().meta({ format: 'binary' });

function describeFailures(surface: Surface, status: number, types: FailureType[]): ZodOpenApiResponseObject {
  const failures = [...new Map(types.map((type) => [type.reason, type])).values()].toSorted((a, b) =>
    a.reason < b.reason ? -1 : 1,
  );
  const codes = failures.map((type) => findWording(surface, type).code);
  const makeResponse = () => ({
    description: [...new Set(failures.map((type) => formatFailureLine(surface, type)))].join('\n'),
    content: { [getMediaType(surface)]: { schema: makeErrorSchema(surface, codes) } },
  });
  return failures.length > MAX_FAILURES_IN_NAME
    ? makeResponse()
    : registerResponse(formatName(surface, status, failures), makeResponse);
}

const sharedResponses = new Map<string, ZodOpenApiResponseObject>();

/** Registers an answer that many routes share: the description contains the answer once, under its name. */
function registerResponse(id: string, makeResponse: () => ZodOpenApiResponseObject): ZodOpenApiResponseObject {
  const response = sharedResponses.get(id) ?? { id, ...makeResponse() };
  sharedResponses.set(id, response);
  return response;
}

/** Maximum number of failures in a response's name: more are not readable, and hardly two routes share them. */
const MAX_FAILURES_IN_NAME = 3;

/** Formats the name of a shared response: `console-404-group-not-found`. */
const formatName = ({ name }: Surface, status: number, failures: FailureType[]): string =>
  [name, status, ...failures.map(({ reason }) => reason.replaceAll(/[._]/g, '-'))].join('-');

/** Makes the schema of an error body with its possible codes. If a failure has no code, the code may be absent. */
function makeErrorSchema(
  { errorBody, codeField }: Pick<Surface, 'errorBody' | 'codeField'>,
  codes: (string | undefined)[],
) {
  const namedCodes = [...new Set(codes.flatMap((code) => code || []))];
  if (namedCodes.length === 0) return errorBody;
  const code = z.enum(namedCodes);
  return errorBody.extend({ [codeField]: codes.every(Boolean) ? code : code.optional() }).meta({ id: undefined });
}

function formatFailureLine(surface: Surface, type: FailureType): string {
  const { code, message = type.description } = findWording(surface, type);
  return `- ${[code && `\`${code}\``, message].filter(Boolean).join(': ')}`;
}

/** Describes the 429, whose shape most surfaces share: see `makeTooManyRequestsResponse` of `answer.ts`. */
function describeTooManyRequests(surface: Surface): ZodOpenApiResponseObject {
  const { name, mediaType, codeField, errorBody } = surface;
  const code = z.literal('RateLimitExceeded');
  const details = z.object({ field: z.null(), reason: z.string() });
  const sharedBody = z.object({ error: code, [codeField]: code, message: z.string(), details });
  return registerResponse(!mediaType && codeField === 'error' ? 'TooManyRequests' : `${name}-429`, () => ({
    description: 'Too many requests: `Retry-After` says after how many seconds to try again.',
    content: { [getMediaType(surface)]: { schema: mediaType ? errorBody : sharedBody } },
  }));
}

const describeInternalError = (surface: Surface): ZodOpenApiResponseObject =>
  registerResponse(`${surface.name}-500`, () => ({
    description: 'Something went wrong on our side. To report it, send the `x-correlation-id` of the answer.',
    content: { [getMediaType(surface)]: { schema: makeErrorSchema(surface, [surface.internalError.code]) } },
  }));
