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
import { idListSql } from '../../../db/statements.ts';
import type { Person } from '../../../logs/redaction.ts';

export type TableWithCompany = SQLiteTable & { companyId: SQLiteColumn };

/** Rows that one statement deletes: D1 gives it 30 s. */
const ROWS_PER_BATCH = 1000;

/** A table that has rows of companies. */
export interface CompanyTable {
  table: TableWithCompany;
  /**
   * SQL condition: true for rows about a person, which are deleted with the person; null if there are none. In all other rows a
   * pseudonym replaces the person's ids and address: see `people-store.ts`.
   */
  about: ((person: Person) => SQL) | null;
}

const hasEmail = (column: SQLiteColumn) => (person: Person) => eq(column, person.email);
const byId = (column: SQLiteColumn) => (person: Person) => sql`${column} in ${idListSql(person.ids)}`;
const hasFactor = (column: SQLiteColumn) => (person: Person) =>
  sql`${column} in (select ${secondFactors.id} from ${secondFactors} where ${secondFactors.userId} in ${idListSql(person.ids)})`;
const isRecipient = (table: typeof scheduleRecipients | typeof scheduleDeliveries) => (person: Person) =>
  sql`(${table.kind} = 'email' and ${table.subject} = ${person.email} or ${table.kind} = 'user' and ${table.subject} in ${idListSql(person.ids)})`;
const isMember = (person: Person) =>
  sql`(${shareMembers.memberType} = 'external_email' and ${shareMembers.subject} = ${person.email} or ${shareMembers.memberType} = 'internal_user' and ${shareMembers.subject} in ${idListSql(person.ids)})`;

/**
 * Every table of the control database that has rows of companies, in the order of erasure: rows that refer to others are erased
 * before these. `test/organizations` compares the list with the database.
 */
export const COMPANY_TABLES: readonly CompanyTable[] = [
  // Before what triggers tell of: without endpoints they tell nothing.
  { table: webhookEndpoints, about: null },
  { table: events, about: null },
  { table: mailRequests, about: hasEmail(mailRequests.email) },
  { table: scheduledMails, about: hasEmail(scheduledMails.email) },
  { table: mailConsents, about: hasEmail(mailConsents.email) },
  { table: scheduleDeliveries, about: isRecipient(scheduleDeliveries) },
  { table: scheduleRuns, about: null },
  { table: scheduleRecipients, about: isRecipient(scheduleRecipients) },
  { table: schedules, about: null },
  { table: companyExports, about: null },
  { table: dataJobs, about: null },
  { table: vizApiEndpoints, about: null },
  { table: dashboardVisualizations, about: null },
  { table: dashboards, about: null },
  { table: visualizations, about: null },
  { table: jobs, about: null },
  { table: suggestions, about: null },
  { table: versions, about: null },
  { table: resources, about: null },
  { table: businessDomains, about: null },
  { table: askedQuestions, about: null },
  { table: verifiedQuestions, about: null },
  { table: dashboardShares, about: null },
  { table: embedKeys, about: null },
  { table: embedRevocations, about: null },
  { table: embedSigningKeys, about: null },
  { table: shareMembers, about: isMember },
  { table: shareGrants, about: null },
  { table: shareContexts, about: null },
  { table: outsiders, about: hasEmail(outsiders.email) },
  { table: oauthGrants, about: byId(oauthGrants.userId) },
  { table: oauthClients, about: null },
  { table: sessions, about: byId(sessions.userId) },
  { table: signInNetworks, about: byId(signInNetworks.userId) },
  { table: passwordlessCodes, about: hasEmail(passwordlessCodes.email) },
  { table: passwordResets, about: byId(passwordResets.userId) },
  { table: pendingSecondFactors, about: byId(pendingSecondFactors.userId) },
  { table: backupCodes, about: hasFactor(backupCodes.factorId) },
  { table: usedTotpSteps, about: hasFactor(usedTotpSteps.factorId) },
  { table: secondFactors, about: byId(secondFactors.userId) },
  { table: passkeys, about: byId(passkeys.userId) },
  { table: ssoAssertions, about: null },
  { table: ssoCodes, about: byId(ssoCodes.userId) },
  { table: ssoLogins, about: null },
  { table: ssoConfigurations, about: null },
  { table: socialConfigurations, about: null },
  { table: userIdentities, about: byId(userIdentities.userId) },
  { table: invitations, about: byId(invitations.userId) },
  { table: apiKeys, about: null },
  { table: serviceAccounts, about: null },
  { table: groupPermissions, about: null },
  { table: groupPolicies, about: null },
  { table: groupBindings, about: byId(groupBindings.principalId) },
  { table: accountUsers, about: byId(accountUsers.userId) },
  { table: groups, about: null },
  { table: permissions, about: null },
  { table: policies, about: null },
  { table: users, about: byId(users.id) },
  { table: usageDays, about: null },
  { table: accountUserCounts, about: null },
  { table: userCounts, about: null },
  { table: accounts, about: null },
  { table: managedDatabases, about: null },
  { table: outbox, about: null },
];

export const CONTROL_TABLES: readonly TableWithCompany[] = COMPANY_TABLES.map(({ table }) => table);

/** Tables that have nothing of a company, and why. */
export const OTHER_TABLES: Readonly<Record<string, string>> = {
  companies: 'the company itself, which goes last',
  company_ends: 'what stays: the id, times and counts',
  oauth_public_clients: 'programs that registered themselves or have a document, which belong to no company',
  oauth_devices: 'digests of codes that a program of no company waits with, for ten minutes',
  spent_passkey_challenges: 'digests of challenges that were answered, for as long as these are valid',
  spent_social_tokens: 'digests of ID tokens, for as long as these are valid',
};

/** The rows of a company. */
export function belongsToCompany(table: TableWithCompany, companyId: string): SQL {
  const own = eq(table.companyId, companyId);
  if (table !== mailRequests) return own;
  // A mail about every company that knows the address: of one that none but this knows.
  const of = (condition: SQL) => sql`${mailRequests.email} in (select ${users.email} from ${users} where ${condition})`;
  const elsewhere = of(sql`${users.companyId} <> ${companyId} and ${users.deletedAt} is null`);
  return sql`(${own} or (${mailRequests.companyId} is null and ${of(eq(users.companyId, companyId))} and not ${elsewhere}))`;
}

/** Reads the ids of the company's webhook endpoints, of which there are few. */
export const selectEndpointIds = (db: ControlDb, companyId: string) =>
  db.select({ id: webhookEndpoints.id }).from(webhookEndpoints).where(eq(webhookEndpoints.companyId, companyId));

/** Deletes some rows of a company. */
export const deleteRows = (db: ControlDb, table: TableWithCompany, companyId: string) =>
  db
    .delete(table)
    .where(
      sql`rowid in (select rowid from ${table} where ${belongsToCompany(table, companyId)} limit ${sql.raw(String(ROWS_PER_BATCH))})`,
    );

/** Whether there is a row of a company. */
export const selectAnyRow = (db: ControlDb, table: TableWithCompany, companyId: string) =>
  db
    .select({ one: sql<number>`1`.as('one') })
    .from(table)
    .where(belongsToCompany(table, companyId))
    .limit(1);

export const getName = (table: SQLiteTable): string => getTableName(table);

/** A page of a company's outsiders, by id. */
export const selectOutsiders = (db: ControlDb, companyId: string, after: string, limit: number) =>
  db
    .select({ id: outsiders.id })
    .from(outsiders)
    .where(and(eq(outsiders.companyId, companyId), sql`${outsiders.id} > ${after}`))
    .orderBy(outsiders.id)
    .limit(limit);
