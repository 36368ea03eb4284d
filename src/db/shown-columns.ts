import { getTableColumns } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { accounts } from './schema/accounts.ts';
import { companies, companyErasures } from './schema/companies.ts';
import { companyExports } from './schema/company-exports.ts';
import { dashboards, dashboardVisualizations } from './schema/dashboards.ts';
import { dataJobs } from './schema/data-jobs.ts';
import { groupBindings, groupPermissions, groupPolicies, groups } from './schema/groups.ts';
import { jobs } from './schema/knowledge-jobs.ts';
import { askedQuestions, verifiedQuestions } from './schema/knowledge-questions.ts';
import { businessDomains, resources, versions } from './schema/knowledge-resources.ts';
import { suggestions } from './schema/knowledge-suggestions.ts';
import { mailRequests } from './schema/mails.ts';
import { managedDatabases } from './schema/managed-database.ts';
import { oauthClients, oauthDevices, oauthGrants, oauthPublicClients } from './schema/oauth.ts';
import { events, outbox } from './schema/outbox.ts';
import { passkeys, spentPasskeyChallenges } from './schema/passkeys.ts';
import { permissions, policies } from './schema/policies.ts';
import {
  mailConsents,
  scheduleDeliveries,
  scheduledMails,
  scheduleRecipients,
  scheduleRuns,
  schedules,
} from './schema/schedules.ts';
import { apiKeys, serviceAccounts } from './schema/service-accounts.ts';
import { outsiders, shareContexts, shareGrants, shareMembers } from './schema/share-contexts.ts';
import { dashboardShares, embedKeys, embedRevocations, embedSigningKeys } from './schema/shares.ts';
import {
  backupCodes,
  passwordlessCodes,
  passwordResets,
  pendingSecondFactors,
  secondFactors,
  sessions,
  signInNetworks,
  usedTotpSteps,
} from './schema/sign-in.ts';
import { ssoAssertions, ssoCodes, ssoConfigurations, ssoLogins } from './schema/single-sign-on.ts';
import { socialConfigurations, spentSocialTokens, userIdentities } from './schema/social-sign-in.ts';
import { usageDays } from './schema/usage.ts';
import { accountUserCounts, accountUsers, invitations, userCounts, users } from './schema/users.ts';
import { visualizations } from './schema/visualizations.ts';
import { vizApiEndpoints } from './schema/viz-api-endpoints.ts';
import { webhookEndpoints } from './schema/webhooks.ts';

/** Reasons for not exporting a column. */
const HIDING_REASONS = {
  secret: 'a secret, or what secrets are made of or known by',
  work: 'of work under way, without meaning afterwards',
  derived: 'follows from the rest',
};
type HidingReason = keyof typeof HIDING_REASONS;

/** Table of the control database, with a note for each column: exported, or the reason why not. */
export interface TableKind {
  table: SQLiteTable;
  columns: Readonly<Record<string, true | string>>;
  /** Columns of a table without export that are disclosed to the person whom a row is about. */
  personalColumns?: readonly string[];
}

/** Union of the names in a text, which are separated by spaces. */
type SplitNames<Text extends string> = Text extends `${infer First} ${infer Rest}` ? First | SplitNames<Rest> : Text;

/** Declares an exported table. It does not compile until every column is listed, either as shown or as hidden for a reason. */
function declareExportedTable<T extends SQLiteTable, Shown extends string, Hidden extends string = never>(
  table: T,
  shownNames: [keyof T['_']['columns']] extends [SplitNames<Shown | Hidden>] ? Shown : `${Shown} and which more?`,
  hiddenNames: { [Reason in HidingReason]?: Hidden } = {},
): TableKind {
  const entries = Object.entries<string>(hiddenNames).flatMap(([reason, names]) =>
    names.split(' ').map((name) => [name, HIDING_REASONS[reason as HidingReason]] as const),
  );
  const shownColumns = Object.fromEntries(shownNames.split(' ').map((name) => [name, true as const]));
  return { table, columns: { ...shownColumns, ...Object.fromEntries(entries) } };
}

const declareHiddenTable = <T extends SQLiteTable, Personal extends string = ''>(
  table: T,
  exclusionReason: string,
  personalNames?: SplitNames<Personal> extends keyof T['_']['columns'] ? Personal : 'names of columns',
): TableKind => ({
  table,
  columns: Object.fromEntries(Object.keys(getTableColumns(table)).map((name) => [name, exclusionReason])),
  personalColumns: personalNames?.split(' '),
});

/** Kinds of all tables of the control database; a test fails if one is missing. */
export const TABLE_KINDS: readonly TableKind[] = [
  declareExportedTable(
    companies,
    'id slug name require2fa ssoOnly locale branding logo quotas suspendedAt endRequestedAt deletesAt createdAt updatedAt',
  ),
  declareExportedTable(accounts, 'id companyId name isDefault isActive metadata createdAt updatedAt deletedAt'),
  declareExportedTable(companyExports, 'id companyId forOperator status bytes error expiresAt createdAt updatedAt', {
    work: 'attempt tries checkpoint dueAt',
  }),
  declareExportedTable(
    dashboards,
    'id companyId name slug description cacheSeconds layout filters embeddedUntil version createdByUserId createdAt updatedAt',
  ),
  declareExportedTable(dashboardVisualizations, 'companyId dashboardId visualizationId'),
  declareExportedTable(
    groups,
    'id companyId name slug description isGlobal roles externalId membersChangedAt createdAt updatedAt deletedAt',
  ),
  declareExportedTable(groupBindings, 'id companyId groupId principalType principalId accountId createdAt'),
  declareExportedTable(groupPolicies, 'companyId groupId policyId'),
  declareExportedTable(groupPermissions, 'companyId groupId permissionId'),
  declareExportedTable(
    jobs,
    'id companyId type targetType targetIds status processedCount totalCount suggestionCount rejectedCount conceptsNotSent usage lastError requestId createdByUserId endedAt createdAt updatedAt',
    { work: 'input leasedUntil attempts' },
  ),
  declareExportedTable(
    verifiedQuestions,
    'id companyId question query status staleReason version verifiedBy verifiedAt lastCheckedAt createdAt updatedAt',
    { derived: 'questionKey' },
  ),
  declareExportedTable(
    askedQuestions,
    'id companyId number question askedBy askedAt kind query explanation verifiedQuestionId acceptedAs model usage',
  ),
  declareExportedTable(
    resources,
    'id companyId resourceType subjectId objectId status content validationErrors version suggestionId createdByUserId updatedByUserId createdAt updatedAt',
    { derived: 'uniqueKey facet searchText' },
  ),
  declareExportedTable(
    versions,
    'id companyId resourceId version change status content changedByUserId suggestionId changedAt',
  ),
  declareExportedTable(businessDomains, 'companyId domains updatedAt'),
  declareExportedTable(
    suggestions,
    'id companyId targetType targetId targetVersion targetName conceptId conceptName payload explanation evidence confidence model promptVersion status requestId jobId reviewNote reviewedByUserId reviewedAt resourceId createdByUserId createdAt updatedAt',
    { derived: 'candidateKey' },
  ),
  declareExportedTable(
    managedDatabases,
    'id companyId status neonProjectId tables rows tableBytes fileBytes createdAt updatedAt',
    {
      work: 'leaseToken leaseUntil migrationsVersion sweepAt sweepMarks dataVersion changedTables openChanges notedVersion dataChanges dataChangesUntil',
      secret: 'ownerConnection readonlyConnection readerPassword',
    },
  ),
  declareExportedTable(
    webhookEndpoints,
    'id companyId url description eventTypes status disabledReason createdAt updatedAt',
    {
      work: 'pauses',
      secret: 'secrets',
    },
  ),
  declareExportedTable(usageDays, 'companyId day mails modelCalls executions'),
  declareExportedTable(policies, 'id companyId name description document createdAt updatedAt'),
  declareExportedTable(permissions, 'id companyId name description target actions createdAt updatedAt'),
  declareExportedTable(
    schedules,
    'id companyId name targetType targetId parameters cron timeZone format condition status nextRunAt failures lastRun apiUrl version createdByUserId createdAt updatedAt',
  ),
  declareExportedTable(scheduleRecipients, 'companyId scheduleId kind subject position unsubscribedAt', {
    derived: 'lastValue',
  }),
  declareExportedTable(scheduleRuns, 'id companyId scheduleId kind occurrence status createdAt', {
    work: 'attempt dueAt',
  }),
  declareExportedTable(scheduleDeliveries, 'companyId runId kind subject status problem'),
  declareExportedTable(mailConsents, 'id companyId email askedAt agreedAt endedAt'),
  declareExportedTable(scheduledMails, 'companyId runId email sentAt'),
  declareExportedTable(
    serviceAccounts,
    'id companyId accountId name description isActive metadata lastUsedAt createdAt updatedAt deletedAt',
  ),
  declareExportedTable(
    apiKeys,
    'id companyId serviceAccountId accessKey description expiresAt isActive lastUsedAt createdAt updatedAt',
    { secret: 'salt derivationVersion secretDigest' },
  ),
  declareExportedTable(shareContexts, 'id companyId name slug description version createdAt updatedAt'),
  declareExportedTable(shareGrants, 'companyId contextId targetType targetId position filterPolicies'),
  declareExportedTable(shareMembers, 'id companyId contextId memberType subject attributes createdAt'),
  declareExportedTable(outsiders, 'id companyId email status createdAt lastLoginAt'),
  declareExportedTable(
    dashboardShares,
    'id companyId dashboardId name shareType shareContextId embedOptions filterPolicies createdByUserId createdAt updatedAt expiresAt revokedAt',
    { secret: 'tokenDigest' },
  ),
  declareExportedTable(embedSigningKeys, 'id companyId createdAt', { secret: 'encryptedSecret' }),
  declareExportedTable(oauthClients, 'id companyId name redirectUris createdAt'),
  declareExportedTable(
    oauthGrants,
    'id companyId userId clientId clientName clientHost scopes resource redirectUri begunAt lastUsedAt createdAt expiresAt endedAt',
    {
      secret: 'requestId codeDigest codeChallenge codeExpiresAt codeUsedAt refreshDigest previousDigest previousUntil',
    },
  ),
  declareExportedTable(sessions, 'id companyId userId ip userAgent lastUsedAt createdAt expiresAt endedAt', {
    secret: 'refreshDigest previousDigest',
    work: 'previousUntil',
  }),
  declareExportedTable(signInNetworks, 'companyId userId network signedInAt'),
  declareExportedTable(secondFactors, 'id companyId userId confirmedAt createdAt', { secret: 'secret' }),
  declareExportedTable(passkeys, 'id companyId userId name transports isSyncable isBackedUp lastUsedAt createdAt', {
    secret: 'credentialId publicKey',
    work: 'counter',
  }),
  declareExportedTable(ssoConfigurations, 'companyId provider redirectUris jitProvisioning createdAt updatedAt', {
    secret: 'clientSecret',
  }),
  declareExportedTable(socialConfigurations, 'companyId providers updatedAt'),
  declareExportedTable(userIdentities, 'userId companyId issuer subject createdAt'),
  declareExportedTable(
    users,
    'id companyId email name externalId isOwner isActive isVerified mfaEnabled activatedAt teams metadata lastLoginAt createdAt updatedAt deletedAt',
    { secret: 'passwordHash', work: 'nameSource sessionEpoch' },
  ),
  declareExportedTable(invitations, 'userId companyId inviter expiresAt', { secret: 'digest' }),
  declareExportedTable(
    visualizations,
    'id companyId name slug description sql chart parameters embeddedUntil version createdByUserId createdAt updatedAt',
  ),
  declareExportedTable(
    vizApiEndpoints,
    'id companyId name slug description visualizationId cacheSeconds status version createdAt updatedAt',
  ),
  declareHiddenTable(companyErasures, HIDING_REASONS.work),
  declareHiddenTable(dataJobs, HIDING_REASONS.work),
  declareHiddenTable(mailRequests, HIDING_REASONS.work, 'id companyId kind email notice about requestedAt'),
  declareHiddenTable(outbox, HIDING_REASONS.work),
  declareHiddenTable(events, HIDING_REASONS.work),
  declareHiddenTable(embedKeys, HIDING_REASONS.secret),
  declareHiddenTable(embedRevocations, HIDING_REASONS.work),
  declareHiddenTable(passwordlessCodes, HIDING_REASONS.secret, 'companyId purpose email expiresAt usedAt'),
  declareHiddenTable(usedTotpSteps, HIDING_REASONS.work, 'companyId factorId step'),
  declareHiddenTable(backupCodes, HIDING_REASONS.secret, 'companyId factorId'),
  declareHiddenTable(pendingSecondFactors, HIDING_REASONS.secret, 'companyId userId purpose createdAt expiresAt'),
  declareHiddenTable(passwordResets, HIDING_REASONS.secret, 'companyId userId expiresAt usedAt'),
  declareHiddenTable(ssoLogins, HIDING_REASONS.secret),
  declareHiddenTable(ssoAssertions, HIDING_REASONS.work),
  declareHiddenTable(ssoCodes, HIDING_REASONS.secret, 'companyId userId expiresAt'),
  declareHiddenTable(spentPasskeyChallenges, 'of no company'),
  declareHiddenTable(spentSocialTokens, 'of no company'),
  declareHiddenTable(oauthPublicClients, 'of no company'),
  declareHiddenTable(oauthDevices, 'of no company'),
  declareHiddenTable(userCounts, HIDING_REASONS.derived),
  declareHiddenTable(
    accountUsers,
    HIDING_REASONS.derived,
    'companyId accountId userId email createdAt updatedAt lastLoginAt',
  ),
  declareHiddenTable(accountUserCounts, HIDING_REASONS.derived),
];

export const selectColumns = (table: SQLiteTable, isSelected: (name: string) => boolean): SQLiteColumn[] =>
  Object.entries(getTableColumns(table)).flatMap(([name, column]) => (isSelected(name) ? column : []));

const KIND_BY_TABLE = new Map(TABLE_KINDS.map((kind) => [kind.table, kind]));

/** Lists the columns of a table that are disclosed to the person whom a row is about, or who requests them. */
export function listPersonalColumns(table: SQLiteTable): SQLiteColumn[] {
  const { columns = {}, personalColumns: personal = [] } = KIND_BY_TABLE.get(table) ?? {};
  return selectColumns(table, (name) => columns[name] === true || personal.includes(name));
}

/** Pattern of the names of columns whose number is a time. */
const TIME_COLUMN_PATTERN = /_(?:at|until)$|^occurrence$/;

/** Converts a column's value for exports: times become ISO 8601. */
export const viewValue = ({ name }: SQLiteColumn, value: unknown): unknown =>
  typeof value === 'number' && TIME_COLUMN_PATTERN.test(name) ? new Date(value).toISOString() : value;
