import type { Context, PrincipalContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import type { Page } from '../../db/page.ts';
import { newSecretToken } from '../../kernel/ids.ts';
import { RecentlyUsed } from '../../kernel/recently-used.ts';
import type { Action } from '../../permissions/actions.ts';
import { decrypt, encrypt, newestPrefix, reencrypt } from '../../platform/cipher.ts';
import { prepareShareEvent } from '../share-activity/service.ts';
import { signingKeyNotFound, tooManySigningKeys } from './failures.ts';
import { requireDeniedNowhere, requireSharingEverything, SHARE_ACTIONS } from './revocation.ts';
import {
  deleteSigningKey as deleteRow,
  insertSigningKey,
  readSigningKeys,
  replaceSigningSecret,
  type SigningKey,
  selectSigningKeysUnderOlderKey,
} from './signing-key-store.ts';

export type { SigningKey };

/** Two, so that a host can change from one to the next. */
const MAX_KEYS = 2;

const KEY_ID = /^(?<companyId>[a-f0-9]{24})-[a-f0-9]{24}$/;

/** The company of a signing key, by the key's id; undefined where that is not the id of one. */
export const parseCompanyId = (keyId: string): string | undefined => KEY_ID.exec(keyId)?.groups?.companyId;

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

/** Makes a key that the company's applications sign embed tokens with. The secret is returned only here. */
export async function createSigningKey(ctx: PrincipalContext): Promise<{ key: SigningKey; secret: string }> {
  requireSharingEverything(ctx);
  requireDeniedNowhere(ctx, KEY_HOLDER_ACTIONS);
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

/** A page of the company's signing keys, the newest first. */
export function listSigningKeys(
  ctx: PrincipalContext,
  part: { page: number; perPage: number },
): Promise<Page<SigningKey>> {
  requireSharingEverything(ctx);
  return readSigningKeys(ctx.db, ctx.actor.companyId, { ...part, descending: true });
}

/** Deletes a signing key: all that it signed is invalid from the next request on. */
export async function deleteSigningKey(ctx: PrincipalContext, id: string): Promise<void> {
  requireSharingEverything(ctx);
  requireDeniedNowhere(ctx, SHARE_ACTIONS);
  const event = prepareShareEvent(ctx, { type: 'embed.signing_key_deleted', details: { signing_key_id: id } });
  const { deleted, told } = await commit(ctx.db, {
    deleted: deleteRow(ctx.db, ctx.actor.companyId, id),
    told: event.statement,
  });
  if (deleted.length === 0) throw signingKeyNotFound();
  event.send(told);
}

/** Keys by their encrypted secret: one that is replaced or deleted is looked up no more. */
const importedKeys = new RecentlyUsed<string, CryptoKey>(1000);

/** The key itself, for checking its signatures: HMAC with SHA-256 under the UTF-8 bytes of the secret. */
export async function importVerifyingKey(ctx: Context, { id, encryptedSecret }: SigningKey): Promise<CryptoKey> {
  const known = importedKeys.get(encryptedSecret);
  if (known) return known;
  const text = await decrypt(ctx.config.ENCRYPTION_KEYS, encryptedSecret, makeSecretContext(id));
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', new TextEncoder().encode(text), algorithm, false, ['verify']);
  importedKeys.set(encryptedSecret, key);
  return key;
}

/** The number of secrets that are encrypted again at once. */
const REENCRYPTION_BATCH_SIZE = 500;

/** Encrypts secrets under the newest key. For the scheduled run. @returns how many */
export async function reencryptSigningSecrets(ctx: Context): Promise<number> {
  const keys = ctx.config.ENCRYPTION_KEYS;
  const outdated = await selectSigningKeysUnderOlderKey(ctx.db, newestPrefix(keys), REENCRYPTION_BATCH_SIZE);
  const secrets = await Promise.all(
    outdated.map(({ id, encryptedSecret }) => reencrypt(keys, encryptedSecret, makeSecretContext(id))),
  );
  const replaced = outdated.map((old, index) => replaceSigningSecret(ctx.db, old, secrets[index] as string));
  if (replaced.length > 0) await commit(ctx.db, { replaced });
  return replaced.length;
}

const makeSecretContext = (keyId: string) => `embed-signing-key:${keyId}`;
