import { compileAccess } from '../../access/evaluation.ts';
import type { KnownPrincipal } from '../../access/known-principals.ts';
import type { LastUse } from '../../access/last-uses.ts';
import { type FoundAccess, toAccessSources } from '../../access/sources.ts';
import { requireActiveCompany } from '../../access/suspension.ts';
import type { Context } from '../../context.ts';
import type { KeyDerivationData } from './keys.ts';
import type { UsableKey } from './store.ts';

/** Formats the name under which an isolate caches the owner of a key, for signatures and for service tokens. */
export const formatKeyCacheName = (accessKey: string): string => `key ${accessKey}`;

/** The cached data of a key, without its owner. */
export interface KeyProof {
  derivationData: KeyDerivationData;
  lastUse: LastUse;
}

/** Converts a key and its owner's access into the cached form: few fields, as an isolate caches ten thousand keys. */
export function toCachedPrincipal(
  ctx: Pick<Context, 'setOwner'>,
  key: UsableKey,
  access: FoundAccess,
  credential = key.id,
): KnownPrincipal<KeyProof> {
  const { companyId, serviceAccountId, accessKey, salt, derivationVersion, secretDigest } = key;
  requireActiveCompany(key, () =>
    ctx.setOwner(companyId, { type: 'service_account', id: serviceAccountId, credential }),
  );
  return {
    actor: {
      kind: 'service_account',
      id: serviceAccountId,
      companyId,
      companySlug: key.companySlug,
      accountId: key.accountId,
      name: key.name,
      keyId: key.id,
      accessKey,
      access: compileAccess(toAccessSources(companyId, false, access)),
    },
    expiresAt: key.expiresAt,
    proof: {
      derivationData: { accessKey, salt, derivationVersion, secretDigest },
      lastUse: {
        usedCredentials: [
          { kind: 'key', companyId, id: key.id },
          { kind: 'service_account', companyId, id: serviceAccountId },
        ],
        recordedAt: key.lastUsedAt,
        isRecordedHere: false,
      },
    },
  };
}
