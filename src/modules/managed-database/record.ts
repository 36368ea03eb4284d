import type { CompanyContext, Context } from '../../context.ts';
import { newSecretToken } from '../../kernel/ids.ts';
import { decrypt, encrypt, newestPrefix, reencrypt } from '../../platform/cipher.ts';
import type { ProvisioningRecord } from './provisioning.ts';
import * as store from './store.ts';

const makeEncryptionContext = (companyId: string) => `tenant-sql:${companyId}`;

/** Encrypts a company's connection strings, bound to the company: they do not decrypt for another one. */
export function createConnectionCipher({ config, actor }: CompanyContext) {
  const context = makeEncryptionContext(actor.companyId);
  return {
    encrypt: (text: string) => encrypt(config.ENCRYPTION_KEYS, text, context),
    decrypt: (text: string) => decrypt(config.ENCRYPTION_KEYS, text, context),
  };
}

/** The record of one call of provisioning in the control database. The company's row must exist. */
export function createProvisioningRecord(ctx: CompanyContext): ProvisioningRecord {
  const { companyId } = ctx.actor;
  const cipher = createConnectionCipher(ctx);
  const token = newSecretToken();
  return {
    async finished() {
      const row = await store.readDatabase(ctx.db, companyId);
      if (row?.status !== 'ready') return null;
      const { neonProjectId, ownerConnection, readonlyConnection, migrationsVersion } = row;
      if (neonProjectId === null || ownerConnection === null || readonlyConnection === null) return null;
      const [ownerConnectionString, readonlyConnectionString] = await Promise.all([
        cipher.decrypt(ownerConnection),
        cipher.decrypt(readonlyConnection),
      ]);
      return {
        projectId: neonProjectId,
        ownerConnectionString,
        readonlyConnectionString,
        schemaVersion: migrationsVersion,
      };
    },
    acquireLease(milliseconds) {
      const now = ctx.now();
      return store.takeLease(ctx.db, companyId, { token, now, until: now + milliseconds });
    },
    async keepReaderPassword(candidate) {
      return cipher.decrypt(await store.keepReaderPassword(ctx.db, companyId, await cipher.encrypt(candidate)));
    },
    async finish(connection) {
      const [ownerConnection, readonlyConnection] = await Promise.all([
        cipher.encrypt(connection.ownerConnectionString),
        cipher.encrypt(connection.readonlyConnectionString),
      ]);
      return store.recordReady(ctx.db, companyId, token, {
        neonProjectId: connection.projectId,
        ownerConnection,
        readonlyConnection,
        migrationsVersion: connection.schemaVersion,
        updatedAt: ctx.now(),
      });
    },
    releaseLease: () => store.releaseLease(ctx.db, companyId, token),
  };
}

/** The maximum number of companies whose connections one scheduled run encrypts again. */
const RENEWED_PER_BATCH = 200;

/** Encrypts outdated connections under the newest key. @returns the number of companies */
export async function renewConnections(ctx: Context): Promise<number> {
  const keys = ctx.config.ENCRYPTION_KEYS;
  const outdated = await store.readNotEncryptedUnder(ctx.db, newestPrefix(keys), RENEWED_PER_BATCH);
  for (const old of outdated) {
    const { companyId } = old;
    const context = makeEncryptionContext(companyId);
    const [ownerConnection, readonlyConnection, readerPassword] = await Promise.all(
      [old.ownerConnection, old.readonlyConnection, old.readerPassword].map((text) => reencrypt(keys, text, context)),
    );
    await store.replaceEncrypted(ctx.db, old, {
      companyId,
      ownerConnection: ownerConnection ?? null,
      readonlyConnection: readonlyConnection ?? null,
      readerPassword: readerPassword ?? null,
    });
  }
  return outdated.length;
}
