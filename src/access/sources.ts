import { and, eq, inArray, isNull, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import type { ControlDb, Results } from '../db/client.ts';
import { accounts } from '../db/schema/accounts.ts';
import { groupBindings, groupPermissions, groupPolicies, groups } from '../db/schema/groups.ts';
import { permissions, policies } from '../db/schema/policies.ts';
import { findManagedPolicyById } from '../permissions/managed-policies.ts';
import type { Principal } from './actors.ts';
import type { AccessSources, GroupGrants } from './evaluation.ts';

/** Value, or a subquery that finds it in the same batch. */
type ValueOrQuery = string | SQL<string>;

/** The principal whose access is read. A service account's groups count in its own account only. */
export interface AccessSubject {
  companyId: ValueOrQuery;
  principalType: 'user' | 'service_account';
  principalId: ValueOrQuery;
  accountId?: ValueOrQuery;
}

/** Selects a principal's access, for the batch that authenticates the request. */
export function selectAccess(db: ControlDb, accessSubject: AccessSubject) {
  const memberGroupIds = db
    .select({ id: groupBindings.groupId })
    .from(groupBindings)
    .where(isBindingOfPrincipal(accessSubject));
  return selectGrants(db, accessSubject.companyId, memberGroupIds);
}

/** Builds the condition of the bindings through which a principal is in groups. */
export const isBindingOfPrincipal = (accessSubject: AccessSubject): SQL =>
  and(
    eq(groupBindings.companyId, accessSubject.companyId),
    eq(groupBindings.principalType, accessSubject.principalType),
    eq(groupBindings.principalId, accessSubject.principalId),
    accessSubject.accountId === undefined ? undefined : eq(groupBindings.accountId, accessSubject.accountId),
  ) as SQL;

/** Builds a subquery for the id of a company's default account. */
export const selectDefaultAccount = (companyId: string): SQL<string> =>
  sql`(select ${accounts.id} from ${accounts} where ${eq(accounts.companyId, companyId)} and ${accounts.isDefault} = 1 and ${accounts.deletedAt} is null)`;

/** Join that leaves only bindings in a default account; the statement must compare the account's company. */
export const DEFAULT_ACCOUNT_JOIN = sql`cross join ${accounts} on ${accounts.id} = ${groupBindings.accountId} and ${accounts.isDefault}`;

/** Builds the condition of a user's memberships on the console: bindings in the company's default account. */
export const isMembershipOfUser = (companyId: string, userId: string): SQL =>
  isBindingOfPrincipal({
    companyId,
    principalType: 'user',
    principalId: userId,
    accountId: selectDefaultAccount(companyId),
  });

/** Returns the principal of a request, as the subject of `selectAccess`. */
export const getCallerSubject = (actor: Principal): AccessSubject => ({
  companyId: actor.companyId,
  principalType: actor.kind,
  principalId: actor.id,
  ...(actor.kind === 'service_account' && { accountId: actor.accountId }),
});

/** Selects the grants of groups. `groupIds` are their ids, or a subquery for the ids. */
export function selectGrants(db: ControlDb, companyId: ValueOrQuery, groupIds: string[] | SQLWrapper) {
  return {
    groups: db
      .select({ id: groups.id, roles: groups.roles })
      .from(groups)
      .where(and(eq(groups.companyId, companyId), isNull(groups.deletedAt), inArray(groups.id, groupIds))),
    policies: db
      .select({ groupId: groupPolicies.groupId, policyId: groupPolicies.policyId, document: policies.document })
      .from(groupPolicies)
      .leftJoin(policies, and(eq(policies.id, groupPolicies.policyId), eq(policies.companyId, companyId)))
      .where(and(eq(groupPolicies.companyId, companyId), inArray(groupPolicies.groupId, groupIds))),
    permissions: selectPermissions(db, companyId, inArray(groupPermissions.groupId, groupIds)),
  };
}

/** Selects the legacy permissions of groups, limited by a condition on the attachments. */
export const selectPermissions = (db: ControlDb, companyId: ValueOrQuery, attachmentCondition: SQL | undefined) =>
  db
    .select({
      groupId: groupPermissions.groupId,
      id: permissions.id,
      target: permissions.target,
      actions: permissions.actions,
    })
    .from(groupPermissions)
    .innerJoin(
      permissions,
      and(eq(permissions.id, groupPermissions.permissionId), eq(permissions.companyId, companyId)),
    )
    .where(and(eq(groupPermissions.companyId, companyId), attachmentCondition));

/** Rows that the reads of `selectAccess` found. */
export type FoundAccess = Results<ReturnType<typeof selectGrants>>;

/** Converts the rows of `selectAccess` into the evaluator's input. */
export function toAccessSources(companyId: string, isOwner: boolean, foundAccess: FoundAccess): AccessSources {
  const grants: GroupGrants[] = foundAccess.groups.map(({ id, roles }) => ({
    id,
    roles,
    policies: foundAccess.policies
      .filter(({ groupId }) => groupId === id)
      .flatMap(({ policyId, document }) => {
        const foundDocument = document ?? findManagedPolicyById(policyId)?.document;
        return foundDocument ? [{ id: policyId, document: foundDocument }] : [];
      }),
    permissions: foundAccess.permissions.filter(({ groupId }) => groupId === id),
  }));
  return { companyId, isOwner, groups: grants };
}
