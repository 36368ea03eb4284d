import { z } from 'zod';
import type { OutsiderActor, Principal } from '../../access/actors.ts';
import type { Page } from '../../db/page.ts';
import { endpointFor } from '../endpoint.ts';
import { makeChallenge } from '../oauth-metadata.ts';
import { CONSOLE_FAMILIES, errorDetails, INTERNAL_ERROR, type Surface } from '../surface.ts';

/** Endpoints of sharing and embedding that people and programs of the company call with a token. */
export const endpoint = endpointFor<Principal>();

/** Endpoints of the portal: outsiders call them with a token of their own, people and programs of the company with theirs. */
export const portalEndpoint = endpointFor<Principal | OutsiderActor>();

export const surface: Surface = {
  name: 'sharing',
  title: 'Sharing and embedding',
  description:
    'Dashboards shared by link, by context with a portal for outsiders, or embedded. With a session or service token, the token of an outsider (a person from outside the company), or a token in the path.',
  credential: 'bearer',
  bases: ['/api', '/embed', '/unsubscribe', '/mail-consent'],
  challenge: makeChallenge(''),
  wordedAs: 'sharing',
  families: CONSOLE_FAMILIES,
  language: 'en',
  codeField: 'error_code',
  errorBody: z
    .object({ error_code: z.string(), message: z.string(), details: errorDetails.optional() })
    .meta({ id: 'SharingError' }),
  errorOf: ({ code, message, details }) => ({ error_code: code, message, ...(details !== undefined && { details }) }),
  internalError: { code: 'INTERNAL_ERROR', message: INTERNAL_ERROR },
};

/** Schema of the list envelope of sharing. */
export const listSchema = <S extends z.ZodType>(record: S) =>
  z.object({ total: z.int(), page: z.int(), per_page: z.int(), records: z.array(record) });

/** A page of records in the list envelope of sharing. */
export const list = <T, V>(page: Page<T>, view: (record: T) => V) => ({
  total: page.total,
  page: page.page,
  per_page: page.perPage,
  records: page.records.map(view),
});

/** The page of a list that a query asks for, in the terms of the database. */
export const pageRequest = ({ page, per_page: perPage }: { page: number; per_page: number }) => ({ page, perPage });
