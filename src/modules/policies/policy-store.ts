import { and, asc, count, desc, eq, inArray, not, type SQL, sql } from 'drizzle-orm';
import { type AccessSubject, isBindingOfPrincipal } from '../../access/sources.ts';
import { type ControlDb, readTogether } from '../../db/client.ts';
import type { SearchRequest } from '../../db/page.ts';
import { groupBindings, groupPolicies } from '../../db/schema/groups.ts';
import { policies } from '../../db/schema/policies.ts';
import { makeContainsSql, makeNocaseSql } from '../../db/search.ts';
import { existsSql, makeIdListSql, matchesId } from '../../db/statements.ts';
import type { PolicyDocument } from '../../permissions/policy-document.ts';

export type PolicyRecord = typeof policies.$inferSelect;

/** Selects the ids and names of a company's own policies. */
export const selectOwnPolicyNames = (db: ControlDb, companyId: string) =>
  db.select({ id: policies.id, name: policies.name }).from(policies).where(eq(policies.companyId, companyId));

const LISTED_COLUMNS = { id: sql<string>`listed.id`, name: sql`listed.name`, created_at: sql`listed.created_at` };
const ORDER_COLUMNS = {
  name: makeNocaseSql(LISTED_COLUMNS.name),
  created_at: LISTED_COLUMNS.created_at,
  type: sql`${policies.id} is not null`,
};

/** The order within a type: newest first, and managed policies by their ids. */
const NEWEST_FIRST_ORDER = [desc(policies.createdAt), desc(policies.id), asc(LISTED_COLUMNS.id)];

export type PolicySearch = SearchRequest<keyof typeof ORDER_COLUMNS>;

/**
 * Counts the managed and the company's own policies, and reads a page of them: managed policies by their id alone. By type, own
 * policies are the newest first.
 * @param search.managedPolicies the listed managed policies, which exist only in the code
 * @param search.ownPolicyNames lists only own policies with one of these names
 */
export async function readPolicies(
  db: ControlDb,
  companyId: string,
  {
    search,
    by,
    descending,
    page,
    perPage,
    managedPolicies,
    ownPolicyNames,
  }: PolicySearch & {
    managedPolicies: readonly { id: string; name: string; createdAt: number }[];
    ownPolicyNames: readonly string[] | 'all';
  },
) {
  const managedJson = JSON.stringify(managedPolicies.map(({ id, name, createdAt }) => ({ id, name, createdAt })));
  const ownCondition = and(
    eq(policies.companyId, companyId),
    ownPolicyNames === 'all' ? undefined : inArray(policies.name, makeIdListSql(ownPolicyNames)),
  );
  const listedPolicies = sql`(select value ->> 'id' as id, value ->> 'name' as name, value ->> 'createdAt' as created_at
    from json_each(${managedJson}) union all select id, name, created_at from ${policies} where ${ownCondition}) as listed`;
  const searchCondition = makeContainsSql([LISTED_COLUMNS.name], search);
  const applyDirection = (column: SQL): SQL => (descending ? desc(column) : asc(column));
  const {
    counted: [counted],
    records,
  } = await readTogether(db, {
    counted: db.select({ total: sql<number>`count(*)` }).from(listedPolicies).where(searchCondition),
    records: db
      .select({ id: LISTED_COLUMNS.id.as('listed_id'), own: policies })
      .from(listedPolicies)
      .leftJoin(policies, and(eq(policies.id, LISTED_COLUMNS.id), eq(policies.companyId, companyId)))
      .where(searchCondition)
      .orderBy(
        applyDirection(ORDER_COLUMNS[by]),
        ...(by === 'type' ? NEWEST_FIRST_ORDER : [applyDirection(LISTED_COLUMNS.id)]),
      )
      .limit(perPage)
      .offset((page - 1) * perPage),
  });
  return { total: counted?.total ?? 0, records };
}

export const insertPolicy = (db: ControlDb, record: PolicyRecord) => db.insert(policies).values(record);

export type PolicyChanges = Partial<Pick<PolicyRecord, 'name' | 'description' | 'document'>>;

/** Changes a policy whose document is still `previousDocument`. */
export const updatePolicy = (
  db: ControlDb,
  companyId: string,
  id: string,
  previousDocument: PolicyDocument,
  changes: PolicyChanges & { updatedAt: number },
) =>
  db
    .update(policies)
    .set(changes)
    .where(and(matchesId(policies, companyId, id), eq(policies.document, previousDocument)))
    .returning({ id: policies.id });

const isOfPolicy = (companyId: string, id: string) =>
  and(eq(groupPolicies.companyId, companyId), eq(groupPolicies.policyId, id)) as SQL;

/** Deletes a policy that is attached to no group. */
export const deletePolicy = (db: ControlDb, companyId: string, id: string) =>
  db
    .delete(policies)
    .where(and(matchesId(policies, companyId, id), not(existsSql(groupPolicies, isOfPolicy(companyId, id)))))
    .returning({ id: policies.id });

/** Counts the groups that a policy is attached to. */
export const countAttachments = (db: ControlDb, companyId: string, id: string) =>
  db.select({ groups: count() }).from(groupPolicies).where(isOfPolicy(companyId, id));

/** Selects the policies that apply to a principal through groups, managed policies by their id alone. */
export const selectPrincipalPolicies = (db: ControlDb, companyId: string, accessSubject: AccessSubject) =>
  db
    .selectDistinct({
      policyId: groupPolicies.policyId,
      groupId: groupPolicies.groupId,
      name: policies.name,
    })
    .from(groupBindings)
    .innerJoin(
      groupPolicies,
      and(eq(groupPolicies.groupId, groupBindings.groupId), eq(groupPolicies.companyId, companyId)),
    )
    .leftJoin(policies, and(eq(policies.id, groupPolicies.policyId), eq(policies.companyId, companyId)))
    .where(isBindingOfPrincipal(accessSubject))
    .orderBy(asc(groupPolicies.policyId), asc(groupPolicies.groupId));

/** Selects a company's own policy by id. */
export const selectPolicy = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(policies)
    .where(matchesId(policies, companyId, id));
