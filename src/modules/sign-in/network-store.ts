import { and, eq, gte, isNull, lt } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { signInNetworks } from '../../db/schema/sign-in.ts';
import { users } from '../../db/schema/users.ts';
import { HAS_CHANGED_ROWS, insertWhen } from '../../db/statements.ts';

/** Selects a row if the user of an email has signed in from a network since a time. */
export const selectKnownNetwork = (
  db: ControlDb,
  { companyId, email, network, since }: { companyId: string; email: string; network: string; since: number },
) =>
  db
    .select({ network: signInNetworks.network })
    .from(signInNetworks)
    .innerJoin(users, and(eq(users.id, signInNetworks.userId), eq(users.companyId, signInNetworks.companyId)))
    .where(
      and(
        eq(signInNetworks.companyId, companyId),
        eq(signInNetworks.network, network),
        gte(signInNetworks.signedInAt, since),
        eq(users.email, email),
        isNull(users.deletedAt),
      ),
    );

/** Records the network of a sign-in, if the statement before it in the batch changed a row. */
export const recordNetwork = (db: ControlDb, record: typeof signInNetworks.$inferSelect) =>
  insertWhen(db, signInNetworks, record, HAS_CHANGED_ROWS).onConflictDoUpdate({
    target: [signInNetworks.userId, signInNetworks.network],
    set: { signedInAt: record.signedInAt },
  });

export const deleteOldNetworks = (db: ControlDb, cutoff: number) =>
  db.delete(signInNetworks).where(lt(signInNetworks.signedInAt, cutoff));
