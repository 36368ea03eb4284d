import { z } from 'zod';
import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi';
import type { FailureType } from '../kernel/failure.ts';
import type { Contract } from './endpoint.ts';
import { impliedFailures } from './failures.ts';
import { type Surface, wordingOf } from './surface.ts';

/** The one failure that every surface words alike: see `failureResponse`. */
const TOO_MANY_REQUESTS: ZodOpenApiResponseObject = {
  id: 'TooManyRequests',
  description: 'Too many requests: `Retry-After` says after how many seconds to try again.',
  content: {
    'application/json': {
      schema: z.object({
        error: z.literal('RateLimitExceeded'),
        message: z.string(),
        details: z.object({ field: z.null(), reason: z.string() }),
      }),
    },
  },
};

/** A response for each status that a route can fail with, with its codes. */
export function failureResponses(surface: Surface, contract: Contract): ZodOpenApiResponsesObject {
  const byStatus = Map.groupBy(
    (contract.fails ? [...impliedFailures(contract, surface.credential), ...contract.fails] : []).filter(
      ({ kind }) => kind !== 'too_many',
    ),
    (type) => wordingOf(surface, type).status,
  );
  return {
    ...Object.fromEntries([...byStatus].map(([status, types]) => [status, failureResponse(surface, status, types)])),
    ...Object.fromEntries(
      Object.entries(contract.otherwise ?? {}).map(([status, schema]) => [
        status,
        { description: 'A failure.', content: { 'application/json': { schema } } },
      ]),
    ),
    '429': TOO_MANY_REQUESTS,
    '500': internalError(surface),
    ...(contract.fails === undefined && {
      default: { description: 'A failure.', content: { 'application/json': { schema: surface.errorBody } } },
    }),
  };
}

const known = new Map<string, ZodOpenApiResponseObject>();

/** The same object for the same failures, so that the description holds it once. */
function failureResponse(surface: Surface, status: number, types: FailureType[]): ZodOpenApiResponseObject {
  const failures = [...new Map(types.map((type) => [type.reason, type])).values()].toSorted((a, b) =>
    a.reason < b.reason ? -1 : 1,
  );
  const key = [surface.name, status, ...failures.map(({ reason }) => reason)].join(' ');
  const response = known.get(key) ?? {
    id: `${surface.name}-${status}-${known.size + 1}`,
    description: failures.map((type) => lineOf(surface, type)).join('\n'),
    content: { 'application/json': { schema: bodyOf(surface, failures) } },
  };
  known.set(key, response);
  return response;
}

/** The body of an error with the codes it can hold. Where a failure has no code, the code may be absent. */
function bodyOf({ errorBody, codeField, ...surface }: Surface, failures: FailureType[]) {
  const codes = failures.map((type) => wordingOf(surface, type).code);
  const named = [...new Set(codes.flatMap((code) => code ?? []))];
  if (named.length === 0) return errorBody;
  const code = z.enum(named);
  return errorBody.extend({ [codeField]: codes.includes(undefined) ? code.optional() : code }).meta({ id: undefined });
}

function lineOf(surface: Surface, type: FailureType): string {
  const { code, message = type.message } = wordingOf(surface, type);
  const text = message ?? type.reason;
  return code === undefined ? `- ${text}` : `- \`${code}\`: ${text}`;
}

function internalError(surface: Surface): ZodOpenApiResponseObject {
  return {
    description: 'Something went wrong on our side. The answer tells no more; `x-correlation-id` names it.',
    content: { 'application/json': { schema: surface.errorBody } },
  };
}
