import { z } from 'zod';
import { makeView } from '../../http/wire.ts';
import type { SignInResult, StartedSession } from './complete.ts';

/** The tokens of a session. */
export const tokenPairView = z
  .object({
    token: z.string(),
    expires_in: z.int().meta({ description: 'Seconds.' }),
    refresh_token: z.string(),
    refresh_expires_in: z.int().meta({ description: 'Seconds.' }),
  })
  .meta({ id: 'TokenPair' });

const signedInUserView = z.object({ _id: z.string(), email: z.string(), name: z.string(), company_id: z.string() });
const viewSignedInUser = makeView(signedInUserView);

/** The answer to a completed sign-in: the session's tokens and user. */
export const loginResultView = tokenPairView.extend({ user: signedInUserView }).meta({ id: 'LoginResult' });

const secondFactorNeededView = z
  .object({
    requires_2fa: z.literal(true),
    pending_2fa_token: z.string().meta({ description: 'For POST /v1/auth/2fa/login.' }),
    expires_in: z.int().meta({ description: 'Seconds.' }),
    methods: z.array(z.enum(['totp', 'backup_code'])),
  })
  .meta({ id: 'SecondFactorNeeded' });

const secondFactorSetupView = z
  .object({
    requires_2fa_setup: z.literal(true),
    pending_2fa_token: z.string().meta({ description: 'For POST /v1/auth/2fa/setup and /v1/auth/2fa/enable.' }),
    expires_in: z.int().meta({ description: 'Seconds.' }),
  })
  .meta({ id: 'SecondFactorSetupNeeded' });

const passkeyNeededView = z
  .object({
    requires_2fa: z.literal(true),
    methods: z
      .array(z.literal('passkey'))
      .meta({ description: 'Sign in by POST /v1/auth/passkeys/verify: that is both factors.' }),
  })
  .meta({ id: 'PasskeyNeeded' });

/** The answer to a proved first factor: a session, or that a second factor is needed, or has to be set up. */
export const signInResultView = z
  .union([loginResultView, secondFactorNeededView, passkeyNeededView, secondFactorSetupView])
  .meta({ id: 'SignInResult' });

export const viewTokenPair = makeView(tokenPairView);

export const viewStartedSession = (startedSession: StartedSession): z.input<typeof loginResultView> => ({
  ...viewTokenPair(startedSession),
  user: viewSignedInUser(startedSession.user),
});

export function viewSignInResult(result: SignInResult): z.input<typeof signInResultView> {
  if ('token' in result) return viewStartedSession(result);
  if (result.purpose === 'passkey') return { requires_2fa: true, methods: ['passkey'] };
  const pendingFields = { pending_2fa_token: result.pendingToken, expires_in: result.expiresIn };
  return result.purpose === 'setup'
    ? { requires_2fa_setup: true, ...pendingFields }
    : { requires_2fa: true, ...pendingFields, methods: ['totp', 'backup_code'] };
}
