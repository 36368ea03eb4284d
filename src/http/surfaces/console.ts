import { z } from 'zod';
import type { UserActor } from '../../access/actors.ts';
import type { Page } from '../../kernel/page.ts';
import { endpointFor } from '../endpoint.ts';
import { CONSOLE_FAMILIES, detailsOf, type OldWording, type Surface, wordingOf } from '../surface.ts';

/** Endpoints of the console: called by people with a session token. */
export const endpoint = endpointFor<'console', UserActor>();

const REASONS: Record<string, OldWording> = {
  'invitation.invalid_token': [400, 'INVALID_INVITATION_TOKEN'],
  'user.self_not_deactivatable': [400, 'CANNOT_DEACTIVATE_SELF'],
  'user.owner_not_deactivatable': [400, 'CANNOT_DEACTIVATE_OWNER'],
  'user.still_invited': [409, 'USER_STILL_INVITED'],
  'service_account.not_found': [404, 'SERVICE_ACCOUNT_NOT_FOUND'],
  'permission.not_found': [404, 'PERMISSION_NOT_FOUND'],
  'policy.not_found': [404, 'POLICY_NOT_FOUND'],
  'policy.name_taken': [409, 'POLICY_NAME_DUPLICATE'],
  'policy.not_modifiable': [400, 'POLICY_NOT_MODIFIABLE'],
  'policy.in_use': [409, 'POLICY_IN_USE'],
  'policy.limit_exceeded': [409, 'POLICY_LIMIT_EXCEEDED'],
};

export const surface: Surface = {
  name: 'console',
  title: 'Console API',
  description:
    'What people do in the console: sign in, manage users, groups and policies, draw dashboards. With a session token.',
  credential: 'bearer',
  bases: ['/v1', '/.well-known'],
  wordedAs: 'console',
  families: CONSOLE_FAMILIES,
  codeField: 'error',
  errorBody: z
    .object({
      error: z.string().meta({ examples: ['USER_NOT_FOUND'] }),
      message: z.string(),
      details: z.unknown().optional(),
    })
    .meta({ id: 'ConsoleError' }),
  word(failure) {
    const old = REASONS[failure.reason];
    const { status, code, message, details } = old
      ? { status: old[0], code: old[1], message: old[2], details: undefined }
      : wordingOf(this, failure);
    const told = details ?? detailsOf(failure);
    return {
      status,
      body: { error: code, message: message ?? failure.message, ...(told !== undefined && { details: told }) },
    };
  },
  internalError: { error: 'INTERNAL_ERROR', message: 'Something went wrong on our side.' },
};

/** Schema of the list envelope of the console and of managed tables. */
export const listOf = <S extends z.ZodType>(record: S) =>
  z.object({ total: z.int(), quantity: z.int(), records: z.array(record) });

/** A page of records in the list envelope of the console and of managed tables. */
export const list = <T, V>(page: Pick<Page<T>, 'total' | 'records'>, view: (record: T) => V) => ({
  total: page.total,
  quantity: page.records.length,
  records: page.records.map(view),
});
