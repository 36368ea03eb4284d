import { and, eq, inArray, notInArray, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { groupPermissions, groups } from '../../db/schema/groups.ts';
import { permissions } from '../../db/schema/policies.ts';
import { byId, idListSql, insertWhen, slugOrSuffixedSql } from '../../db/statements.ts';
import { type Group, isGroupLiving, nameUnlessTaken } from './store.ts';

const hasIdAmong = (companyId: string, ids: string[]) =>
  and(eq(permissions.companyId, companyId), inArray(permissions.id, idListSql(ids)));

/**
 * Stores a group if all permissions with these ids exist. With `canChangeSlug`, a slug that is taken gets a suffix.
 * @param isUniqueInAnyCase whether a name that another group has in any letter case is rejected
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
  const name = isUniqueInAnyCase ? nameUnlessTaken(record) : record.name;
  const slug = canChangeSlug ? slugOrSuffixedSql(groups, record) : record.slug;
  return insertWhen(
    db,
    groups,
    { ...record, name, slug },
    sql`(select count(*) from ${permissions} where ${hasIdAmong(record.companyId, permissionIds)}) = ${permissionIds.length}`,
  ).returning();
};

/** Adds those permissions that exist to a group that is not deleted. */
export const insertGroupPermissions = (db: ControlDb, companyId: string, groupId: string, permissionIds: string[]) =>
  db
    .insert(groupPermissions)
    .select(
      sql`select ${permissions.companyId}, ${groupId}, ${permissions.id} from ${permissions} where ${hasIdAmong(companyId, permissionIds)} and ${isGroupLiving(companyId, groupId)}`,
    )
    .onConflictDoNothing();

const isOfGroup = (companyId: string, groupId: string) =>
  and(eq(groupPermissions.companyId, companyId), eq(groupPermissions.groupId, groupId));

/** Removes permissions from a group. */
export const deleteGroupPermissions = (db: ControlDb, companyId: string, groupId: string, permissionIds: string[]) =>
  db
    .delete(groupPermissions)
    .where(and(isOfGroup(companyId, groupId), inArray(groupPermissions.permissionId, idListSql(permissionIds))));

/** Removes all permissions from a group but some. */
export const deleteOtherGroupPermissions = (
  db: ControlDb,
  companyId: string,
  groupId: string,
  permissionIds: string[],
) =>
  db
    .delete(groupPermissions)
    .where(and(isOfGroup(companyId, groupId), notInArray(groupPermissions.permissionId, idListSql(permissionIds))));

/** Records that a group has changed. */
export const touchGroup = (db: ControlDb, companyId: string, id: string, now: number) =>
  db
    .update(groups)
    .set({ updatedAt: now })
    .where(byId(groups, companyId, id));
