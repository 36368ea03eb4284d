import { and, asc, count, eq, inArray, not, type SQL } from 'drizzle-orm';
import { type AccessOf, isBindingOf } from '../../access/sources.ts';
import { type ControlDb, readTogether } from '../../db/client.ts';
import { groupBindings, groupPolicies } from '../../db/schema/groups.ts';
import { policies } from '../../db/schema/policies.ts';
import { byId, exists, idList } from '../../db/statements.ts';
import type { PolicyDocument } from '../../permissions/policy-document.ts';

export type PolicyRecord = typeof policies.$inferSelect;

/** The names of a company's own policies. */
export const selectOwnNames = (db: ControlDb, companyId: string) =>
  db.select({ name: policies.name }).from(policies).where(eq(policies.companyId, companyId));

/**
 * How many policies a company has of its own, and some of them, oldest first.
 * @param names only those with one of these names
 */
export async function readOwnPolicies(
  db: ControlDb,
  companyId: string,
  { offset, limit, names }: { offset: number; limit: number; names: readonly string[] | 'all' },
) {
  const ofCompany = and(
    eq(policies.companyId, companyId),
    names === 'all' ? undefined : inArray(policies.name, idList(names)),
  );
  const {
    counted: [counted],
    records,
  } = await readTogether(db, {
    counted: db.select({ total: count() }).from(policies).where(ofCompany),
    records: db
      .select()
      .from(policies)
      .where(ofCompany)
      .orderBy(asc(policies.createdAt), asc(policies.id))
      .limit(limit)
      .offset(offset),
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
    .returning();

const ofPolicy = (companyId: string, id: string) =>
  and(eq(groupPolicies.companyId, companyId), eq(groupPolicies.policyId, id)) as SQL;

/** Deletes a policy that is attached to no group. */
export const deletePolicy = (db: ControlDb, companyId: string, id: string) =>
  db
    .delete(policies)
    .where(and(byId(policies, companyId, id), not(exists(groupPolicies, ofPolicy(companyId, id)))))
    .returning({ id: policies.id });

/** How many groups a policy is attached to. */
export const countAttachments = (db: ControlDb, companyId: string, id: string) =>
  db.select({ groups: count() }).from(groupPolicies).where(ofPolicy(companyId, id));

/** The policies that reach a principal through groups, managed ones by their id alone. */
export const selectPoliciesOf = (db: ControlDb, companyId: string, of: AccessOf) =>
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
    .where(isBindingOf(of))
    .orderBy(asc(groupPolicies.policyId), asc(groupPolicies.groupId));

/** A company's own policy of an id. */
export const selectPolicy = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(policies)
    .where(byId(policies, companyId, id));
