import type { Context } from '../../context.ts';
import { MINUTE_MS } from '../../kernel/clock.ts';
import { newSecretToken } from '../../kernel/ids.ts';
import { computeKeyedDigest, computeKeyedDigests } from '../../platform/keyed-digest.ts';
import { areSecretsEqual, computeSha256Hex } from '../../platform/secrets.ts';

/** The time in which a challenge can be answered. */
export const CHALLENGE_LIFETIME_MS = 5 * MINUTE_MS;

const CHALLENGE_PURPOSE = 'passkey challenge';

/** The scope of a challenge: anybody who signs in to the company may answer it, or only the user who adds a passkey. */
export interface ChallengeScope {
  companyId: string;
  /** The user who adds a passkey; null for a sign-in. */
  userId: string | null;
}

/** A valid challenge that is being used: its digest and expiry (milliseconds), which are recorded. */
export interface Challenge {
  digest: string;
  expiresAt: number;
}

/**
 * Creates a challenge, which contains its expiry and an HMAC, so that nothing is stored for unanswered challenges: only
 * answered ones are recorded.
 */
export async function createChallenge(ctx: Context, scope: ChallengeScope): Promise<string> {
  const body = `${newSecretToken()}.${ctx.now() + CHALLENGE_LIFETIME_MS}`;
  return `${body}.${await computeKeyedDigest(ctx.config.ENCRYPTION_KEYS, CHALLENGE_PURPOSE, formatScope(scope, body))}`;
}

/** Returns the challenge if this service created it for this scope and it has not expired; else null. */
export async function verifyChallenge(
  ctx: Context,
  scope: ChallengeScope,
  challenge: string,
): Promise<Challenge | null> {
  const [random, expiry, digest = ''] = challenge.split('.');
  const body = `${random}.${expiry}`;
  const expectedDigests = await computeKeyedDigests(
    ctx.config.ENCRYPTION_KEYS,
    CHALLENGE_PURPOSE,
    formatScope(scope, body),
  );
  const matchResults = await Promise.all(
    expectedDigests.map((expectedDigest) => areSecretsEqual(expectedDigest, digest)),
  );
  const expiresAt = Number(expiry);
  if (!matchResults.includes(true) || expiresAt <= ctx.now()) return null;
  return { digest: await computeSha256Hex(`${body}.${digest}`), expiresAt };
}

const formatScope = ({ companyId, userId }: ChallengeScope, body: string): string =>
  `${companyId}:${userId ?? 'sign-in'}:${body}`;
