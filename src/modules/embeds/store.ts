import { eq, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { embedKeys } from '../../db/schema/shares.ts';

/** How often a company has rotated its key; no row when never. */
export const selectRotations = (db: ControlDb, companyId: string) =>
  db.select({ rotations: embedKeys.rotations }).from(embedKeys).where(eq(embedKeys.companyId, companyId));

/** Rotates a company's key once more. */
export const incrementRotations = (db: ControlDb, companyId: string) =>
  db
    .insert(embedKeys)
    .values({ companyId, rotations: 1 })
    .onConflictDoUpdate({ target: embedKeys.companyId, set: { rotations: sql`${embedKeys.rotations} + 1` } });
