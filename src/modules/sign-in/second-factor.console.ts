import { z } from 'zod';
import { ok } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/console.ts';
import { triedPassword } from '../users/password-rules.ts';
import {
  disableSecondFactor,
  enableSecondFactor,
  logInWithSecondFactor,
  renewBackupCodes,
  type SecondFactorCode,
  setUpSecondFactor,
} from './second-factor.ts';
import { loginResultView, viewSignedIn } from './views.ts';

const totpToken = z.string().regex(/^\d{6}$/, 'must be six digits');
const backupCode = z.string().min(1).max(64);

/** Refuses a body with none or more than one of the members. */
const exactlyOne =
  <Name extends string>(...names: Name[]) =>
  (body: { [N in Name]?: unknown }) =>
    names.filter((name) => body[name] !== undefined).length === 1;

const loginInput = z
  .object({
    pending_2fa_token: z.string().min(1).max(512),
    totp_token: totpToken.optional(),
    backup_code: backupCode.optional(),
  })
  .refine(exactlyOne('totp_token', 'backup_code'), {
    path: ['totp_token'],
    message: 'send either totp_token or backup_code',
  })
  .transform((body) => ({ pendingToken: body.pending_2fa_token, code: codeOf(body) }));

const disableInput = z
  .object({ password: triedPassword.optional(), totp_token: totpToken.optional(), backup_code: backupCode.optional() })
  .refine(exactlyOne('password', 'totp_token', 'backup_code'), {
    path: ['password'],
    message: 'send one of password, totp_token and backup_code',
  })
  .transform((body) => (body.password === undefined ? { code: codeOf(body) } : { password: body.password }));

const codeOf = (body: { totp_token?: string; backup_code?: string }): SecondFactorCode =>
  body.totp_token === undefined ? { backupCode: body.backup_code as string } : { totp: body.totp_token };

const backupCodesView = z
  .object({ backup_codes: z.array(z.string()).meta({ description: 'Ten one-time codes. They are shown only here.' }) })
  .meta({ id: 'BackupCodes' });

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
      access: 'authenticated',
      summary: 'Get the secret for an authenticator app',
      description: 'The second factor is asked for once it is enabled with a code of the app.',
      returns: ok(z.object({ secret: z.string().meta({ description: 'Base32.' }), otpauth_url: z.string() })),
    },
    async ({ ctx }) => {
      const { secret, otpauthUrl } = await setUpSecondFactor(ctx);
      return { secret, otpauth_url: otpauthUrl };
    },
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/2fa/enable',
      access: 'authenticated',
      summary: 'Enable the second factor with a code of the authenticator app',
      description: 'The code is spent by this: signing in takes the next one.',
      body: z.object({ totp_token: totpToken }),
      returns: ok(backupCodesView),
    },
    async ({ ctx, body }) => ({ backup_codes: await enableSecondFactor(ctx, body.totp_token) }),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/2fa/disable',
      access: 'authenticated',
      summary: 'Disable the second factor, with the password or a code',
      body: disableInput,
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
      returns: ok(backupCodesView),
    },
    async ({ ctx }) => ({ backup_codes: await renewBackupCodes(ctx) }),
  ),
];
