import { and, eq, inArray, type SQL } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { isNotDenied } from '../../db/denials.ts';
import { readPage, type SearchRequest } from '../../db/page.ts';
import { groupPermissions, groups } from '../../db/schema/groups.ts';
import { permissions } from '../../db/schema/policies.ts';
import { makeContainsSql, makeNocaseSql } from '../../db/search.ts';
import { makeIdListSql, matchesId } from '../../db/statements.ts';
import type { Denials } from '../../permissions/denials.ts';

export type Permission = typeof permissions.$inferSelect;

export const insertPermission = (db: ControlDb, record: Permission) => db.insert(permissions).values(record);

export const selectPermission = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(permissions)
    .where(matchesId(permissions, companyId, id));

/** Selects the permissions of a company with some ids. */
export const selectPermissions = (db: ControlDb, companyId: string, ids: string[]) =>
  db
    .select()
    .from(permissions)
    .where(and(eq(permissions.companyId, companyId), inArray(permissions.id, makeIdListSql(ids))));

const ORDER_COLUMNS = { name: makeNocaseSql(permissions.name), created_at: permissions.createdAt };

export type PermissionSearch = SearchRequest<keyof typeof ORDER_COLUMNS>;

/** Reads a page of a company's permissions, without denied ones. */
export const readPermissions = (
  db: ControlDb,
  companyId: string,
  denials: Denials,
  { search, ...page }: PermissionSearch,
) =>
  readPage(
    db,
    {
      table: permissions,
      filter: and(
        eq(permissions.companyId, companyId),
        makeContainsSql([permissions.name], search),
        isNotDenied(permissions.id, denials),
      ) as SQL,
    },
    { ...page, by: ORDER_COLUMNS[page.by] },
  );

export type PermissionChanges = Partial<Pick<Permission, 'name' | 'description' | 'target' | 'actions'>>;

/** Changes a permission that still grants the same as `previousPermission`. */
export const updatePermission = (
  db: ControlDb,
  previousPermission: Pick<Permission, 'companyId' | 'id' | 'target' | 'actions'>,
  changes: PermissionChanges & { updatedAt: number },
) =>
  db
    .update(permissions)
    .set(changes)
    .where(
      and(
        matchesId(permissions, previousPermission.companyId, previousPermission.id),
        eq(permissions.target, previousPermission.target),
        eq(permissions.actions, previousPermission.actions),
      ),
    )
    .returning({ id: permissions.id });

/** Deletes a permission, and removes it from every group, whose time of change is now. */
export const deletePermission = (db: ControlDb, companyId: string, id: string, now: number) => ({
  changedGroups: db
    .update(groups)
    .set({ updatedAt: now })
    .where(
      and(
        eq(groups.companyId, companyId),
        inArray(
          groups.id,
          db
            .select({ id: groupPermissions.groupId })
            .from(groupPermissions)
            .where(and(eq(groupPermissions.companyId, companyId), eq(groupPermissions.permissionId, id))),
        ),
      ),
    ),
  deleted: db
    .delete(permissions)
    .where(matchesId(permissions, companyId, id))
    .returning({ id: permissions.id }),
  fromGroups: db
    .delete(groupPermissions)
    .where(and(eq(groupPermissions.companyId, companyId), eq(groupPermissions.permissionId, id))),
});
