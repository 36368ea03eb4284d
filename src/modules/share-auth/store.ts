import { and, eq, gt, isNull } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { companies } from '../../db/schema/companies.ts';
import { outsiders } from '../../db/schema/share-contexts.ts';
import { sessions } from '../../db/schema/sign-in.ts';
import { ROTATION_COLUMNS } from '../sessions/queries.ts';

export type Outsider = typeof outsiders.$inferSelect;

/** Records a sign-in of an outsider; the first sign-in creates the outsider. */
export const upsertOutsider = (db: ControlDb, record: Outsider) =>
  db
    .insert(outsiders)
    .values(record)
    .onConflictDoUpdate({
      target: [outsiders.companyId, outsiders.email],
      set: { lastLoginAt: record.lastLoginAt },
    })
    .returning();

export const insertSession = (db: ControlDb, record: typeof sessions.$inferSelect) =>
  db.insert(sessions).values(record);

/** Selects the live session of an outsider's token, with the state of the company. */
export const selectLiveOutsider = (
  db: ControlDb,
  key: { companyId: string; outsiderId: string; sessionId: string },
  now: number,
) =>
  db
    .select({
      outsider: outsiders,
      companySlug: companies.slug,
      suspendedAt: companies.suspendedAt,
      ...ROTATION_COLUMNS,
    })
    .from(sessions)
    .innerJoin(outsiders, and(eq(outsiders.id, sessions.userId), eq(outsiders.companyId, sessions.companyId)))
    .innerJoin(companies, eq(companies.id, sessions.companyId))
    .where(
      and(
        eq(sessions.id, key.sessionId),
        eq(sessions.companyId, key.companyId),
        eq(sessions.userId, key.outsiderId),
        isNull(sessions.endedAt),
        gt(sessions.expiresAt, now),
        eq(outsiders.status, 'active'),
      ),
    );
