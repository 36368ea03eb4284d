import { and, eq, inArray, notInArray, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { groupPermissions, groups } from '../../db/schema/groups.ts';
import { permissions } from '../../db/schema/policies.ts';
import { insertWhen, makeIdListSql, makeUniqueSlugSql, matchesId } from '../../db/statements.ts';
import { type Group, isGroupNotDeleted, makeNameUnlessTakenSql } from './store.ts';

const hasIdAmong = (companyId: string, ids: string[]) =>
  and(eq(permissions.companyId, companyId), inArray(permissions.id, makeIdListSql(ids)));

/**
 * Stores a group if all permissions with these ids exist. With `canChangeSlug`, a taken slug gets a suffix. @param
 * isUniqueInAnyCase whether a name that another group has in any letter case is rejected
 */
export const insertGroup = (
  db: ControlDb,
  record: Group,
  {
    permissionIds = [],
    canChangeSlug = false,
    isUniqueInAnyCase = false,
  }: { permissionIds?: string[]; canChangeSlug?: boolean; isUniqueInAnyCase?: boolean } = {},
) => {
  const name = isUniqueInAnyCase ? makeNameUnlessTakenSql(record) : record.name;
  const slug = canChangeSlug ? makeUniqueSlugSql(groups, record) : record.slug;
  return insertWhen(
    db,
    groups,
    { ...record, name, slug },
    sql`(select count(*) from ${permissions} where ${hasIdAmong(record.companyId, permissionIds)}) = ${permissionIds.length}`,
  ).returning();
};

/** Adds the existing ones of these permissions to a group that is not deleted. */
export const insertGroupPermissions = (db: ControlDb, companyId: string, groupId: string, permissionIds: string[]) =>
  db
    .insert(groupPermissions)
    .select(
      sql`select ${permissions.companyId}, ${groupId}, ${permissions.id} from ${permissions} where ${hasIdAmong(companyId, permissionIds)} and ${isGroupNotDeleted(companyId, groupId)}`,
    )
    .onConflictDoNothing();

const isOfGroup = (companyId: string, groupId: string) =>
  and(eq(groupPermissions.companyId, companyId), eq(groupPermissions.groupId, groupId));

/** Removes permissions from a group. */
export const deleteGroupPermissions = (db: ControlDb, companyId: string, groupId: string, permissionIds: string[]) =>
  db
    .delete(groupPermissions)
    .where(and(isOfGroup(companyId, groupId), inArray(groupPermissions.permissionId, makeIdListSql(permissionIds))));

/** Removes all permissions from a group except the given ones. */
export const deleteOtherGroupPermissions = (
  db: ControlDb,
  companyId: string,
  groupId: string,
  permissionIds: string[],
) =>
  db
    .delete(groupPermissions)
    .where(and(isOfGroup(companyId, groupId), notInArray(groupPermissions.permissionId, makeIdListSql(permissionIds))));

/** Sets a group's time of change to now. */
export const updateGroupChangedAt = (db: ControlDb, companyId: string, id: string, now: number) =>
  db
    .update(groups)
    .set({ updatedAt: now })
    .where(matchesId(groups, companyId, id));
