import type { ServiceAccountActor } from '../../access/actors.ts';
import { invalidToken } from '../../access/failures.ts';
import type { KnownPrincipal } from '../../access/known-principals.ts';
import { recordLastUse } from '../../access/last-uses.ts';
import type { Authenticate, Context } from '../../context.ts';
import { areSecretsEqual, computeSha256Hex } from '../../platform/secrets.ts';
import { formatKeyCacheName, type KeyProof, toCachedPrincipal } from './key-cache.ts';
import { deriveVerificationKey, type KeyDerivationData } from './keys.ts';
import { readKeyAndAccess } from './store.ts';

const KEY_AND_SECRET_PATTERN = /^Bearer +(sa_[^\s:]{1,200}):(\S{1,200})$/i;

async function matchesSecret({ config }: Context, secret: string, material: KeyDerivationData): Promise<boolean> {
  // A key whose master secret is gone opens nothing any more, here as where it signs.
  const isUsable = (await deriveVerificationKey(config.KEY_DERIVATION_SECRETS, material)) !== undefined;
  return (await areSecretsEqual(await computeSha256Hex(secret), material.secretDigest)) && isUsable;
}

/** Reads the owner of a key by the key and its secret. @throws where the key or the secret is not valid */
async function readOwner(ctx: Context, accessKey: string, secret: string): Promise<KnownPrincipal<KeyProof>> {
  const { key, access } = await readKeyAndAccess(ctx.db, accessKey, ctx.now());
  if (!key || !(await matchesSecret(ctx, secret, key))) throw invalidToken();
  return toCachedPrincipal(ctx, key, access);
}

/** Returns the service account that a key and its secret authenticate. @throws if either is invalid */
export const verifyKeyAndSecret = async (
  ctx: Context,
  accessKey: string,
  secret: string,
): Promise<ServiceAccountActor> => (await readOwner(ctx, accessKey, secret)).actor as ServiceAccountActor;

/**
 * Authenticates an API key that is sent with its secret, `Bearer sa_…:SECRET`, for clients that can hold a fixed header
 * and cannot sign; passes any other credential to `authenticateOther`. The owner of a key is read from the control
 * database or from the isolate's cache.
 */
export const authenticateKeyOr =
  (authenticateOther: Authenticate): Authenticate =>
  async (ctx, request) => {
    const [, accessKey, secret] = KEY_AND_SECRET_PATTERN.exec(request.header('authorization') ?? '') ?? [];
    if (accessKey === undefined || secret === undefined) return authenticateOther(ctx, request);

    return {
      credential: formatKeyCacheName(accessKey),
      claims: null,
      matchesPrincipal: ({ proof }) => matchesSecret(ctx, secret, (proof as KeyProof).derivationData),
      readPrincipal: () => readOwner(ctx, accessKey, secret),
      recordUse: ({ proof }) => recordLastUse(ctx, (proof as KeyProof).lastUse),
    };
  };
