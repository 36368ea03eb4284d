import type { ControlDb } from '../../db/client.ts';
import { groupBindings, groupPolicies, groups } from './tables.ts';

export type Group = typeof groups.$inferSelect;
export type GroupBinding = typeof groupBindings.$inferSelect;

export const insertGroup = (db: ControlDb, record: Group) => db.insert(groups).values(record);

export const insertBinding = (db: ControlDb, record: GroupBinding) => db.insert(groupBindings).values(record);

export const attachPolicy = (db: ControlDb, companyId: string, groupId: string, policyId: string) =>
  db.insert(groupPolicies).values({ companyId, groupId, policyId }).onConflictDoNothing();
