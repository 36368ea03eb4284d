import { and, eq, inArray, type SQL } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { isNotDenied } from '../../db/denials.ts';
import { readPage, type SearchRequest } from '../../db/page.ts';
import { groupPermissions } from '../../db/schema/groups.ts';
import { permissions } from '../../db/schema/policies.ts';
import { containsSql, ignoreCase } from '../../db/search.ts';
import { byId, idListSql } from '../../db/statements.ts';
import type { Denials } from '../../permissions/denials.ts';

export type Permission = typeof permissions.$inferSelect;

export const insertPermission = (db: ControlDb, record: Permission) => db.insert(permissions).values(record);

export const selectPermission = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(permissions)
    .where(byId(permissions, companyId, id));

/** Reads the permissions of a company with some ids. */
export const selectPermissions = (db: ControlDb, companyId: string, ids: string[]) =>
  db
    .select()
    .from(permissions)
    .where(and(eq(permissions.companyId, companyId), inArray(permissions.id, idListSql(ids))));

const ORDER_COLUMNS = { name: ignoreCase(permissions.name), created_at: permissions.createdAt };

export type PermissionSearch = SearchRequest<keyof typeof ORDER_COLUMNS>;

/** A page of a company's permissions, without those that are denied. */
export const readPermissions = (
  db: ControlDb,
  companyId: string,
  denied: Denials,
  { search, ...page }: PermissionSearch,
) =>
  readPage(
    db,
    {
      table: permissions,
      filter: and(
        eq(permissions.companyId, companyId),
        containsSql([permissions.name], search),
        isNotDenied(permissions.id, denied),
      ) as SQL,
    },
    { ...page, by: ORDER_COLUMNS[page.by] },
  );

export type PermissionChanges = Partial<Pick<Permission, 'name' | 'description' | 'target' | 'actions'>>;

/** Changes a permission that still grants the same as `before`. */
export const updatePermission = (
  db: ControlDb,
  before: Pick<Permission, 'companyId' | 'id' | 'target' | 'actions'>,
  set: PermissionChanges & { updatedAt: number },
) =>
  db
    .update(permissions)
    .set(set)
    .where(
      and(
        byId(permissions, before.companyId, before.id),
        eq(permissions.target, before.target),
        eq(permissions.actions, before.actions),
      ),
    )
    .returning({ id: permissions.id });

/** Deletes a permission, and removes it from every group. */
export const deletePermission = (db: ControlDb, companyId: string, id: string) => ({
  deleted: db
    .delete(permissions)
    .where(byId(permissions, companyId, id))
    .returning({ id: permissions.id }),
  fromGroups: db
    .delete(groupPermissions)
    .where(and(eq(groupPermissions.companyId, companyId), eq(groupPermissions.permissionId, id))),
});
