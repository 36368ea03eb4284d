import { z } from 'zod';
import type { OutsiderActor, Principal } from '../../access/actors.ts';
import type { Page } from '../../db/page.ts';
import { createEndpointFunction } from '../endpoint.ts';
import { makeChallenge } from '../oauth-metadata.ts';
import { CONSOLE_FAMILIES, errorDetailsSchema, INTERNAL_ERROR, type Surface } from '../surface.ts';

/** Declares an endpoint of sharing and embedding that people and programs of the company call with a token. */
export const endpoint = createEndpointFunction<Principal>();

/** Declares an endpoint of the portal: outsiders, people and programs of the company each call it with a token of their own. */
export const portalEndpoint = createEndpointFunction<Principal | OutsiderActor>();

export const surface: Surface = {
  name: 'sharing',
  title: 'Sharing and embedding',
  description:
    'Dashboards shared by link, by context with a portal for outsiders, or embedded. With a session or service token, the token of an outsider (a person from outside the company), or a token in the path.',
  credential: 'bearer',
  basePaths: ['/api', '/embed', '/unsubscribe', '/mail-consent'],
  formatChallenge: makeChallenge(''),
  wordedAs: 'sharing',
  families: CONSOLE_FAMILIES,
  defaultLanguage: 'en',
  codeField: 'error_code',
  errorBody: z
    .object({ error_code: z.string(), message: z.string(), details: errorDetailsSchema.optional() })
    .meta({ id: 'SharingError' }),
  makeErrorBody: ({ code, message, details }) => ({
    error_code: code,
    message,
    ...(details !== undefined && { details }),
  }),
  internalError: { code: 'INTERNAL_ERROR', message: INTERNAL_ERROR },
};

/** Makes the schema of the list envelope of sharing. */
export const makeListSchema = <S extends z.ZodType>(record: S) =>
  z.object({ total: z.int(), page: z.int(), per_page: z.int(), records: z.array(record) });

/** Puts a page of records into the list envelope of sharing. */
export const viewList = <T, V>(page: Page<T>, viewRecord: (record: T) => V) => ({
  total: page.total,
  page: page.page,
  per_page: page.perPage,
  records: page.records.map(viewRecord),
});

/** Converts the page of a list's query to the database's page request. */
export const toPageRequest = ({ page, per_page: perPage }: { page: number; per_page: number }) => ({ page, perPage });
