import { z } from 'zod';
import type { ServiceAccountActor } from '../../access/actors.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { Page } from '../../kernel/page.ts';
import { endpointFor } from '../endpoint.ts';
import { detailsOf, STATUS, type Surface, type Wording } from '../surface.ts';

/** Endpoints of the organization API: called by service accounts with signed requests. */
export const endpoint = endpointFor<ServiceAccountActor>();

const REASONS: Record<string, Wording> = {
  'request.malformed_json': [400, 'BadRequest', 'The body is not valid JSON.'],
  'request.unknown_route': [404, 'NotFound', 'There is no such route.'],
  'request.wrong_method': [405, 'MethodNotAllowed', 'This method is not available on this route.'],
  'tenant_sql.result_unknown': [503, 'ResultUnknown'],
  'account.already_deleted': [400, 'AlreadyDeleted'],
  'service_account.already_deleted': [400, 'AlreadyDeleted'],
  'api_key.already_revoked': [400, 'AlreadyDeleted'],
  'group.already_deleted': [400, 'AlreadyDeleted'],
  'user.already_deleted': [400, 'AlreadyDeleted'],
};

const KINDS: Record<Failure['kind'], string> = {
  invalid: 'ValidationError',
  unauthenticated: 'Unauthorized',
  forbidden: 'Forbidden',
  missing: 'NotFound',
  conflict: 'AlreadyExists',
  too_large: 'PayloadTooLarge',
  too_many: 'RateLimitExceeded',
  malformed: 'BadRequest',
  unavailable: 'ServiceUnavailable',
};

export const surface: Surface = {
  name: 'organization',
  title: 'Organization API',
  description:
    'Identity and access for automation. Service accounts call it with signed requests; the README tells how to sign.',
  credential: 'signature',
  errorBody: z
    .object({
      error: z.string().meta({ examples: ['NotFound'] }),
      message: z.string(),
      details: z.union([
        z.array(z.object({ field: z.string(), message: z.string() })),
        z.record(z.string(), z.unknown()),
      ]),
    })
    .meta({ id: 'OrganizationError' }),
  word(failure) {
    const [status, code, message] = REASONS[failure.reason] ?? [STATUS[failure.kind], KINDS[failure.kind]];
    return {
      status,
      body: {
        error: code,
        message: message ?? failure.message,
        details: detailsOf(failure) ?? {},
      },
    };
  },
  internalError: { error: 'InternalError', message: 'Something went wrong on our side.', details: {} },
};

/** Schema of the list envelope of this surface. */
export const listOf = <S extends z.ZodType>(record: S) =>
  z.object({ total: z.int(), page: z.int(), results: z.array(record) });

/** A page of records in the list envelope of this surface. */
export const list = <T, V>(page: Page<T>, view: (record: T) => V) => ({
  total: page.total,
  page: page.page,
  results: page.records.map(view),
});
