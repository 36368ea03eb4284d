import type { Context, PrincipalContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import type { Page } from '../../db/page.ts';
import { newSecretToken } from '../../kernel/ids.ts';
import { RecentlyUsed } from '../../kernel/recently-used.ts';
import type { Action } from '../../permissions/actions.ts';
import { decrypt, encrypt, getNewestPrefix, reencrypt } from '../../platform/cipher.ts';
import { prepareShareEvent } from '../share-activity/service.ts';
import { signingKeyNotFound, tooManySigningKeys } from './failures.ts';
import { requireMayRevokeEverything, requireNothingDenied, requireSharingEverything } from './revocation.ts';
import {
  deleteSigningKey as deleteRow,
  insertSigningKey,
  readSigningKeys,
  replaceSigningSecret,
  type SigningKey,
  selectSigningKeysUnderOlderKey,
} from './store.ts';

export type { SigningKey };

/** The maximum number of keys: two, so that a host can change from one to the next. */
const MAX_KEYS = 2;

const KEY_ID_PATTERN = /^(?<companyId>[a-f0-9]{24})-[a-f0-9]{24}$/;

/** Returns the company of a signing key, from the key's id; undefined where the id has another form. */
export const parseCompanyId = (keyId: string): string | undefined => KEY_ID_PATTERN.exec(keyId)?.groups?.companyId;

/**
 * The actions that a signing key allows its holder, who can show any dashboard or visualization to anybody. A user who is
 * denied one of them must not create a key.
 */
const KEY_HOLDER_ACTIONS: readonly Action[] = [
  'dashboards:get',
  'dashboards:share',
  'visualizations:get',
  'visualizations:share',
  'visualizations:execute',
];

/** Throws unless the caller has both share permissions, and no Deny of anything that a holder of the key could do. */
export function requireMayCreateSigningKey(ctx: PrincipalContext): void {
  requireSharingEverything(ctx);
  requireNothingDenied(ctx, KEY_HOLDER_ACTIONS);
}

/** Creates a key that the company's applications sign embed tokens with. The secret is returned only here. */
export async function createSigningKey(ctx: PrincipalContext): Promise<{ key: SigningKey; secret: string }> {
  requireMayCreateSigningKey(ctx);
  const { companyId } = ctx.actor;
  const id = `${companyId}-${ctx.newId()}`;
  const secret = newSecretToken();
  const encryptedSecret = await encrypt(ctx.config.ENCRYPTION_KEYS, secret, makeSecretContext(id));
  const key: SigningKey = { id, companyId, encryptedSecret, createdAt: ctx.now() };
  const event = prepareShareEvent(ctx, { type: 'embed.signing_key_created', details: { signing_key_id: id } });
  const { made, told } = await commit(ctx.db, {
    made: insertSigningKey(ctx.db, key, MAX_KEYS),
    told: event.statement,
  });
  if (made.length === 0) throw tooManySigningKeys(MAX_KEYS);
  event.send(told);
  return { key, secret };
}

/** Returns a page of the company's signing keys, the newest first. */
export function listSigningKeys(
  ctx: PrincipalContext,
  pageRequest: { page: number; perPage: number },
): Promise<Page<SigningKey>> {
  requireSharingEverything(ctx);
  return readSigningKeys(ctx.db, ctx.actor.companyId, { ...pageRequest, descending: true });
}

/** Deletes a signing key: all tokens that it signed are invalid from the next request on. */
export async function deleteSigningKey(ctx: PrincipalContext, id: string): Promise<void> {
  requireMayRevokeEverything(ctx);
  const event = prepareShareEvent(ctx, { type: 'embed.signing_key_deleted', details: { signing_key_id: id } });
  const { deleted, told } = await commit(ctx.db, {
    deleted: deleteRow(ctx.db, ctx.actor.companyId, id),
    told: event.statement,
  });
  if (deleted.length === 0) throw signingKeyNotFound();
  event.send(told);
}

/** Cache of keys by their encrypted secret: a replaced or deleted key is no longer looked up. */
const importedKeys = new RecentlyUsed<string, CryptoKey>(1000);

/** Imports a signing key for checking its signatures: HMAC with SHA-256 under the UTF-8 bytes of the secret. */
export async function importVerifyingKey(ctx: Context, { id, encryptedSecret }: SigningKey): Promise<CryptoKey> {
  const cachedKey = importedKeys.get(encryptedSecret);
  if (cachedKey) return cachedKey;
  const text = await decrypt(ctx.config.ENCRYPTION_KEYS, encryptedSecret, makeSecretContext(id));
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', new TextEncoder().encode(text), algorithm, false, ['verify']);
  importedKeys.set(encryptedSecret, key);
  return key;
}

/** The number of secrets that are re-encrypted at once. */
const REENCRYPTION_BATCH_SIZE = 500;

/** Re-encrypts secrets under the newest key. For the scheduled run. @returns how many */
export async function reencryptSigningSecrets(ctx: Context): Promise<number> {
  const keys = ctx.config.ENCRYPTION_KEYS;
  const outdatedKeys = await selectSigningKeysUnderOlderKey(ctx.db, getNewestPrefix(keys), REENCRYPTION_BATCH_SIZE);
  const replaceStatements = [];
  for (const key of outdatedKeys) {
    const encryptedSecret = await reencrypt(keys, key.encryptedSecret, makeSecretContext(key.id));
    replaceStatements.push(replaceSigningSecret(ctx.db, key, encryptedSecret));
  }
  if (replaceStatements.length > 0) await commit(ctx.db, { replaced: replaceStatements });
  return replaceStatements.length;
}

const makeSecretContext = (keyId: string) => `embed-signing-key:${keyId}`;
