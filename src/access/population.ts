import { and, eq, inArray, isNull, or, type SQL, sql } from 'drizzle-orm';
import { type ControlDb, readTogether } from '../db/client.ts';
import { isNotDenied } from '../db/denials.ts';
import type { Query } from '../db/dry-run-session.ts';
import { accounts } from '../db/schema/accounts.ts';
import { groupBindings, groupPermissions, groupPolicies, groups } from '../db/schema/groups.ts';
import { policies } from '../db/schema/policies.ts';
import { serviceAccounts } from '../db/schema/service-accounts.ts';
import { users } from '../db/schema/users.ts';
import { makeIdListSql } from '../db/statements.ts';
import { splitIntoParts } from '../kernel/parts.ts';
import { findManagedPolicyById } from '../permissions/managed-policies.ts';
import type { PolicyDocument } from '../permissions/policy-document.ts';
import type { Principal } from './actors.ts';
import { findReadDenials } from './denials.ts';
import { type Access, compileAccess, type GroupGrants } from './evaluation.ts';
import { selectGrants, selectPermissions } from './sources.ts';

/** An active user or service account in an active account. */
export interface NamedPrincipal {
  type: Principal['kind'];
  id: string;
  name: string;
}

/** Set of groups that principals are in: one decision serves all principals of the same set. `groups` is sorted JSON. */
export interface GroupSet {
  isOwner: number;
  groups: string;
}

export const parseGroups = ({ groups: text }: GroupSet): string[] => JSON.parse(text);

/** Selects the active principals that the caller may see, with their groups: of users, those in all their accounts. */
function selectActivePrincipals(caller: Principal): SQL {
  const { companyId } = caller;
  const isVisibleUser = isNotDenied(users.id, findReadDenials(caller, 'user'));
  const isVisibleAccount = isNotDenied(serviceAccounts.id, findReadDenials(caller, 'named_service_account'));
  const isActiveUser = and(
    eq(users.companyId, companyId),
    isNull(users.deletedAt),
    eq(users.isActive, true),
    isVisibleUser,
  );
  const isActiveServiceAccount = and(
    eq(serviceAccounts.companyId, companyId),
    isNull(serviceAccounts.deletedAt),
    eq(serviceAccounts.isActive, true),
    isVisibleAccount,
  );
  return sql`(
    select 'user' as type, ${users.id} as id, ${users.name} as name, ${users.isOwner} as "isOwner",
      ${makeGroupsJsonSql(companyId, 'user', sql`${users.id}`)} as groups
    from ${users} where ${isActiveUser}
    union all
    select 'service_account', ${serviceAccounts.id}, ${serviceAccounts.name}, 0,
      ${makeGroupsJsonSql(companyId, 'service_account', sql`${serviceAccounts.id}`, sql`${serviceAccounts.accountId}`)}
    from ${serviceAccounts}
    join ${accounts} on ${and(eq(accounts.id, serviceAccounts.accountId), eq(accounts.companyId, companyId), eq(accounts.isActive, true), isNull(accounts.deletedAt))}
    where ${isActiveServiceAccount}
  )`;
}

const makeGroupsJsonSql = (companyId: string, type: Principal['kind'], id: SQL, accountId?: SQL): SQL => sql`(
  select json_group_array(id) from (
    select distinct ${groups.id} as id from ${groupBindings}
    join ${groups} on ${and(eq(groups.id, groupBindings.groupId), eq(groups.companyId, companyId), isNull(groups.deletedAt))}
    where ${and(
      eq(groupBindings.companyId, companyId),
      eq(groupBindings.principalType, type),
      eq(groupBindings.principalId, id),
      accountId && eq(groupBindings.accountId, accountId),
    )}
    order by 1))`;

/** Counts the principals of each set of groups, owners apart: principals with the same groups have the same access. */
export const countGroupSets = (db: ControlDb, caller: Principal): Promise<(GroupSet & { count: number })[]> =>
  db.all(
    sql`select "isOwner", groups, count(*) as count from ${selectActivePrincipals(caller)} group by "isOwner", groups`,
  );

/** Reads a page of the principals with one of the sets of groups: users first, by name. */
export const readPrincipalsOfGroupSets = (
  db: ControlDb,
  caller: Principal,
  groupSets: readonly GroupSet[],
  { page, perPage }: { page: number; perPage: number },
): Promise<(NamedPrincipal & GroupSet)[]> => {
  const wantedKeys = JSON.stringify(groupSets.map(makeGroupSetKey));
  return db.all(sql`select * from ${selectActivePrincipals(caller)} where "isOwner" || groups in (select value from json_each(${wantedKeys}))
    order by type desc, name collate nocase, id limit ${perPage} offset ${(page - 1) * perPage}`);
};

/** Reads a page of the principals who are in one of the groups or are named by id, ordered for paging only. */
export const readAffectedPrincipals = (
  db: ControlDb,
  caller: Principal,
  { groupIds, principalIds }: { groupIds: readonly string[]; principalIds: readonly string[] },
  { page, perPage }: { page: number; perPage: number },
): Promise<(NamedPrincipal & GroupSet)[]> => {
  const groupMembers = sql`select ${groupBindings.principalId} from ${groupBindings} where ${and(
    eq(groupBindings.companyId, caller.companyId),
    inArray(groupBindings.groupId, makeIdListSql(groupIds)),
  )}`;
  return db.all(sql`select * from ${selectActivePrincipals(caller)} where id in (${groupMembers} union select value from ${makeIdListSql(principalIds)})
    order by type desc, name collate nocase, id limit ${perPage} offset ${(page - 1) * perPage}`);
};

export const makeGroupSetKey = ({ isOwner, groups: text }: GroupSet): string => `${isOwner}${text}`;

/** Number of documents that are read at once: a megabyte at most. */
const DOCUMENTS_PER_BATCH = 50;

/** Reads the grants and denials of groups by id. `filterDocument` selects the parts of a document to hold in memory. */
export async function readGrants(
  db: ControlDb,
  companyId: string,
  groupIds: readonly string[],
  filterDocument: (document: PolicyDocument) => PolicyDocument = (document) => document,
): Promise<Map<string, GroupGrants>> {
  const ids = makeIdListSql(groupIds);
  const reads = selectGrants(db, companyId, ids);
  const foundRows = await readTogether(db, {
    groups: reads.groups,
    permissions: reads.permissions,
    attached: db
      .select({ groupId: groupPolicies.groupId, policyId: groupPolicies.policyId })
      .from(groupPolicies)
      .where(and(eq(groupPolicies.companyId, companyId), inArray(groupPolicies.groupId, ids))),
  });
  const policyIds = [...new Set(foundRows.attached.map(({ policyId }) => policyId))];
  const documents = await readDocuments(db, companyId, policyIds, filterDocument);
  const attachmentsByGroup = Map.groupBy(foundRows.attached, ({ groupId }) => groupId);
  const permissionsByGroup = Map.groupBy(foundRows.permissions, ({ groupId }) => groupId);
  return new Map(
    foundRows.groups.map(({ id, roles }) => {
      const groupDocuments = (attachmentsByGroup.get(id) ?? []).flatMap(({ policyId }) => {
        const document = documents.get(policyId);
        return document ? [{ id: policyId, document }] : [];
      });
      return [id, { id, roles, policies: groupDocuments, permissions: permissionsByGroup.get(id) ?? [] }];
    }),
  );
}

/** Reads the documents of policies, managed ones included. */
async function readDocuments(
  db: ControlDb,
  companyId: string,
  ids: readonly string[],
  filterDocument: (document: PolicyDocument) => PolicyDocument,
): Promise<Map<string, PolicyDocument>> {
  const documents = new Map<string, PolicyDocument>();
  const ownPolicyIds = ids.filter((id) => {
    const managedPolicy = findManagedPolicyById(id);
    if (managedPolicy) documents.set(id, filterDocument(managedPolicy.document));
    return !managedPolicy;
  });
  for (const idBatch of splitIntoParts(ownPolicyIds, DOCUMENTS_PER_BATCH, () => 1)) {
    const foundPolicies = await db
      .select({ id: policies.id, document: policies.document })
      .from(policies)
      .where(and(eq(policies.companyId, companyId), inArray(policies.id, makeIdListSql(idBatch))));
    for (const { id, document } of foundPolicies) documents.set(id, filterDocument(document));
  }
  return documents;
}

/** Creates a function that compiles a principal's access from its groups, each of which is compiled only once. */
export function createAccessCompiler(
  companyId: string,
  grants: ReadonlyMap<string, GroupGrants>,
): (groupSet: GroupSet) => Access {
  const compiledGroups = new Map<string, Access['groups']>();
  const findGroup = (id: string): Access['groups'] => {
    const group = grants.get(id);
    const knownGroup =
      compiledGroups.get(id) ?? (group ? compileAccess({ companyId, isOwner: false, groups: [group] }).groups : []);
    compiledGroups.set(id, knownGroup);
    return knownGroup;
  };
  return (groupSet) => ({
    ...compileAccess({ companyId, isOwner: groupSet.isOwner === 1, groups: [] }),
    groups: parseGroups(groupSet).flatMap(findGroup),
  });
}

/** Builds queries for the access data that names one of the ids: all that changing these records can affect. */
export function buildNamingQueries(db: ControlDb, companyId: string, ids: readonly string[]): Query[] {
  const namedIds = makeIdListSql(ids);
  const selectText = (column: unknown) => sql<string>`${column}`;
  const reads = [
    db
      .select({ id: groups.id, roles: selectText(groups.roles) })
      .from(groups)
      .where(and(eq(groups.companyId, companyId), inArray(groups.id, namedIds), isNull(groups.deletedAt))),
    db
      .select({ groupId: groupPolicies.groupId, policyId: groupPolicies.policyId })
      .from(groupPolicies)
      .where(
        and(
          eq(groupPolicies.companyId, companyId),
          or(inArray(groupPolicies.groupId, namedIds), inArray(groupPolicies.policyId, namedIds)),
        ),
      ),
    selectPermissions(
      db,
      companyId,
      or(inArray(groupPermissions.groupId, namedIds), inArray(groupPermissions.permissionId, namedIds)),
    ),
    db
      .select({ id: policies.id, document: policies.document })
      .from(policies)
      .where(and(eq(policies.companyId, companyId), inArray(policies.id, namedIds))),
    db
      .select({ groupId: groupBindings.groupId, principalId: groupBindings.principalId })
      .from(groupBindings)
      .leftJoin(
        serviceAccounts,
        and(eq(groupBindings.principalType, 'service_account'), eq(serviceAccounts.id, groupBindings.principalId)),
      )
      .where(
        and(
          eq(groupBindings.companyId, companyId),
          inArray(groupBindings.principalId, namedIds),
          // A service account is a member in its own account only.
          or(isNull(serviceAccounts.id), eq(serviceAccounts.accountId, groupBindings.accountId)),
        ),
      ),
  ];
  return reads.map((statement) => {
    const { sql: text, params } = statement.toSQL();
    return { sql: text, values: params };
  });
}

/** Selects the principals whose bindings have one of these ids. */
export const selectBoundPrincipals = (db: ControlDb, companyId: string, ids: readonly string[]) =>
  db
    .select({ id: groupBindings.principalId })
    .from(groupBindings)
    .where(and(eq(groupBindings.companyId, companyId), inArray(groupBindings.id, makeIdListSql(ids))));
