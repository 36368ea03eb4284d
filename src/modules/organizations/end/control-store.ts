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
import { oauthClients, oauthGrants } from '../../../db/schema/oauth.ts';
import { events, outbox } from '../../../db/schema/outbox.ts';
import { passkeys } from '../../../db/schema/passkeys.ts';
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
import { usageDays } from '../../../db/schema/usage.ts';
import { accountUserCounts, accountUsers, invitations, userCounts, users } from '../../../db/schema/users.ts';
import { visualizations } from '../../../db/schema/visualizations.ts';
import { vizApiEndpoints } from '../../../db/schema/viz-api-endpoints.ts';
import { webhookEndpoints } from '../../../db/schema/webhooks.ts';
import { makeIdListSql } from '../../../db/statements.ts';
import type { Person } from '../../../logs/redaction.ts';

export type TableWithCompany = SQLiteTable & { companyId: SQLiteColumn };

/** The number of rows that one statement deletes: D1 allows 30 s for it. */
const ROWS_PER_BATCH = 1000;

/** A table that has rows of companies. */
export interface CompanyTable {
  table: TableWithCompany;
  /**
   * Returns the SQL condition for rows about a person, which are deleted with the person; null if there are none. In all other
   * rows a pseudonym replaces the person's ids and address: see `person-erasure-store.ts`.
   */
  makePersonCondition: ((person: Person) => SQL) | null;
}

const makeEmailCondition = (column: SQLiteColumn) => (person: Person) => eq(column, person.email);
const makeIdCondition = (column: SQLiteColumn) => (person: Person) => sql`${column} in ${makeIdListSql(person.ids)}`;
const makeFactorCondition = (column: SQLiteColumn) => (person: Person) =>
  sql`${column} in (select ${secondFactors.id} from ${secondFactors} where ${secondFactors.userId} in ${makeIdListSql(person.ids)})`;
const makeRecipientCondition = (table: typeof scheduleRecipients | typeof scheduleDeliveries) => (person: Person) =>
  sql`(${table.kind} = 'email' and ${table.subject} = ${person.email} or ${table.kind} = 'user' and ${table.subject} in ${makeIdListSql(person.ids)})`;
const makeMemberCondition = (person: Person) =>
  sql`(${shareMembers.memberType} = 'external_email' and ${shareMembers.subject} = ${person.email} or ${shareMembers.memberType} = 'internal_user' and ${shareMembers.subject} in ${makeIdListSql(person.ids)})`;

/**
 * Every table of the control database that has rows of companies, in the order of erasure: rows that refer to other rows are
 * erased before these. `test/organizations` compares the list with the database.
 */
export const COMPANY_TABLES: readonly CompanyTable[] = [
  // Before what triggers tell of: without endpoints they tell nothing.
  { table: webhookEndpoints, makePersonCondition: null },
  { table: events, makePersonCondition: null },
  { table: mailRequests, makePersonCondition: makeEmailCondition(mailRequests.email) },
  { table: scheduledMails, makePersonCondition: makeEmailCondition(scheduledMails.email) },
  { table: mailConsents, makePersonCondition: makeEmailCondition(mailConsents.email) },
  { table: scheduleDeliveries, makePersonCondition: makeRecipientCondition(scheduleDeliveries) },
  { table: scheduleRuns, makePersonCondition: null },
  { table: scheduleRecipients, makePersonCondition: makeRecipientCondition(scheduleRecipients) },
  { table: schedules, makePersonCondition: null },
  { table: companyExports, makePersonCondition: null },
  { table: dataJobs, makePersonCondition: null },
  { table: vizApiEndpoints, makePersonCondition: null },
  { table: dashboardVisualizations, makePersonCondition: null },
  { table: dashboards, makePersonCondition: null },
  { table: visualizations, makePersonCondition: null },
  { table: jobs, makePersonCondition: null },
  { table: suggestions, makePersonCondition: null },
  { table: versions, makePersonCondition: null },
  { table: resources, makePersonCondition: null },
  { table: businessDomains, makePersonCondition: null },
  { table: askedQuestions, makePersonCondition: null },
  { table: verifiedQuestions, makePersonCondition: null },
  { table: dashboardShares, makePersonCondition: null },
  { table: embedKeys, makePersonCondition: null },
  { table: embedRevocations, makePersonCondition: null },
  { table: embedSigningKeys, makePersonCondition: null },
  { table: shareMembers, makePersonCondition: makeMemberCondition },
  { table: shareGrants, makePersonCondition: null },
  { table: shareContexts, makePersonCondition: null },
  { table: outsiders, makePersonCondition: makeEmailCondition(outsiders.email) },
  { table: oauthGrants, makePersonCondition: makeIdCondition(oauthGrants.userId) },
  { table: oauthClients, makePersonCondition: null },
  { table: sessions, makePersonCondition: makeIdCondition(sessions.userId) },
  { table: signInNetworks, makePersonCondition: makeIdCondition(signInNetworks.userId) },
  { table: passwordlessCodes, makePersonCondition: makeEmailCondition(passwordlessCodes.email) },
  { table: passwordResets, makePersonCondition: makeIdCondition(passwordResets.userId) },
  { table: pendingSecondFactors, makePersonCondition: makeIdCondition(pendingSecondFactors.userId) },
  { table: backupCodes, makePersonCondition: makeFactorCondition(backupCodes.factorId) },
  { table: usedTotpSteps, makePersonCondition: makeFactorCondition(usedTotpSteps.factorId) },
  { table: secondFactors, makePersonCondition: makeIdCondition(secondFactors.userId) },
  { table: passkeys, makePersonCondition: makeIdCondition(passkeys.userId) },
  { table: ssoAssertions, makePersonCondition: null },
  { table: ssoCodes, makePersonCondition: makeIdCondition(ssoCodes.userId) },
  { table: ssoLogins, makePersonCondition: null },
  { table: ssoConfigurations, makePersonCondition: null },
  { table: socialConfigurations, makePersonCondition: null },
  { table: userIdentities, makePersonCondition: makeIdCondition(userIdentities.userId) },
  { table: invitations, makePersonCondition: makeIdCondition(invitations.userId) },
  { table: apiKeys, makePersonCondition: null },
  { table: serviceAccounts, makePersonCondition: null },
  { table: groupPermissions, makePersonCondition: null },
  { table: groupPolicies, makePersonCondition: null },
  { table: groupBindings, makePersonCondition: makeIdCondition(groupBindings.principalId) },
  { table: accountUsers, makePersonCondition: makeIdCondition(accountUsers.userId) },
  { table: groups, makePersonCondition: null },
  { table: permissions, makePersonCondition: null },
  { table: policies, makePersonCondition: null },
  { table: users, makePersonCondition: makeIdCondition(users.id) },
  { table: usageDays, makePersonCondition: null },
  { table: accountUserCounts, makePersonCondition: null },
  { table: userCounts, makePersonCondition: null },
  { table: accounts, makePersonCondition: null },
  { table: managedDatabases, makePersonCondition: null },
  { table: outbox, makePersonCondition: null },
];

export const CONTROL_TABLES: readonly TableWithCompany[] = COMPANY_TABLES.map(({ table }) => table);

/** Tables without any rows of a company, and the reason. */
export const OTHER_TABLES: Readonly<Record<string, string>> = {
  companies: 'the company itself, which goes last',
  company_ends: 'what stays: the id, times and counts',
  oauth_public_clients: 'programs that registered themselves or have a document, which belong to no company',
  oauth_devices: 'digests of codes that a program of no company waits with, for ten minutes',
  spent_passkey_challenges: 'digests of challenges that were answered, for as long as these are valid',
  spent_social_tokens: 'digests of ID tokens, for as long as these are valid',
};

/** Returns the SQL condition for the rows of a company. */
export function belongsToCompany(table: TableWithCompany, companyId: string): SQL {
  const isOwnRow = eq(table.companyId, companyId);
  if (table !== mailRequests) return isOwnRow;
  // A mail about every company that knows the address: of one that none but this knows.
  const isAddressAmong = (condition: SQL) =>
    sql`${mailRequests.email} in (select ${users.email} from ${users} where ${condition})`;
  const belongsElsewhere = isAddressAmong(sql`${users.companyId} <> ${companyId} and ${users.deletedAt} is null`);
  return sql`(${isOwnRow} or (${mailRequests.companyId} is null and ${isAddressAmong(eq(users.companyId, companyId))} and not ${belongsElsewhere}))`;
}

/** Selects the ids of the company's webhook endpoints, of which there are few. */
export const selectEndpointIds = (db: ControlDb, companyId: string) =>
  db.select({ id: webhookEndpoints.id }).from(webhookEndpoints).where(eq(webhookEndpoints.companyId, companyId));

/** Deletes at most `ROWS_PER_BATCH` rows of a company from a table. */
export const deleteCompanyRows = (db: ControlDb, table: TableWithCompany, companyId: string) =>
  db
    .delete(table)
    .where(
      sql`rowid in (select rowid from ${table} where ${belongsToCompany(table, companyId)} limit ${sql.raw(String(ROWS_PER_BATCH))})`,
    );

/** Selects whether a company has any row in a table. */
export const selectAnyRow = (db: ControlDb, table: TableWithCompany, companyId: string) =>
  db
    .select({ one: sql<number>`1`.as('one') })
    .from(table)
    .where(belongsToCompany(table, companyId))
    .limit(1);

export const getControlTableName = (table: SQLiteTable): string => getTableName(table);

/** Selects a page of a company's outsiders, by id. */
export const selectOutsiders = (db: ControlDb, companyId: string, afterId: string, limit: number) =>
  db
    .select({ id: outsiders.id })
    .from(outsiders)
    .where(and(eq(outsiders.companyId, companyId), sql`${outsiders.id} > ${afterId}`))
    .orderBy(outsiders.id)
    .limit(limit);
