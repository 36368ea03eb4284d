import { and, eq, isNull, or, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../db/client.ts';
import { groupBindings, groupPolicies, groups } from '../db/schema/groups.ts';
import { policies } from '../db/schema/policies.ts';
import { users } from '../db/schema/users.ts';
import { makeIdListSql } from '../db/statements.ts';
import { MANAGED_POLICIES } from '../permissions/managed-policies.ts';
import type { PolicyDocument } from '../permissions/policy-document.ts';
import { matchesEverything } from '../permissions/wildcard.ts';

/** The maximum number of administrators to whom a mail is sent. */
const MAX_ADMINISTRATORS = 50;

/** Selects the e-mail addresses of a company's active owner and administrators, by the rule of `isAdministrator`. */
export const selectAdministrators = (db: ControlDb, companyId: string) =>
  db
    .select({ email: users.email })
    .from(users)
    .where(
      and(
        eq(users.companyId, companyId),
        eq(users.isActive, true),
        isNull(users.deletedAt),
        or(eq(users.isOwner, true), sql`${hasPolicySql(ALLOW_ALL_POLICIES)} and not ${hasPolicySql(DENYING_POLICIES)}`),
      ),
    )
    .orderBy(sql`${users.isOwner} desc`, users.id)
    .limit(MAX_ADMINISTRATORS);

/** A kind of policy: the ids of its managed policies, and a condition on the statements of a company's policies. */
interface PolicyKind {
  managedPolicyIds: string[];
  statementCondition: SQL;
}

const listManagedIds = (is: (document: PolicyDocument) => boolean): string[] =>
  MANAGED_POLICIES.filter(({ document }) => is(document)).map(({ id }) => id);

const matchesWildcardSql = (field: 'actions' | 'resources'): SQL =>
  sql`exists (select 1 from json_each(statement.value, ${`$.${field}`}) where value <> '' and trim(value, '*') = '')`;

const ALLOW_ALL_POLICIES: PolicyKind = {
  managedPolicyIds: listManagedIds(({ statements }) =>
    statements.some(
      ({ effect, actions, resources }) =>
        effect === 'Allow' && actions.some(matchesEverything) && resources.some(matchesEverything),
    ),
  ),
  statementCondition: sql`statement.value ->> '$.effect' = 'Allow' and ${matchesWildcardSql('actions')} and ${matchesWildcardSql('resources')}`,
};

const DENYING_POLICIES: PolicyKind = {
  managedPolicyIds: listManagedIds(({ statements }) => statements.some(({ effect }) => effect === 'Deny')),
  statementCondition: sql`statement.value ->> '$.effect' = 'Deny'`,
};

/** Builds the SQL condition that a policy of this kind applies to the user of the surrounding query, through any group. */
const hasPolicySql = ({ managedPolicyIds: ids, statementCondition }: PolicyKind): SQL => sql`exists (
  select 1 from ${groupBindings}
  inner join ${groups} on ${groups.id} = ${groupBindings.groupId} and ${groups.deletedAt} is null
  inner join ${groupPolicies} on ${groupPolicies.groupId} = ${groups.id}
  left join ${policies} on ${policies.id} = ${groupPolicies.policyId} and ${policies.companyId} = ${users.companyId}
  where ${groupBindings.companyId} = ${users.companyId} and ${groups.companyId} = ${users.companyId}
    and ${groupBindings.principalType} = 'user' and ${groupBindings.principalId} = ${users.id}
    and (${groupPolicies.policyId} in ${makeIdListSql(ids)}
      or exists (select 1 from json_each(${policies.document}, '$.statements') as statement where ${statementCondition})))`;
