import type { CompanyContext, Context } from '../../context.ts';
import { newSecretToken } from '../../kernel/ids.ts';
import { decrypt, encrypt, getNewestPrefix, reencrypt } from '../../platform/cipher.ts';
import type { ProvisioningRecord } from './provisioning.ts';
import * as store from './store.ts';

const makeEncryptionContext = (companyId: string) => `tenant-sql:${companyId}`;

/** Creates the cipher for a company's connection strings, bound to the company: another company cannot decrypt them. */
export function createConnectionCipher({ config, actor }: CompanyContext) {
  const context = makeEncryptionContext(actor.companyId);
  return {
    encrypt: (text: string) => encrypt(config.ENCRYPTION_KEYS, text, context),
    decrypt: (text: string) => decrypt(config.ENCRYPTION_KEYS, text, context),
  };
}

/** Creates the record of one provisioning call in the control database. The company's row must exist. */
export function createProvisioningRecord(ctx: CompanyContext): ProvisioningRecord {
  const { companyId } = ctx.actor;
  const cipher = createConnectionCipher(ctx);
  const token = newSecretToken();
  return {
    async readFinishedConnection() {
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
      return store.takeLease(ctx.db, companyId, { token, now, leaseUntil: now + milliseconds });
    },
    async storeReaderPassword(candidate) {
      return cipher.decrypt(await store.storeReaderPassword(ctx.db, companyId, await cipher.encrypt(candidate)));
    },
    async storeConnection(connection) {
      const [ownerConnection, readonlyConnection] = await Promise.all([
        cipher.encrypt(connection.ownerConnectionString),
        cipher.encrypt(connection.readonlyConnectionString),
      ]);
      return store.storeConnection(ctx.db, companyId, token, {
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

/** The maximum number of companies whose connections one scheduled run re-encrypts. */
const REENCRYPTION_BATCH_SIZE = 200;

/** Re-encrypts outdated connections under the newest key. @returns the number of companies */
export async function reencryptConnections(ctx: Context): Promise<number> {
  const keys = ctx.config.ENCRYPTION_KEYS;
  const outdatedRows = await store.readRowsUnderOlderKey(ctx.db, getNewestPrefix(keys), REENCRYPTION_BATCH_SIZE);
  for (const outdatedRow of outdatedRows) {
    const { companyId } = outdatedRow;
    const context = makeEncryptionContext(companyId);
    const [ownerConnection, readonlyConnection, readerPassword] = await Promise.all(
      [outdatedRow.ownerConnection, outdatedRow.readonlyConnection, outdatedRow.readerPassword].map((text) =>
        reencrypt(keys, text, context),
      ),
    );
    await store.replaceEncryptedConnections(ctx.db, outdatedRow, {
      companyId,
      ownerConnection: ownerConnection ?? null,
      readonlyConnection: readonlyConnection ?? null,
      readerPassword: readerPassword ?? null,
    });
  }
  return outdatedRows.length;
}
