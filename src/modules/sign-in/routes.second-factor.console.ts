import { z } from 'zod';
import { companySuspended, grantExceeds, invalidToken } from '../../access/failures.ts';
import { noContent, ok } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/console.ts';
import { tokenSchema } from '../../kernel/fields.ts';
import { signInPasswordField } from '../users/fields.ts';
import { userNotFound } from '../users/service.ts';
import { type EnabledSecondFactor, enableSecondFactor, setUpSecondFactor } from './enrolment.ts';
import type { SecondFactorCode } from './factor-codes.ts';
import {
  cannotResetOwnersFactor,
  cannotResetOwnFactor,
  noSecondFactor,
  pendingSignInEnded,
  reauthenticationRequired,
  secondFactorEnabled,
  secondFactorNotEnabled,
  secondFactorNotSetUp,
  ssoRequired,
  tooManyAttempts,
  wrongCredentials,
  wrongSecondFactor,
} from './failures.ts';
import {
  chooseCode,
  makeReauthenticationBody,
  REAUTHENTICATION_DESCRIPTION,
  sixDigitsField,
  typedCodeField,
} from './fields.ts';
import { disableSecondFactor, logInWithSecondFactor, replaceBackupCodes, resetSecondFactor } from './second-factor.ts';
import { loginResultView, viewStartedSession } from './views.ts';

const loginInput = z
  .object({
    pending_2fa_token: tokenSchema,
    totp_token: sixDigitsField.optional(),
    backup_code: typedCodeField.optional(),
  })
  .refine((body) => (body.totp_token === undefined) !== (body.backup_code === undefined), {
    path: ['totp_token'],
    message: 'send either totp_token or backup_code',
  })
  .transform((body) => ({ pendingToken: body.pending_2fa_token, code: chooseCode(body) as SecondFactorCode }));

const setupInput = z
  .object({ password: signInPasswordField.optional(), pending_2fa_token: tokenSchema.optional() })
  .transform((body) => ({ password: body.password, pendingToken: body.pending_2fa_token }));

const enableInput = z
  .object({
    totp_token: sixDigitsField
      .optional()
      .meta({ description: 'A code from the authenticator that was set up. Required.' }),
    password: signInPasswordField.optional(),
    pending_2fa_token: tokenSchema.optional(),
  })
  .transform((body) => ({ totp: body.totp_token, password: body.password, pendingToken: body.pending_2fa_token }));

const reauthenticationInput = makeReauthenticationBody({});

const backupCodesView = z
  .object({ backup_codes: z.array(z.string()).meta({ description: 'Ten one-time codes, shown in this answer only.' }) })
  .meta({ id: 'BackupCodes' });

const enabledFactorView = z.union([
  loginResultView.extend(backupCodesView.shape).meta({ id: 'LoginResultWithBackupCodes' }),
  backupCodesView,
]);

const viewEnabledFactor = ({
  backupCodes,
  startedSession,
}: EnabledSecondFactor): z.input<typeof enabledFactorView> => ({
  backup_codes: backupCodes,
  ...(startedSession && viewStartedSession(startedSession)),
});

const PENDING_TOKEN_DESCRIPTION =
  'During a sign-in that returned `requires_2fa_setup`, send its `pending_2fa_token` instead of the token and password. ';
const CONSEQUENCES_DESCRIPTION = 'The caller is notified by email, and their other sessions end.';

export const secondFactorEndpoints = [
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/2fa/login',
      recordedAs: 'auth:2fa_login',
      access: 'public',
      operationId: 'completeSignInWithSecondFactor',
      summary: 'Complete a sign-in with the second factor',
      description:
        'The pending token works once, for 300 seconds, and stops working after five wrong codes. After ten wrong codes of a user within 15 minutes, further ones are refused.',
      body: loginInput,
      returns: ok(loginResultView),
      fails: [pendingSignInEnded, companySuspended, ssoRequired, wrongSecondFactor, tooManyAttempts],
    },
    async ({ ctx, body }) => viewStartedSession(await logInWithSecondFactor(ctx, body)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/2fa/setup',
      recordedAs: 'auth:2fa_setup',
      access: 'pending',
      pendingTokenField: 'pending_2fa_token',
      only: 'people',
      operationId: 'setUpSecondFactor',
      summary: 'Set up a second factor',
      description: `Returns the secret for an authenticator app. The second factor takes effect once it is enabled with a code from the app. ${REAUTHENTICATION_DESCRIPTION}${PENDING_TOKEN_DESCRIPTION}`,
      body: setupInput,
      returns: ok(z.object({ secret: z.string().meta({ description: 'Base32.' }), otpauth_url: z.string() })),
      fails: [
        invalidToken,
        pendingSignInEnded,
        ssoRequired,
        secondFactorEnabled,
        wrongCredentials,
        reauthenticationRequired,
        tooManyAttempts,
      ],
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
      recordedAs: 'auth:2fa_enable',
      access: 'pending',
      pendingTokenField: 'pending_2fa_token',
      only: 'people',
      operationId: 'enableSecondFactor',
      summary: 'Enable the second factor',
      description: `Needs a code from the authenticator app; the next sign-in needs another code. ${REAUTHENTICATION_DESCRIPTION}${PENDING_TOKEN_DESCRIPTION}This completes the sign-in, and the answer holds its session besides the backup codes. ${CONSEQUENCES_DESCRIPTION}`,
      body: enableInput,
      returns: ok(enabledFactorView),
      fails: [
        invalidToken,
        pendingSignInEnded,
        ssoRequired,
        secondFactorNotSetUp,
        secondFactorEnabled,
        wrongSecondFactor,
        wrongCredentials,
        reauthenticationRequired,
        tooManyAttempts,
      ],
    },
    async ({ ctx, body }) => viewEnabledFactor(await enableSecondFactor(ctx, body)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/v1/auth/2fa/disable',
      recordedAs: 'auth:2fa_disable',
      access: 'authenticated',
      only: 'people',
      operationId: 'disableSecondFactor',
      summary: 'Disable the second factor',
      description: `Forgets the authenticator app and the backup codes. ${REAUTHENTICATION_DESCRIPTION}${CONSEQUENCES_DESCRIPTION}`,
      body: reauthenticationInput,
      returns: ok(z.object({ success: z.literal(true) })),
      fails: [secondFactorNotEnabled, wrongSecondFactor, wrongCredentials, tooManyAttempts],
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
      recordedAs: 'auth:2fa_backup-codes',
      access: 'authenticated',
      only: 'people',
      operationId: 'replaceBackupCodes',
      summary: 'Replace the backup codes',
      description: `Returns new codes, which are not shown again; earlier ones stop working. ${REAUTHENTICATION_DESCRIPTION}${CONSEQUENCES_DESCRIPTION}`,
      body: reauthenticationInput,
      returns: ok(backupCodesView),
      fails: [secondFactorNotEnabled, wrongSecondFactor, wrongCredentials, tooManyAttempts],
    },
    async ({ ctx, body }) => ({ backup_codes: await replaceBackupCodes(ctx, body) }),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/v1/users/{id}/2fa',
      access: 'users:update',
      operationId: 'resetUserSecondFactor',
      summary: "Reset a user's second factor",
      description:
        'For a user who has lost it. Their passkeys are deleted, too, their sessions end, and they are notified by email. Refused if the user may do more than the caller.',
      returns: noContent,
      fails: [userNotFound, noSecondFactor, cannotResetOwnFactor, cannotResetOwnersFactor, grantExceeds],
    },
    ({ ctx, params }) => resetSecondFactor(ctx, params.id),
  ),
];
