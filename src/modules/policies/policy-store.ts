import { and, asc, count, desc, eq, inArray, not, type SQL, sql } from 'drizzle-orm';
import { type AccessSubject, isBindingOfPrincipal } from '../../access/sources.ts';
import { type ControlDb, readTogether } from '../../db/client.ts';
import type { SearchRequest } from '../../db/page.ts';
import { groupBindings, groupPolicies } from '../../db/schema/groups.ts';
import { policies } from '../../db/schema/policies.ts';
import { containsSql, ignoreCase } from '../../db/search.ts';
import { byId, exists, idListSql } from '../../db/statements.ts';
import type { PolicyDocument } from '../../permissions/policy-document.ts';

export type PolicyRecord = typeof policies.$inferSelect;

/** The ids and names of a company's own policies. */
export const selectOwnNames = (db: ControlDb, companyId: string) =>
  db.select({ id: policies.id, name: policies.name }).from(policies).where(eq(policies.companyId, companyId));

const LISTED_COLUMNS = { id: sql<string>`listed.id`, name: sql`listed.name`, created_at: sql`listed.created_at` };
const ORDER_COLUMNS = {
  name: ignoreCase(LISTED_COLUMNS.name),
  created_at: LISTED_COLUMNS.created_at,
  type: sql`${policies.id} is not null`,
};

/** The order within a type: managed ones by their ids. */
const NEWEST_FIRST = [desc(policies.createdAt), desc(policies.id), asc(LISTED_COLUMNS.id)];

export type PolicySearch = SearchRequest<keyof typeof ORDER_COLUMNS>;

/**
 * Counts the policies, managed ones and those of a company's own, and reads a page of them: managed ones by their id alone.
 * By type, own ones are the newest first.
 * @param managed those that are listed: the others stand in the code only
 * @param names only own ones with one of these names
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
    managed,
    names,
  }: PolicySearch & {
    managed: readonly { id: string; name: string; createdAt: number }[];
    names: readonly string[] | 'all';
  },
) {
  const given = JSON.stringify(managed.map(({ id, name, createdAt }) => ({ id, name, createdAt })));
  const own = and(
    eq(policies.companyId, companyId),
    names === 'all' ? undefined : inArray(policies.name, idListSql(names)),
  );
  const listed = sql`(select value ->> 'id' as id, value ->> 'name' as name, value ->> 'createdAt' as created_at
    from json_each(${given}) union all select id, name, created_at from ${policies} where ${own}) as listed`;
  const found = containsSql([LISTED_COLUMNS.name], search);
  const order = (column: SQL): SQL => (descending ? desc(column) : asc(column));
  const {
    counted: [counted],
    records,
  } = await readTogether(db, {
    counted: db.select({ total: sql<number>`count(*)` }).from(listed).where(found),
    records: db
      .select({ id: LISTED_COLUMNS.id.as('listed_id'), own: policies })
      .from(listed)
      .leftJoin(policies, and(eq(policies.id, LISTED_COLUMNS.id), eq(policies.companyId, companyId)))
      .where(found)
      .orderBy(order(ORDER_COLUMNS[by]), ...(by === 'type' ? NEWEST_FIRST : [order(LISTED_COLUMNS.id)]))
      .limit(perPage)
      .offset((page - 1) * perPage),
  });
  return { total: counted?.total ?? 0, records };
}

export const insertPolicy = (db: ControlDb, record: PolicyRecord) => db.insert(policies).values(record);

export type PolicyChanges = Partial<Pick<PolicyRecord, 'name' | 'description' | 'document'>>;

/** Changes a policy whose document is still `before`. */
export const updatePolicy = (
  db: ControlDb,
  companyId: string,
  id: string,
  before: PolicyDocument,
  set: PolicyChanges & { updatedAt: number },
) =>
  db
    .update(policies)
    .set(set)
    .where(and(byId(policies, companyId, id), eq(policies.document, before)))
    .returning({ id: policies.id });

const isOfPolicy = (companyId: string, id: string) =>
  and(eq(groupPolicies.companyId, companyId), eq(groupPolicies.policyId, id)) as SQL;

/** Deletes a policy that is attached to no group. */
export const deletePolicy = (db: ControlDb, companyId: string, id: string) =>
  db
    .delete(policies)
    .where(and(byId(policies, companyId, id), not(exists(groupPolicies, isOfPolicy(companyId, id)))))
    .returning({ id: policies.id });

/** Counts the groups that a policy is attached to. */
export const countAttachments = (db: ControlDb, companyId: string, id: string) =>
  db.select({ groups: count() }).from(groupPolicies).where(isOfPolicy(companyId, id));

/** The policies that reach a principal through groups, managed ones by their id alone. */
export const selectPrincipalPolicies = (db: ControlDb, companyId: string, of: AccessSubject) =>
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
    .where(isBindingOfPrincipal(of))
    .orderBy(asc(groupPolicies.policyId), asc(groupPolicies.groupId));

/** A company's own policy of an id. */
export const selectPolicy = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(policies)
    .where(byId(policies, companyId, id));
