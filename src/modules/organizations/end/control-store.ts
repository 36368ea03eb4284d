import { and, eq, getTableName, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { ControlDb } from '../../../db/client.ts';
import { accounts } from '../../../db/schema/accounts.ts';
import { companyExports } from '../../../db/schema/company-exports.ts';
import { dashboards, dashboardVisualizations } from '../../../db/schema/dashboards.ts';
import { dataJobs } from '../../../db/schema/data-jobs.ts';
import { groupBindings, groupPermissions, groupPolicies, groups } from '../../../db/schema/groups.ts';
import { jobs } from '../../../db/schema/knowledge-jobs.ts';
import { askedQuestions, verifiedQuestions } from '../../../db/schema/knowledge-questions.ts';
import { businessDomains, resources, versions } from '../../../db/schema/knowledge-resources.ts';
import { suggestions } from '../../../db/schema/knowledge-suggestions.ts';
import { mailRequests } from '../../../db/schema/mails.ts';
import { managedDatabases } from '../../../db/schema/managed-database.ts';
import { outbox } from '../../../db/schema/outbox.ts';
import { permissions, policies } from '../../../db/schema/policies.ts';
import {
  mailConsents,
  scheduleDeliveries,
  scheduledMails,
  scheduleRecipients,
  scheduleRuns,
  schedules,
} from '../../../db/schema/schedules.ts';
import { apiKeys, serviceAccounts } from '../../../db/schema/service-accounts.ts';
import { outsiders, shareContexts, shareGrants, shareMembers } from '../../../db/schema/share-contexts.ts';
import { dashboardShares, embedKeys, embedRevocations, embedSigningKeys } from '../../../db/schema/shares.ts';
import {
  backupCodes,
  passwordlessCodes,
  passwordResets,
  pendingSecondFactors,
  secondFactors,
  sessions,
  signInNetworks,
  usedTotpSteps,
} from '../../../db/schema/sign-in.ts';
import { ssoAssertions, ssoCodes, ssoConfigurations, ssoLogins } from '../../../db/schema/single-sign-on.ts';
import { socialConfigurations, userIdentities } from '../../../db/schema/social-sign-in.ts';
import { accountUserCounts, accountUsers, invitations, userCounts, users } from '../../../db/schema/users.ts';
import { visualizations } from '../../../db/schema/visualizations.ts';
import { vizApiEndpoints } from '../../../db/schema/viz-api-endpoints.ts';

type Owned = SQLiteTable & { companyId: SQLiteColumn };

/** Rows that one statement deletes: D1 gives it 30 s. */
const ROWS_AT_ONCE = 1000;

/**
 * Every table of the control database that has rows of companies, in the order in which they are erased: what names a row goes
 * before it. `test/organizations` holds the list against the database.
 */
export const CONTROL_TABLES: readonly Owned[] = [
  mailRequests,
  scheduledMails,
  mailConsents,
  scheduleDeliveries,
  scheduleRuns,
  scheduleRecipients,
  schedules,
  companyExports,
  dataJobs,
  vizApiEndpoints,
  dashboardVisualizations,
  dashboards,
  visualizations,
  jobs,
  suggestions,
  versions,
  resources,
  businessDomains,
  askedQuestions,
  verifiedQuestions,
  dashboardShares,
  embedKeys,
  embedRevocations,
  embedSigningKeys,
  shareMembers,
  shareGrants,
  shareContexts,
  outsiders,
  sessions,
  signInNetworks,
  passwordlessCodes,
  passwordResets,
  pendingSecondFactors,
  backupCodes,
  usedTotpSteps,
  secondFactors,
  ssoAssertions,
  ssoCodes,
  ssoLogins,
  ssoConfigurations,
  socialConfigurations,
  userIdentities,
  invitations,
  apiKeys,
  serviceAccounts,
  groupPermissions,
  groupPolicies,
  groupBindings,
  accountUsers,
  groups,
  permissions,
  policies,
  users,
  accountUserCounts,
  userCounts,
  accounts,
  managedDatabases,
  outbox,
];

/** Tables that have nothing of a company, and why. */
export const OTHER_TABLES: Readonly<Record<string, string>> = {
  companies: 'the company itself, which goes last',
  company_ends: 'what stays: the id, times and counts',
  spent_social_tokens: 'digests of ID tokens, for as long as these are valid',
};

/** The rows of a company. */
function rowsOf(table: Owned, companyId: string): SQL {
  const own = eq(table.companyId, companyId);
  if (table !== mailRequests) return own;
  // A mail about every company that knows the address: of one that none but this knows.
  const of = (condition: SQL) => sql`${mailRequests.email} in (select ${users.email} from ${users} where ${condition})`;
  const elsewhere = of(sql`${users.companyId} <> ${companyId} and ${users.deletedAt} is null`);
  return sql`(${own} or (${mailRequests.companyId} is null and ${of(eq(users.companyId, companyId))} and not ${elsewhere}))`;
}

/** Deletes some rows of a company. */
export const deleteRows = (db: ControlDb, table: Owned, companyId: string) =>
  db
    .delete(table)
    .where(
      sql`rowid in (select rowid from ${table} where ${rowsOf(table, companyId)} limit ${sql.raw(String(ROWS_AT_ONCE))})`,
    );

/** Whether there is a row of a company. */
export const selectAnyRow = (db: ControlDb, table: Owned, companyId: string) =>
  db
    .select({ one: sql<number>`1`.as('one') })
    .from(table)
    .where(rowsOf(table, companyId))
    .limit(1);

export const nameOf = (table: SQLiteTable): string => getTableName(table);

/** A page of a company's outsiders, by id. */
export const selectOutsiders = (db: ControlDb, companyId: string, after: string, limit: number) =>
  db
    .select({ id: outsiders.id })
    .from(outsiders)
    .where(and(eq(outsiders.companyId, companyId), sql`${outsiders.id} > ${after}`))
    .orderBy(outsiders.id)
    .limit(limit);
