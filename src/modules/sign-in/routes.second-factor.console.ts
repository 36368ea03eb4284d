import { z } from 'zod';
import { noContent, ok } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/console.ts';
import { triedPassword } from '../users/fields.ts';
import {
  disableSecondFactor,
  type Enabled,
  enableSecondFactor,
  renewBackupCodes,
  resetSecondFactor,
  setUpSecondFactor,
} from './enrolment.ts';
import type { SecondFactorCode } from './factor-codes.ts';
import type { Again } from './reauthentication.ts';
import { logInWithSecondFactor } from './second-factor.ts';
import { loginResultView, viewSignedIn } from './views.ts';

const pendingToken = z.string().min(1);
const totpToken = z.string().regex(/^\d{6}$/, 'must be six digits');
const backupCode = z.string().min(1);

const loginInput = z
  .object({
    pending_2fa_token: pendingToken,
    totp_token: totpToken.optional(),
    backup_code: backupCode.optional(),
  })
  .refine((body) => (body.totp_token === undefined) !== (body.backup_code === undefined), {
    path: ['totp_token'],
    message: 'send either totp_token or backup_code',
  })
  .transform((body) => ({ pendingToken: body.pending_2fa_token, code: codeOf(body) as SecondFactorCode }));

const setupInput = z
  .object({ password: triedPassword.optional(), pending_2fa_token: pendingToken.optional() })
  .transform((body) => ({ password: body.password, pendingToken: body.pending_2fa_token }));

const enableInput = z
  .object({
    totp_token: totpToken
      .optional()
      .meta({ description: 'A code of the authenticator that was set up. Always needed.' }),
    password: triedPassword.optional(),
    pending_2fa_token: pendingToken.optional(),
  })
  .transform((body) => ({ totp: body.totp_token, password: body.password, pendingToken: body.pending_2fa_token }));

const againInput = z
  .object({ password: triedPassword.optional(), totp_token: totpToken.optional(), backup_code: backupCode.optional() })
  .refine((body) => Object.values(body).filter((value) => value !== undefined).length <= 1, {
    path: ['password'],
    message: 'send one of password, totp_token and backup_code',
  })
  .transform((body): Again => ({ password: body.password, code: codeOf(body) }));

function codeOf(body: { totp_token?: string; backup_code?: string }): SecondFactorCode | undefined {
  if (body.totp_token !== undefined) return { totp: body.totp_token };
  return body.backup_code === undefined ? undefined : { backupCode: body.backup_code };
}

const backupCodesView = z
  .object({ backup_codes: z.array(z.string()).meta({ description: 'Ten one-time codes. They are shown only here.' }) })
  .meta({ id: 'BackupCodes' });

const enabledView = z.union([
  loginResultView.extend(backupCodesView.shape).meta({ id: 'LoginResultWithBackupCodes' }),
  backupCodesView,
]);

const viewEnabled = ({ backupCodes, signedIn }: Enabled): z.input<typeof enabledView> => ({
  backup_codes: backupCodes,
  ...(signedIn && viewSignedIn(signedIn)),
});

const AGAIN =
  'Needs the password, or a code of the second factor, besides the token. Somebody who has neither must have signed in within the last ten minutes. ';
const PENDING =
  'In the middle of a sign-in that answered `requires_2fa_setup`, its `pending_2fa_token` takes the place of token and password. ';
const CHANGE = 'The person is told by mail, and their other sessions end.';

export const secondFactorEndpoints = [
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/2fa/login',
      access: 'public',
      summary: 'Finish a sign-in with the second factor',
      description:
        'The pending token dies after 300 seconds, with the fifth wrong code, or when it is used. Ten wrong codes of a user within 15 minutes answer 429.',
      body: loginInput,
      returns: ok(loginResultView),
    },
    async ({ ctx, body }) => viewSignedIn(await logInWithSecondFactor(ctx, body)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/2fa/setup',
      access: 'pending',
      summary: 'Get the secret for an authenticator app',
      description: `The second factor is asked for once it is enabled with a code of the app. ${AGAIN}${PENDING}`,
      body: setupInput,
      returns: ok(z.object({ secret: z.string().meta({ description: 'Base32.' }), otpauth_url: z.string() })),
    },
    async ({ ctx, body }) => {
      const { secret, otpauthUrl } = await setUpSecondFactor(ctx, body);
      return { secret, otpauth_url: otpauthUrl };
    },
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/2fa/enable',
      access: 'pending',
      summary: 'Enable the second factor with a code of the authenticator app',
      description: `The code is spent by this: signing in takes the next one. ${AGAIN}${PENDING}The sign-in ends thereby, and its session is answered beside the codes. ${CHANGE}`,
      body: enableInput,
      returns: ok(enabledView),
    },
    async ({ ctx, body }) => viewEnabled(await enableSecondFactor(ctx, body)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/2fa/disable',
      access: 'authenticated',
      summary: 'Disable the second factor',
      description: AGAIN + CHANGE,
      body: againInput,
      returns: ok(z.object({ success: z.literal(true) })),
    },
    async ({ ctx, body }) => {
      await disableSecondFactor(ctx, body);
      return { success: true as const };
    },
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/2fa/backup-codes',
      access: 'authenticated',
      summary: 'Get a new set of backup codes; the old ones stop working',
      description: AGAIN + CHANGE,
      body: againInput,
      returns: ok(backupCodesView),
    },
    async ({ ctx, body }) => ({ backup_codes: await renewBackupCodes(ctx, body) }),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/users/{id}/2fa',
      access: 'users:update',
      summary: 'Take the second factor of somebody away, who has lost it',
      description:
        'Their sessions end, and they are told by mail. 403 for somebody who may do more than the caller, and for oneself; 404 where there is no second factor.',
      returns: noContent,
    },
    ({ ctx, params }) => resetSecondFactor(ctx, params.id),
  ),
];
