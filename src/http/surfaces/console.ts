import { z } from 'zod';
import type { Principal } from '../../access/actors.ts';
import type { Page } from '../../db/page.ts';
import { createEndpointFunction } from '../endpoint.ts';
import { makeChallenge } from '../oauth-metadata.ts';
import { CONSOLE_FAMILIES, errorDetailsSchema, INTERNAL_ERROR, type Surface } from '../surface.ts';

/** Declares an endpoint of the console: called by people with a session token, and programs with a service token. */
export const endpoint = createEndpointFunction<Principal>();

export const surface: Surface = {
  name: 'console',
  title: 'Console API',
  description:
    'What people do in the console: sign in, manage users, groups and policies, draw dashboards. With a session or service token.',
  credential: 'bearer',
  basePaths: ['/v1', '/.well-known', '/accept-invitation', '/reset-password'],
  formatChallenge: makeChallenge(''),
  wordedAs: 'console',
  families: CONSOLE_FAMILIES,
  defaultLanguage: 'en',
  codeField: 'error',
  errorBody: z
    .object({
      error: z.string().meta({ examples: ['USER_NOT_FOUND'] }),
      message: z.string(),
      details: errorDetailsSchema.optional(),
    })
    .meta({ id: 'ConsoleError' }),
  makeErrorBody: ({ code, message, details }) => ({ error: code, message, ...(details !== undefined && { details }) }),
  internalError: { code: 'INTERNAL_ERROR', message: INTERNAL_ERROR },
};

/** Makes the schema of the list envelope of the console and of managed tables. */
export const makeListSchema = <S extends z.ZodType>(record: S) =>
  z.object({ total: z.int(), quantity: z.int(), records: z.array(record) });

/** Puts a page of records into the list envelope of the console and of managed tables. */
export const viewList = <T, V>(page: Pick<Page<T>, 'total' | 'records'>, viewRecord: (record: T) => V) => ({
  total: page.total,
  quantity: page.records.length,
  records: page.records.map(viewRecord),
});
