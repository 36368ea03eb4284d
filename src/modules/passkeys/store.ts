import { and, asc, eq, lt, lte, ne, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { passkeys, spentPasskeyChallenges } from '../../db/schema/passkeys.ts';
import { users } from '../../db/schema/users.ts';
import { HAS_CHANGED_ROWS, insertWhen, matchesId } from '../../db/statements.ts';

export type Passkey = typeof passkeys.$inferSelect;

/** The maximum number of passkeys of one user. */
export const MAX_PASSKEYS = 20;

type PasskeyOwner = Pick<Passkey, 'companyId' | 'userId'>;

const isOfUser = ({ companyId, userId }: PasskeyOwner): SQL =>
  and(eq(passkeys.companyId, companyId), eq(passkeys.userId, userId)) as SQL;

/** Selects a user's passkeys, the oldest first. */
export const selectPasskeys = (db: ControlDb, owner: PasskeyOwner) =>
  db.select().from(passkeys).where(isOfUser(owner)).orderBy(asc(passkeys.createdAt), asc(passkeys.id));

/** Selects one of a user's passkeys. */
export const selectPasskey = (db: ControlDb, owner: PasskeyOwner, id: string) =>
  db
    .select()
    .from(passkeys)
    .where(and(isOfUser(owner), eq(passkeys.id, id)));

const isOfCredential = (companyId: string, credentialId: string) =>
  and(eq(passkeys.companyId, companyId), eq(passkeys.credentialId, credentialId));

/** Selects the passkey of a credential, and its user unless deleted. */
export const selectPasskeyByCredential = (db: ControlDb, companyId: string, credentialId: string) => ({
  passkey: db.select().from(passkeys).where(isOfCredential(companyId, credentialId)),
  user: db
    .select()
    .from(users)
    .where(
      and(
        eq(users.companyId, companyId),
        sql`${users.id} in (select ${passkeys.userId} from ${passkeys} where ${isOfCredential(companyId, credentialId)})`,
        sql`${users.deletedAt} is null`,
      ),
    ),
});

/** Records that a challenge was answered: a second time violates the primary key. @param condition a further condition */
export const insertSpentChallenge = (
  db: ControlDb,
  challenge: typeof spentPasskeyChallenges.$inferSelect,
  condition: SQL = sql`true`,
) => insertWhen(db, spentPasskeyChallenges, challenge, condition);

export const deleteOldChallenges = (db: ControlDb, now: number) =>
  db.delete(spentPasskeyChallenges).where(lte(spentPasskeyChallenges.expiresAt, now));

/** Stores a passkey if the previous statement changed a row, and its user has fewer than the maximum. */
export const insertPasskey = (db: ControlDb, record: Passkey) =>
  insertWhen(
    db,
    passkeys,
    record,
    sql`${HAS_CHANGED_ROWS} and (select count(*) from ${passkeys} where ${isOfUser(record)}) < ${MAX_PASSKEYS}`,
  );

/** Renames a user's passkey, unless it has this name already. */
export const renamePasskey = (db: ControlDb, owner: PasskeyOwner, id: string, name: string) =>
  db
    .update(passkeys)
    .set({ name })
    .where(and(isOfUser(owner), eq(passkeys.id, id), ne(passkeys.name, name)));

/** Deletes a user's passkey, if the previous statement changed a row. */
export const deletePasskey = (db: ControlDb, owner: PasskeyOwner, id: string) =>
  db.delete(passkeys).where(and(isOfUser(owner), eq(passkeys.id, id), HAS_CHANGED_ROWS));

/** Records a use if the counter is higher than the stored one, or both are 0; otherwise the passkey was copied. */
export const recordPasskeyUse = (
  db: ControlDb,
  { companyId, id }: Passkey,
  use: { counter: number; isBackedUp: boolean; lastUsedAt: number },
) =>
  db
    .update(passkeys)
    .set(use)
    .where(
      and(
        matchesId(passkeys, companyId, id),
        use.counter === 0 ? eq(passkeys.counter, 0) : lt(passkeys.counter, use.counter),
      ),
    );
