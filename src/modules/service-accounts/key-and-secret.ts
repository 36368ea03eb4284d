import type { ServiceAccountActor } from '../../access/actors.ts';
import { invalidToken } from '../../access/failures.ts';
import type { KnownPrincipal } from '../../access/known-principals.ts';
import { recordLastUse } from '../../access/last-uses.ts';
import type { Authenticate, Context } from '../../context.ts';
import { sameSecret, sha256Hex } from '../../platform/secrets.ts';
import type { KeyMaterial } from './keys.ts';
import { formatCredential, type KeyProof, toKnown } from './known-key.ts';
import { deriveVerificationKey } from './signing-keys.ts';
import { readKeyAndAccess } from './store.ts';

const KEY_AND_SECRET_PATTERN = /^Bearer +(sa_[^\s:]{1,200}):(\S{1,200})$/i;

async function matchesSecret({ config }: Context, secret: string, material: KeyMaterial): Promise<boolean> {
  // A key whose master secret is gone opens nothing any more, here as where it signs.
  const isUsable = (await deriveVerificationKey(config.KEY_DERIVATION_SECRETS, material)) !== undefined;
  return (await sameSecret(await sha256Hex(secret), material.secretDigest)) && isUsable;
}

/** Reads the owner of a key by the key and its secret. @throws where they are not good */
async function readOwner(ctx: Context, accessKey: string, secret: string): Promise<KnownPrincipal<KeyProof>> {
  const { key, access } = await readKeyAndAccess(ctx.db, accessKey, ctx.now());
  if (!key || !(await matchesSecret(ctx, secret, key))) throw invalidToken();
  return toKnown(ctx, key, access);
}

/**
 * Returns the service account that a key and its secret authenticate.
 * @throws if either is invalid
 */
export const verifyKeyAndSecret = async (
  ctx: Context,
  accessKey: string,
  secret: string,
): Promise<ServiceAccountActor> => (await readOwner(ctx, accessKey, secret)).actor as ServiceAccountActor;

/**
 * Authenticates an API key that is sent with its secret, `Bearer sa_…:SECRET`, for clients that can hold a fixed header and
 * cannot sign; any other credential, by `otherwise`. Only the control database knows the owner of a key, or an isolate that has
 * asked it before.
 */
export const authenticateKeyOr =
  (otherwise: Authenticate): Authenticate =>
  async (ctx, request) => {
    const [, accessKey, secret] = KEY_AND_SECRET_PATTERN.exec(request.header('authorization') ?? '') ?? [];
    if (accessKey === undefined || secret === undefined) return otherwise(ctx, request);

    return {
      credential: formatCredential(accessKey),
      claims: null,
      fits: ({ proof }) => matchesSecret(ctx, secret, (proof as KeyProof).material),
      read: () => readOwner(ctx, accessKey, secret),
      recordUse: ({ proof }) => recordLastUse(ctx, (proof as KeyProof).lastUse),
    };
  };
