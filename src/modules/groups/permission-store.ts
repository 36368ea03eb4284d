import { and, eq, notInArray, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { idList } from '../../db/id-list.ts';
import { insertWhen } from '../../db/insert-when.ts';
import { groupPermissions, groups } from '../../db/schema/groups.ts';
import { type Group, groupLives } from './store.ts';

/** Stores a group if all permissions of some ids are there to be listed on it. */
export const insertGroupWithPermissions = (db: ControlDb, record: Group, permissionIds: string[]) =>
  insertWhen(
    db,
    groups,
    record,
    sql`(select count(*) from permissions where company_id = ${record.companyId} and id in ${idList(permissionIds)}) = ${permissionIds.length}`,
  ).returning({ id: groups.id });

/** Lists permissions on a group, those that are there, while the group lives. */
export const addPermissions = (db: ControlDb, companyId: string, groupId: string, permissionIds: string[]) =>
  db
    .insert(groupPermissions)
    .select(
      sql`select company_id, ${groupId}, id from permissions where company_id = ${companyId} and id in ${idList(permissionIds)} and ${groupLives(companyId, groupId)}`,
    )
    .onConflictDoNothing();

const ofGroup = (companyId: string, groupId: string) =>
  and(eq(groupPermissions.companyId, companyId), eq(groupPermissions.groupId, groupId));

/** Takes permissions from a group. */
export const removePermissions = (db: ControlDb, companyId: string, groupId: string, permissionIds: string[]) =>
  db
    .delete(groupPermissions)
    .where(and(ofGroup(companyId, groupId), sql`${groupPermissions.permissionId} in ${idList(permissionIds)}`));

/** Takes all permissions from a group but some. */
export const keepPermissions = (db: ControlDb, companyId: string, groupId: string, permissionIds: string[]) =>
  db
    .delete(groupPermissions)
    .where(and(ofGroup(companyId, groupId), notInArray(groupPermissions.permissionId, idList(permissionIds))));

/** Notes that a group has changed. */
export const touchGroup = (db: ControlDb, companyId: string, id: string, now: number) =>
  db
    .update(groups)
    .set({ updatedAt: now })
    .where(and(eq(groups.companyId, companyId), eq(groups.id, id)));
