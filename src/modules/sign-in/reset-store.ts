import { and, eq, isNull } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { passwordResets } from '../../db/schema/sign-in.ts';

/** Ends the links to reset a user's password. */
export const endResets = (db: ControlDb, { companyId, id }: { companyId: string; id: string }, now: number) =>
  db
    .update(passwordResets)
    .set({ usedAt: now })
    .where(and(eq(passwordResets.companyId, companyId), eq(passwordResets.userId, id), isNull(passwordResets.usedAt)));
