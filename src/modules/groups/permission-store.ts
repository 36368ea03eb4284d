import { and, eq, inArray, notInArray, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { groupPermissions, groups } from '../../db/schema/groups.ts';
import { permissions } from '../../db/schema/policies.ts';
import { byId, idList, insertWhen, slugOrSuffixed } from '../../db/statements.ts';
import { type Group, groupLives, nameUnlessTaken } from './store.ts';

const those = (companyId: string, ids: string[]) =>
  and(eq(permissions.companyId, companyId), inArray(permissions.id, idList(ids)));

/**
 * Stores a group if all permissions of some ids are there to be listed on it. Its slug gets a suffix where it may, when it
 * is taken at that moment.
 * @param isUniqueInAnyCase whether it is refused where another one has its name in another case
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
  const slug = canChangeSlug ? slugOrSuffixed(groups, record) : record.slug;
  return insertWhen(
    db,
    groups,
    { ...record, name, slug },
    sql`(select count(*) from ${permissions} where ${those(record.companyId, permissionIds)}) = ${permissionIds.length}`,
  ).returning();
};

/** Lists permissions on a living group: those that are there. */
export const insertGroupPermissions = (db: ControlDb, companyId: string, groupId: string, permissionIds: string[]) =>
  db
    .insert(groupPermissions)
    .select(
      sql`select ${permissions.companyId}, ${groupId}, ${permissions.id} from ${permissions} where ${those(companyId, permissionIds)} and ${groupLives(companyId, groupId)}`,
    )
    .onConflictDoNothing();

const ofGroup = (companyId: string, groupId: string) =>
  and(eq(groupPermissions.companyId, companyId), eq(groupPermissions.groupId, groupId));

/** Removes permissions from a group. */
export const deleteGroupPermissions = (db: ControlDb, companyId: string, groupId: string, permissionIds: string[]) =>
  db
    .delete(groupPermissions)
    .where(and(ofGroup(companyId, groupId), inArray(groupPermissions.permissionId, idList(permissionIds))));

/** Removes all permissions from a group but some. */
export const deleteOtherGroupPermissions = (
  db: ControlDb,
  companyId: string,
  groupId: string,
  permissionIds: string[],
) =>
  db
    .delete(groupPermissions)
    .where(and(ofGroup(companyId, groupId), notInArray(groupPermissions.permissionId, idList(permissionIds))));

/** Records that a group has changed. */
export const touchGroup = (db: ControlDb, companyId: string, id: string, now: number) =>
  db
    .update(groups)
    .set({ updatedAt: now })
    .where(byId(groups, companyId, id));
