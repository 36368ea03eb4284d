import type { Context } from '../../context.ts';
import type { Metadata } from '../../db/columns.ts';
import { KEY_LIFETIME_MS, mintKey } from './keys.ts';
import { type ApiKey, insertApiKey, insertServiceAccount, type ServiceAccount } from './store.ts';

export type { ApiKey, ServiceAccount };

/** A new service account and the statement that stores it. */
export function prepareServiceAccount(
  ctx: Context,
  companyId: string,
  input: { name: string; description: string; accountId: string; metadata: Metadata },
) {
  const now = ctx.now();
  const record: ServiceAccount = {
    ...input,
    id: ctx.newId(),
    companyId,
    isActive: true,
    lastUsedAt: null,
    createdAt: now,
    updatedAt: now,
    deletedAt: null,
  };
  return { record, statement: insertServiceAccount(ctx.db, record) };
}

/** A new API key, its secret, and the statement that stores the key. `expiresAt` in ms; a year from now when not given. */
export async function prepareApiKey(
  ctx: Context,
  company: { id: string; slug: string },
  serviceAccount: Pick<ServiceAccount, 'id' | 'accountId'>,
  input: { description: string; expiresAt?: number },
) {
  const now = ctx.now();
  const { material, secretKey } = await mintKey(
    ctx.config.KEY_DERIVATION_SECRETS,
    company.slug,
    serviceAccount.accountId,
  );
  const record: ApiKey = {
    ...material,
    id: ctx.newId(),
    companyId: company.id,
    serviceAccountId: serviceAccount.id,
    description: input.description,
    expiresAt: input.expiresAt ?? now + KEY_LIFETIME_MS,
    isActive: true,
    lastUsedAt: null,
    createdAt: now,
    updatedAt: now,
  };
  return { record, secretKey, statement: insertApiKey(ctx.db, record) };
}
