import { eq, notLike, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { type PageRequest, readPage } from '../../db/page.ts';
import { embedSigningKeys } from '../../db/schema/shares.ts';
import { insertWhen, matchesId } from '../../db/statements.ts';

export type SigningKey = typeof embedSigningKeys.$inferSelect;

/** Adds a key while the company has fewer than `maxKeys`. */
export const insertSigningKey = (db: ControlDb, record: SigningKey, maxKeys: number) =>
  insertWhen(
    db,
    embedSigningKeys,
    record,
    sql`(select count(*) from ${embedSigningKeys} where company_id = ${record.companyId}) < ${maxKeys}`,
  ).returning({ id: embedSigningKeys.id });

export const selectSigningKey = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(embedSigningKeys)
    .where(matchesId(embedSigningKeys, companyId, id));

/** Reads a page of a company's keys. */
export const readSigningKeys = (db: ControlDb, companyId: string, pageRequest: Omit<PageRequest, 'by'>) =>
  readPage(
    db,
    { table: embedSigningKeys, filter: eq(embedSigningKeys.companyId, companyId) },
    { by: embedSigningKeys.createdAt, ...pageRequest },
  );

export const deleteSigningKey = (db: ControlDb, companyId: string, id: string) =>
  db
    .delete(embedSigningKeys)
    .where(matchesId(embedSigningKeys, companyId, id))
    .returning({ id: embedSigningKeys.id });

/** Selects keys, of all companies, whose secret does not begin with the prefix of the newest encryption key. */
export const selectSigningKeysUnderOlderKey = (db: ControlDb, prefix: string, limit: number) =>
  db
    .select()
    .from(embedSigningKeys)
    .where(notLike(embedSigningKeys.encryptedSecret, `${prefix}%`))
    .limit(limit);

/** Stores a secret that was encrypted again under another key. */
export const replaceSigningSecret = (db: ControlDb, { companyId, id }: SigningKey, encryptedSecret: string) =>
  db
    .update(embedSigningKeys)
    .set({ encryptedSecret })
    .where(matchesId(embedSigningKeys, companyId, id));
