import { and, eq, inArray, isNull, or, type SQL, sql } from 'drizzle-orm';
import { type ControlDb, readTogether } from '../db/client.ts';
import { isNotDenied } from '../db/denials.ts';
import type { Query } from '../db/rehearsing-session.ts';
import { accounts } from '../db/schema/accounts.ts';
import { groupBindings, groupPermissions, groupPolicies, groups } from '../db/schema/groups.ts';
import { policies } from '../db/schema/policies.ts';
import { serviceAccounts } from '../db/schema/service-accounts.ts';
import { users } from '../db/schema/users.ts';
import { idListSql } from '../db/statements.ts';
import { splitIntoParts } from '../kernel/parts.ts';
import { managedPolicyById } from '../permissions/managed-policies.ts';
import type { PolicyDocument } from '../permissions/policy-document.ts';
import type { Principal } from './actors.ts';
import { findDeniedEverywhere } from './denials.ts';
import { type Access, compileAccess, type GroupGrants } from './evaluation.ts';
import { selectGrants, selectPermissions } from './sources.ts';

/** A user or service account that may act: active, and in an active account. */
export interface NamedPrincipal {
  type: Principal['kind'];
  id: string;
  name: string;
}

/** The groups of principals who are in the same ones: one of them is decided for all. `groups` is JSON, in order. */
export interface GroupSet {
  isOwner: number;
  groups: string;
}

export const parseGroups = ({ groups: text }: GroupSet): string[] => JSON.parse(text);

/** With their groups: people in all their accounts and service accounts, who may act and whom the caller may see. */
function selectActivePrincipals(caller: Principal): SQL {
  const { companyId } = caller;
  const isListedUser = isNotDenied(users.id, findDeniedEverywhere(caller, 'user'));
  const isListedAccount = isNotDenied(serviceAccounts.id, findDeniedEverywhere(caller, 'named_service_account'));
  const ofUsers = and(eq(users.companyId, companyId), isNull(users.deletedAt), eq(users.isActive, true), isListedUser);
  const ofServiceAccounts = and(
    eq(serviceAccounts.companyId, companyId),
    isNull(serviceAccounts.deletedAt),
    eq(serviceAccounts.isActive, true),
    isListedAccount,
  );
  return sql`(
    select 'user' as type, ${users.id} as id, ${users.name} as name, ${users.isOwner} as "isOwner",
      ${groupsAsJsonSql(companyId, 'user', sql`${users.id}`)} as groups
    from ${users} where ${ofUsers}
    union all
    select 'service_account', ${serviceAccounts.id}, ${serviceAccounts.name}, 0,
      ${groupsAsJsonSql(companyId, 'service_account', sql`${serviceAccounts.id}`, sql`${serviceAccounts.accountId}`)}
    from ${serviceAccounts}
    join ${accounts} on ${and(eq(accounts.id, serviceAccounts.accountId), eq(accounts.companyId, companyId), eq(accounts.isActive, true), isNull(accounts.deletedAt))}
    where ${ofServiceAccounts}
  )`;
}

const groupsAsJsonSql = (companyId: string, type: Principal['kind'], id: SQL, accountId?: SQL): SQL => sql`(
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

/** Counts the principals of each set of groups, owners apart: those with the same groups may do the same. */
export const countGroupSets = (db: ControlDb, caller: Principal): Promise<(GroupSet & { count: number })[]> =>
  db.all(
    sql`select "isOwner", groups, count(*) as count from ${selectActivePrincipals(caller)} group by "isOwner", groups`,
  );

/** Reads a page of the principals with such groups: people first, by name. */
export const readPrincipalsOfGroupSets = (
  db: ControlDb,
  caller: Principal,
  groupSets: readonly GroupSet[],
  { page, perPage }: { page: number; perPage: number },
): Promise<(NamedPrincipal & GroupSet)[]> => {
  const wanted = JSON.stringify(groupSets.map(makeGroupSetKey));
  return db.all(sql`select * from ${selectActivePrincipals(caller)} where "isOwner" || groups in (select value from json_each(${wanted}))
    order by type desc, name collate nocase, id limit ${perPage} offset ${(page - 1) * perPage}`);
};

/** Reads a page of the principals who are in one of the groups, or are named themselves, in the page's own order. */
export const readAffectedPrincipals = (
  db: ControlDb,
  caller: Principal,
  { groupIds, principalIds }: { groupIds: readonly string[]; principalIds: readonly string[] },
  { page, perPage }: { page: number; perPage: number },
): Promise<(NamedPrincipal & GroupSet)[]> => {
  const ofGroups = sql`select ${groupBindings.principalId} from ${groupBindings} where ${and(
    eq(groupBindings.companyId, caller.companyId),
    inArray(groupBindings.groupId, idListSql(groupIds)),
  )}`;
  return db.all(sql`select * from ${selectActivePrincipals(caller)} where id in (${ofGroups} union select value from ${idListSql(principalIds)})
    order by type desc, name collate nocase, id limit ${perPage} offset ${(page - 1) * perPage}`);
};

export const makeGroupSetKey = ({ isOwner, groups: text }: GroupSet): string => `${isOwner}${text}`;

/** Documents that are read in one go: a megabyte at the most. */
const DOCUMENTS_PER_BATCH = 50;

/** Reads the compiled grants and denials of groups by their ids. `keep` picks the parts to hold of documents. */
export async function readGrants(
  db: ControlDb,
  companyId: string,
  groupIds: readonly string[],
  keep: (document: PolicyDocument) => PolicyDocument = (document) => document,
): Promise<Map<string, GroupGrants>> {
  const ids = idListSql(groupIds);
  const reads = selectGrants(db, companyId, ids);
  const found = await readTogether(db, {
    groups: reads.groups,
    permissions: reads.permissions,
    attached: db
      .select({ groupId: groupPolicies.groupId, policyId: groupPolicies.policyId })
      .from(groupPolicies)
      .where(and(eq(groupPolicies.companyId, companyId), inArray(groupPolicies.groupId, ids))),
  });
  const policyIds = [...new Set(found.attached.map(({ policyId }) => policyId))];
  const documents = await readDocuments(db, companyId, policyIds, keep);
  const attached = Map.groupBy(found.attached, ({ groupId }) => groupId);
  const permissions = Map.groupBy(found.permissions, ({ groupId }) => groupId);
  return new Map(
    found.groups.map(({ id, roles }) => {
      const ofGroup = (attached.get(id) ?? []).flatMap(({ policyId }) => {
        const document = documents.get(policyId);
        return document ? [{ id: policyId, document }] : [];
      });
      return [id, { id, roles, policies: ofGroup, permissions: permissions.get(id) ?? [] }];
    }),
  );
}

/** The documents of policies, managed ones included. */
async function readDocuments(
  db: ControlDb,
  companyId: string,
  ids: readonly string[],
  keep: (document: PolicyDocument) => PolicyDocument,
): Promise<Map<string, PolicyDocument>> {
  const documents = new Map<string, PolicyDocument>();
  const own = ids.filter((id) => {
    const managed = managedPolicyById(id);
    if (managed) documents.set(id, keep(managed.document));
    return !managed;
  });
  for (const part of splitIntoParts(own, DOCUMENTS_PER_BATCH, () => 1)) {
    const found = await db
      .select({ id: policies.id, document: policies.document })
      .from(policies)
      .where(and(eq(policies.companyId, companyId), inArray(policies.id, idListSql(part))));
    for (const { id, document } of found) documents.set(id, keep(document));
  }
  return documents;
}

/** A function that compiles a principal's access from its groups, each of which is compiled only once. */
export function createAccessCompiler(
  companyId: string,
  grants: ReadonlyMap<string, GroupGrants>,
): (of: GroupSet) => Access {
  const compiled = new Map<string, Access['groups']>();
  const findGroup = (id: string): Access['groups'] => {
    const group = grants.get(id);
    const known =
      compiled.get(id) ?? (group ? compileAccess({ companyId, isOwner: false, groups: [group] }).groups : []);
    compiled.set(id, known);
    return known;
  };
  return (of) => ({
    isOwner: of.isOwner === 1,
    groups: parseGroups(of).flatMap(findGroup),
    scopes: null,
    index: null,
    recent: null,
  });
}

/** The queries for all access data of a company that names one of the ids: all that a change of these can affect. */
export function buildNamingQueries(db: ControlDb, companyId: string, ids: readonly string[]): Query[] {
  const named = idListSql(ids);
  const text = (column: unknown) => sql<string>`${column}`;
  const reads = [
    db
      .select({ id: groups.id, roles: text(groups.roles) })
      .from(groups)
      .where(and(eq(groups.companyId, companyId), inArray(groups.id, named), isNull(groups.deletedAt))),
    db
      .select({ groupId: groupPolicies.groupId, policyId: groupPolicies.policyId })
      .from(groupPolicies)
      .where(
        and(
          eq(groupPolicies.companyId, companyId),
          or(inArray(groupPolicies.groupId, named), inArray(groupPolicies.policyId, named)),
        ),
      ),
    selectPermissions(
      db,
      companyId,
      or(inArray(groupPermissions.groupId, named), inArray(groupPermissions.permissionId, named)),
    ),
    db
      .select({ id: policies.id, document: policies.document })
      .from(policies)
      .where(and(eq(policies.companyId, companyId), inArray(policies.id, named))),
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
          inArray(groupBindings.principalId, named),
          // A service account is a member in its own account only.
          or(isNull(serviceAccounts.id), eq(serviceAccounts.accountId, groupBindings.accountId)),
        ),
      ),
  ];
  return reads.map((read) => {
    const { sql: text, params } = read.toSQL();
    return { sql: text, values: params };
  });
}

/** The principals whose bindings have one of these ids. */
export const selectPrincipalsBoundBy = (db: ControlDb, companyId: string, ids: readonly string[]) =>
  db
    .select({ id: groupBindings.principalId })
    .from(groupBindings)
    .where(and(eq(groupBindings.companyId, companyId), inArray(groupBindings.id, idListSql(ids))));
