import { z } from 'zod';
import type { UserActor } from '../../access/actors.ts';
import type { Page } from '../../kernel/page.ts';
import { endpointFor } from '../endpoint.ts';
import { CONSOLE_FAMILIES, detailsOf, type OldWording, type Surface, wordingOf } from '../surface.ts';

/** Endpoints of the console: called by people with a session token. */
export const endpoint = endpointFor<'console', UserActor>();

const REASONS: Record<string, OldWording> = {
  'sign_in.wrong_credentials': [400, 'INVALID_CREDENTIALS', 'The email or the password is wrong.'],
  'sign_in.user_not_active': [403, 'FORBIDDEN', 'This user may not sign in to the company.'],
  'sign_in.overtaken': [401, 'UNAUTHORIZED'],
  'sign_in.wrong_emailed_code': [400, 'INVALID_CODE'],
  'sign_in.again': [403, 'REAUTHENTICATION_REQUIRED'],
  'sign_in.sso_required': [403, 'SSO_REQUIRED'],
  'session.not_found': [404, 'SESSION_NOT_FOUND'],
  'second_factor.wrong_code': [400, 'INVALID_2FA_CODE'],
  'second_factor.pending_ended': [401, 'UNAUTHORIZED'],
  'second_factor.enabled': [409, '2FA_ALREADY_ENABLED'],
  'second_factor.not_enabled': [409, '2FA_NOT_ENABLED'],
  'second_factor.not_set_up': [409, '2FA_NOT_SET_UP'],
  'invitation.invalid_token': [400, 'INVALID_INVITATION_TOKEN'],
  'password_reset.invalid_token': [400, 'INVALID_RESET_TOKEN'],
  'user.email_taken': [400, 'USER_EMAIL_DUPLICATE'],
  'company.not_found': [404, 'COMPANY_NOT_FOUND', 'There is no company of this slug.'],
  'sso.not_configured': [404, 'SSO_NOT_CONFIGURED', 'Single sign-on is not configured for this company.'],
  'sso.unknown_state': [400, 'INVALID_SSO_STATE'],
  'sso.dead_code': [400, 'INVALID_SSO_CODE', 'The code is unknown, used or expired.'],
  'sso.provider_unavailable': [
    503,
    'SSO_PROVIDER_UNAVAILABLE',
    'The identity provider could not be reached, or its answer was not right.',
  ],
  'social.invalid_token': [401, 'INVALID_SOCIAL_TOKEN'],
  'user.not_found': [404, 'USER_NOT_FOUND', 'There is no such user.'],
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
