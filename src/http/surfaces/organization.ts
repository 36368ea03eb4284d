import { z } from 'zod';
import type { ServiceAccountActor } from '../../access/actors.ts';
import type { Page } from '../../db/page.ts';
import { createEndpointFunction } from '../endpoint.ts';
import { makeChallenge } from '../oauth-metadata.ts';
import { errorDetailsSchema, INTERNAL_ERROR, ORGANIZATION_FAMILIES, type Surface } from '../surface.ts';

/** Declares an endpoint of the organization API: called by service accounts with signed requests. */
export const endpoint = createEndpointFunction<ServiceAccountActor>();

export const surface: Surface = {
  name: 'organization',
  title: 'Organization API',
  description: 'Identity and access for automation. Service accounts call it with signed requests.',
  credential: 'signature',
  basePaths: [''],
  // The Data API takes tokens, too.
  formatChallenge: (baseUrl) => `HMAC, ${makeChallenge('')(baseUrl)}`,
  wordedAs: 'organization',
  families: ORGANIZATION_FAMILIES,
  defaultLanguage: 'en',
  codeField: 'error',
  errorBody: z
    .object({ error: z.string().meta({ examples: ['NotFound'] }), message: z.string(), details: errorDetailsSchema })
    .meta({ id: 'OrganizationError' }),
  // Document 1 promises both members; a failure with details of its own has those.
  makeErrorBody: ({ code, reason, message, details = { field: null, reason } }) => ({ error: code, message, details }),
  internalError: { code: 'InternalError', message: INTERNAL_ERROR },
};

/** Makes the schema of the list envelope of the organization API. */
export const makeListSchema = <S extends z.ZodType>(record: S) =>
  z.object({ total: z.int(), page: z.int(), results: z.array(record) });

/** Puts a page of records into the list envelope of the organization API. */
export const viewList = <T, V>(page: Page<T>, viewRecord: (record: T) => V) => ({
  total: page.total,
  page: page.page,
  results: page.records.map(viewRecord),
});
