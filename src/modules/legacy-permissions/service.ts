import { commitAccess, makeAffectedEverybody } from '../../access/commit-access.ts';
import { findListDenials } from '../../access/denials.ts';
import type { Grants } from '../../access/evaluation.ts';
import { requireMayGrant } from '../../access/grants.ts';
import type { PrincipalContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { retryOnConcurrentChange } from '../../db/failures.ts';
import type { LegacyPermission } from '../../permissions/legacy.ts';
import { foreignPermissionTarget, permissionNotFound } from './failures.ts';
import {
  deletePermission as deleteRecord,
  insertPermission,
  type Permission,
  type PermissionChanges,
  type PermissionSearch,
  readPermissions,
  selectPermission,
  updatePermission,
} from './store.ts';

export { permissionNotFound } from './failures.ts';
export { selectPermissions } from './store.ts';
export type { Permission };

/** Returns a page of the company's permissions. */
export function listPermissions(ctx: PrincipalContext, search: PermissionSearch) {
  return readPermissions(ctx.db, ctx.actor.companyId, findListDenials(ctx.actor, 'permission'), search);
}

/** Returns a permission of the company. */
export async function getPermission(ctx: PrincipalContext, id: string): Promise<Permission> {
  const [permission] = await selectPermission(ctx.db, ctx.actor.companyId, id);
  if (!permission) throw permissionNotFound();
  return permission;
}

/** Creates a permission, which no group has yet. Only the platform's operator may grant one for all companies. */
export async function createPermission(
  ctx: PrincipalContext,
  input: Pick<Permission, 'name' | 'description' | 'target' | 'actions'>,
): Promise<Permission> {
  const now = ctx.now();
  const { companyId } = ctx.actor;
  const record = { ...input, id: ctx.newId(), companyId, createdAt: now, updatedAt: now };
  requireOwnTarget(ctx, record.target);
  requireMayGrant(ctx.actor, toGrants(companyId, record));
  await commit(ctx.db, { inserted: insertPermission(ctx.db, record) });
  return record;
}

/** Changes the fields that are sent; this takes effect in every group that has the permission. */
export async function changePermission(
  ctx: PrincipalContext,
  id: string,
  changes: PermissionChanges,
): Promise<Permission> {
  const { companyId } = ctx.actor;
  if (changes.target) requireOwnTarget(ctx, changes.target);
  return retryOnConcurrentChange(async () => {
    const storedPermission = await getPermission(ctx, id);
    requireMayGrant(
      ctx.actor,
      toGrants(companyId, { ...storedPermission, ...changes }),
      toGrants(companyId, storedPermission),
    );
    const { updated, found } = await commitAccess(ctx, makeAffectedEverybody(companyId), {
      updated: updatePermission(ctx.db, storedPermission, { ...changes, updatedAt: ctx.now() }),
      found: selectPermission(ctx.db, companyId, id),
    });
    return updated.length > 0 ? found[0] : undefined;
  });
}

/** Deletes a permission, and removes it from every group. */
export async function deletePermission(ctx: PrincipalContext, id: string): Promise<void> {
  const { deleted } = await commitAccess(
    ctx,
    makeAffectedEverybody(ctx.actor.companyId),
    deleteRecord(ctx.db, ctx.actor.companyId, id, ctx.now()),
  );
  if (deleted.length === 0) throw permissionNotFound();
}

function requireOwnTarget(ctx: PrincipalContext, target: LegacyPermission['target']): void {
  if (target.company_id !== ctx.actor.companyId) throw foreignPermissionTarget();
}

const toGrants = (companyId: string, permission: LegacyPermission): Grants => ({
  companyId,
  groups: [{ id: 'new', policies: [], roles: [], permissions: [permission] }],
});
