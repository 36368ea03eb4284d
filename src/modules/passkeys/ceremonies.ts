import {
  type AuthenticationResponseJSON,
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { isoBase64URL, isoUint8Array } from '@simplewebauthn/server/helpers';
import type { Context } from '../../context.ts';
import type { spentPasskeyChallenges } from '../../db/schema/passkeys.ts';
import { MINUTE_MS } from '../../kernel/clock.ts';
import { newSecretToken } from '../../kernel/ids.ts';
import { computeKeyedDigest, computeKeyedDigests } from '../../platform/keyed-digest.ts';
import { areSecretsEqual, computeSha256Hex } from '../../platform/secrets.ts';
import { invalidPasskey } from './failures.ts';
import { type ExpectedValues, KEY_ALGORITHMS, readAuthentication, readRegistration } from './responses.ts';
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
) {
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
export async function makeAuthenticationOptions(ctx: Context, companyId: string) {
  return generateAuthenticationOptions({
    rpID: ctx.config.RP_ID,
    challenge: await createChallenge(ctx, { companyId, userId: null }),
    allowCredentials: [],
    timeout: CHALLENGE_LIFETIME_MS,
    userVerification: 'required',
  });
}

/** Verifies an authenticator's response to registration options. @throws invalidPasskey */
export const verifyRegistration = (ctx: Context, scope: ChallengeScope, response: RegistrationResponseJSON) =>
  verifyResponse(ctx, scope, (expectedValues) => readRegistration(expectedValues, response));

/** Verifies a passkey's response to authentication options. @throws invalidPasskey */
export const verifyAuthentication = (
  ctx: Context,
  scope: ChallengeScope,
  response: AuthenticationResponseJSON,
  passkey: Passkey,
) => verifyResponse(ctx, scope, (expectedValues) => readAuthentication(expectedValues, response, passkey));

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

/** The time in which a challenge can be answered. */
const CHALLENGE_LIFETIME_MS = 5 * MINUTE_MS;

const CHALLENGE_PURPOSE = 'passkey challenge';

/** The scope of a challenge: anybody who signs in to the company may answer it, or only the user who adds a passkey. */
interface ChallengeScope {
  companyId: string;
  /** The user who adds a passkey; null for a sign-in. */
  userId: string | null;
}

/** A valid challenge that is being used: its digest and expiry (milliseconds), which are recorded. */
type Challenge = typeof spentPasskeyChallenges.$inferSelect;

/** Creates a challenge, which contains its expiry and an HMAC: nothing is stored until it is answered. */
async function createChallenge(ctx: Context, scope: ChallengeScope): Promise<string> {
  const body = `${newSecretToken()}.${ctx.now() + CHALLENGE_LIFETIME_MS}`;
  return `${body}.${await computeKeyedDigest(ctx.config.ENCRYPTION_KEYS, CHALLENGE_PURPOSE, formatScope(scope, body))}`;
}

/** Returns the challenge if this service created it for this scope and it has not expired; else null. */
async function verifyChallenge(ctx: Context, scope: ChallengeScope, challenge: string): Promise<Challenge | null> {
  const [random, expiry, digest = ''] = challenge.split('.');
  const body = `${random}.${expiry}`;
  const { ENCRYPTION_KEYS: keys } = ctx.config;
  const expectedDigests = await computeKeyedDigests(keys, CHALLENGE_PURPOSE, formatScope(scope, body));
  const matchResults = await Promise.all(expectedDigests.map((expected) => areSecretsEqual(expected, digest)));
  const expiresAt = Number(expiry);
  if (!matchResults.includes(true) || expiresAt <= ctx.now()) return null;
  return { digest: await computeSha256Hex(`${body}.${digest}`), expiresAt };
}

const formatScope = ({ companyId, userId }: ChallengeScope, body: string): string =>
  `${companyId}:${userId ?? 'sign-in'}:${body}`;
