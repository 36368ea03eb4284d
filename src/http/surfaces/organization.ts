import { z } from 'zod';
import type { ServiceAccountActor } from '../../access/actors.ts';
import type { Page } from '../../db/page.ts';
import { endpointFor } from '../endpoint.ts';
import { makeChallenge } from '../oauth-metadata.ts';
import { errorDetails, INTERNAL_ERROR, ORGANIZATION_FAMILIES, type Surface } from '../surface.ts';

/** Endpoints of the organization API: called by service accounts with signed requests. */
export const endpoint = endpointFor<ServiceAccountActor>();

export const surface: Surface = {
  name: 'organization',
  title: 'Organization API',
  description: 'Identity and access for automation. Service accounts call it with signed requests.',
  credential: 'signature',
  bases: [''],
  // The Data API takes tokens, too.
  challenge: (baseUrl) => `HMAC, ${makeChallenge('')(baseUrl)}`,
  wordedAs: 'organization',
  families: ORGANIZATION_FAMILIES,
  language: 'en',
  codeField: 'error',
  errorBody: z
    .object({ error: z.string().meta({ examples: ['NotFound'] }), message: z.string(), details: errorDetails })
    .meta({ id: 'OrganizationError' }),
  // Document 1 promises both members; a failure with details of its own has those.
  errorOf: ({ code, reason, message, details = { field: null, reason } }) => ({ error: code, message, details }),
  internalError: { code: 'InternalError', message: INTERNAL_ERROR },
};

/** Schema of the list envelope of this surface. */
export const listSchema = <S extends z.ZodType>(record: S) =>
  z.object({ total: z.int(), page: z.int(), results: z.array(record) });

/** A page of records in the list envelope of this surface. */
export const list = <T, V>(page: Page<T>, view: (record: T) => V) => ({
  total: page.total,
  page: page.page,
  results: page.records.map(view),
});
