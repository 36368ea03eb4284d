import {
  type AuthenticationResponseJSON,
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { isoBase64URL, isoUint8Array } from '@simplewebauthn/server/helpers';
import type { Context } from '../../context.ts';
import {
  CHALLENGE_LIFETIME_MS,
  type Challenge,
  type ChallengeScope,
  createChallenge,
  verifyChallenge,
} from './challenges.ts';
import { invalidPasskey } from './failures.ts';
import {
  type Credential,
  type ExpectedValues,
  KEY_ALGORITHMS,
  readAuthentication,
  readRegistration,
} from './responses.ts';
import type { Passkey } from './store.ts';

/** The relying party name that authenticators may show. */
const RELYING_PARTY_NAME = 'Data Console';

/** Makes the id by which authenticators distinguish people: bytes that say nothing about the person, in base64url. */
export const makeUserHandle = (userId: string): string => isoBase64URL.fromUTF8String(userId);

/** Makes W3C's options for `navigator.credentials.create`. An authenticator with one of `knownPasskeys` creates no other. */
export async function makeRegistrationOptions(
  ctx: Context,
  user: { id: string; companyId: string; email: string; displayName: string },
  knownPasskeys: readonly Pick<Passkey, 'credentialId' | 'transports'>[],
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  return generateRegistrationOptions({
    rpName: RELYING_PARTY_NAME,
    rpID: ctx.config.RP_ID,
    userID: isoUint8Array.fromUTF8String(user.id),
    userName: user.email,
    userDisplayName: user.displayName,
    challenge: await createChallenge(ctx, { companyId: user.companyId, userId: user.id }),
    timeout: CHALLENGE_LIFETIME_MS,
    excludeCredentials: knownPasskeys.map(({ credentialId, transports }) => ({
      id: credentialId,
      transports: transports as NonNullable<RegistrationResponseJSON['response']['transports']>,
    })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: KEY_ALGORITHMS,
  });
}

/** Makes W3C's options for `navigator.credentials.get`. They list no passkeys, so as not to reveal which a company has. */
export async function makeAuthenticationOptions(
  ctx: Context,
  companyId: string,
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  return generateAuthenticationOptions({
    rpID: ctx.config.RP_ID,
    challenge: await createChallenge(ctx, { companyId, userId: null }),
    allowCredentials: [],
    timeout: CHALLENGE_LIFETIME_MS,
    userVerification: 'required',
  });
}

/** Verifies an authenticator's response to registration options. @throws invalidPasskey */
export const verifyRegistration = (
  ctx: Context,
  scope: ChallengeScope,
  response: RegistrationResponseJSON,
): Promise<Credential & { challenge: Challenge }> =>
  verifyResponse(ctx, scope, (expectedValues) => readRegistration(expectedValues, response));

/** Verifies a passkey's response to authentication options. @throws invalidPasskey */
export const verifyAuthentication = (
  ctx: Context,
  scope: ChallengeScope,
  response: AuthenticationResponseJSON,
  passkey: Passkey,
): Promise<{ counter: number; isBackedUp: boolean; challenge: Challenge }> =>
  verifyResponse(ctx, scope, (expectedValues) => readAuthentication(expectedValues, response, passkey));

/** Verifies a response to one of our challenges, made on one of our pages. */
async function verifyResponse<T extends object>(
  ctx: Context,
  scope: ChallengeScope,
  read: (expectedValues: ExpectedValues) => Promise<T>,
): Promise<T & { challenge: Challenge }> {
  const answeredChallenges: Challenge[] = [];
  const result = await read({
    expectedChallenge: async (encodedChallenge) => {
      const challenge = await verifyChallenge(ctx, scope, isoBase64URL.toUTF8String(encodedChallenge));
      if (challenge) answeredChallenges.push(challenge);
      return challenge !== null;
    },
    expectedOrigin: listOwnOrigins(ctx),
    expectedRPID: ctx.config.RP_ID,
    // Whatever is wrong with a response is thrown as a plain error, and reading does nothing else.
  }).catch(() => undefined);
  const [challenge] = answeredChallenges;
  if (!result || !challenge) throw invalidPasskey();
  return { ...result, challenge };
}

/** Returns the domain of passkeys that can be used on pages of this API; null where its URL is not an allowed origin. */
export const getPasskeyDomain = (ctx: Context): string | null =>
  listOwnOrigins(ctx).includes(new URL(ctx.baseUrl).origin) ? ctx.config.RP_ID : null;

/** Returns the origins at which people sign in: the console, and pages of this API. The requested host does not count. */
const listOwnOrigins = ({ config: { CONSOLE_URL, PUBLIC_URL } }: Context): string[] =>
  [CONSOLE_URL, PUBLIC_URL ?? CONSOLE_URL].map((url) => new URL(url).origin);
