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

/** The reasons why a column is not exported. */
const HIDING_REASONS = {
  secret: 'a secret, or what secrets are made of or known by',
  work: 'of work under way, without meaning afterwards',
  derived: 'follows from the rest',
};
type HidingReason = keyof typeof HIDING_REASONS;

/** A table of the control database, and of each column whether it is exported, or why not. */
export interface Kind {
  table: SQLiteTable;
  columns: Readonly<Record<string, true | string>>;
  /** For a table that is not exported: the columns that are disclosed to the person whom a row is about. */
  personal?: readonly string[];
}

/** The names in a text, which stand with a space between them. */
type Names<Text extends string> = Text extends `${infer First} ${infer Rest}` ? First | Names<Rest> : Text;

/** Declares an exported table. It does not compile until every column is listed, either as shown or as hidden for a reason. */
function declareKind<T extends SQLiteTable, Shown extends string, Hidden extends string = never>(
  table: T,
  shown: [keyof T['_']['columns']] extends [Names<Shown | Hidden>] ? Shown : `${Shown} and which more?`,
  hidden: { [Reason in HidingReason]?: Hidden } = {},
): Kind {
  const entries = Object.entries<string>(hidden).flatMap(([reason, names]) =>
    names.split(' ').map((name) => [name, HIDING_REASONS[reason as HidingReason]] as const),
  );
  const isShown = Object.fromEntries(shown.split(' ').map((name) => [name, true as const]));
  return { table, columns: { ...isShown, ...Object.fromEntries(entries) } };
}

const declareNotExported = <T extends SQLiteTable>(
  table: T,
  because: string,
  ...personal: (keyof T['_']['columns'] & string)[]
): Kind => ({
  table,
  columns: Object.fromEntries(Object.keys(getTableColumns(table)).map((name) => [name, because])),
  personal,
});

/** Every table of the control database; a test fails where one is missing. */
export const TABLE_KINDS: readonly Kind[] = [
  declareKind(
    companies,
    'id slug name require2fa ssoOnly locale branding logo quotas suspendedAt endRequestedAt deletesAt createdAt updatedAt',
  ),
  declareKind(accounts, 'id companyId name isDefault isActive metadata createdAt updatedAt deletedAt'),
  declareKind(companyExports, 'id companyId forOperator status bytes error expiresAt createdAt updatedAt', {
    work: 'attempt tries checkpoint dueAt',
  }),
  declareKind(
    dashboards,
    'id companyId name slug description cacheSeconds layout filters embeddedUntil version createdByUserId createdAt updatedAt',
  ),
  declareKind(dashboardVisualizations, 'companyId dashboardId visualizationId'),
  declareKind(
    groups,
    'id companyId name slug description isGlobal roles externalId membersChangedAt createdAt updatedAt deletedAt',
  ),
  declareKind(groupBindings, 'id companyId groupId principalType principalId accountId createdAt'),
  declareKind(groupPolicies, 'companyId groupId policyId'),
  declareKind(groupPermissions, 'companyId groupId permissionId'),
  declareKind(
    jobs,
    'id companyId type targetType targetIds status processedCount totalCount suggestionCount rejectedCount conceptsNotSent usage lastError requestId createdByUserId endedAt createdAt updatedAt',
    { work: 'input leasedUntil attempts' },
  ),
  declareKind(
    verifiedQuestions,
    'id companyId question query status staleReason version verifiedBy verifiedAt lastCheckedAt createdAt updatedAt',
    { derived: 'questionKey' },
  ),
  declareKind(
    askedQuestions,
    'id companyId number question askedBy askedAt kind query explanation verifiedQuestionId acceptedAs model usage',
  ),
  declareKind(
    resources,
    'id companyId resourceType subjectId objectId status content validationErrors version suggestionId createdByUserId updatedByUserId createdAt updatedAt',
    { derived: 'uniqueKey facet searchText' },
  ),
  declareKind(versions, 'id companyId resourceId version change status content changedByUserId suggestionId changedAt'),
  declareKind(businessDomains, 'companyId domains updatedAt'),
  declareKind(
    suggestions,
    'id companyId targetType targetId targetVersion targetName conceptId conceptName payload explanation evidence confidence model promptVersion status requestId jobId reviewNote reviewedByUserId reviewedAt resourceId createdByUserId createdAt updatedAt',
    { derived: 'candidateKey' },
  ),
  declareKind(
    managedDatabases,
    'id companyId status neonProjectId tables rows tableBytes fileBytes createdAt updatedAt',
    {
      work: 'leaseToken leaseUntil migrationsVersion sweepAt sweepMarks dataVersion changedTables openChanges notedVersion dataChanges dataChangesUntil',
      secret: 'ownerConnection readonlyConnection readerPassword',
    },
  ),
  declareKind(webhookEndpoints, 'id companyId url description eventTypes status disabledReason createdAt updatedAt', {
    work: 'pauses',
    secret: 'secrets',
  }),
  declareKind(usageDays, 'companyId day mails modelCalls executions'),
  declareKind(policies, 'id companyId name description document createdAt updatedAt'),
  declareKind(permissions, 'id companyId name description target actions createdAt updatedAt'),
  declareKind(
    schedules,
    'id companyId name targetType targetId parameters cron timeZone format condition status nextRunAt failures lastRun apiUrl version createdByUserId createdAt updatedAt',
  ),
  declareKind(scheduleRecipients, 'companyId scheduleId kind subject position unsubscribedAt', {
    derived: 'lastValue',
  }),
  declareKind(scheduleRuns, 'id companyId scheduleId kind occurrence status createdAt', { work: 'attempt dueAt' }),
  declareKind(scheduleDeliveries, 'companyId runId kind subject status problem'),
  declareKind(mailConsents, 'id companyId email askedAt agreedAt endedAt'),
  declareKind(scheduledMails, 'companyId runId email sentAt'),
  declareKind(
    serviceAccounts,
    'id companyId accountId name description isActive metadata lastUsedAt createdAt updatedAt deletedAt',
  ),
  declareKind(
    apiKeys,
    'id companyId serviceAccountId accessKey description expiresAt isActive lastUsedAt createdAt updatedAt',
    { secret: 'salt derivationVersion secretDigest' },
  ),
  declareKind(shareContexts, 'id companyId name slug description version createdAt updatedAt'),
  declareKind(shareGrants, 'companyId contextId targetType targetId position filterPolicies'),
  declareKind(shareMembers, 'id companyId contextId memberType subject attributes createdAt'),
  declareKind(outsiders, 'id companyId email status createdAt lastLoginAt'),
  declareKind(
    dashboardShares,
    'id companyId dashboardId name shareType shareContextId embedOptions filterPolicies createdByUserId createdAt updatedAt expiresAt revokedAt',
    { secret: 'tokenDigest' },
  ),
  declareKind(embedSigningKeys, 'id companyId createdAt', { secret: 'encryptedSecret' }),
  declareKind(oauthClients, 'id companyId name redirectUris createdAt'),
  declareKind(
    oauthGrants,
    'id companyId userId clientId clientName clientHost scopes resource redirectUri begunAt lastUsedAt createdAt expiresAt endedAt',
    {
      secret: 'requestId codeDigest codeChallenge codeExpiresAt codeUsedAt refreshDigest previousDigest previousUntil',
    },
  ),
  declareKind(sessions, 'id companyId userId ip userAgent lastUsedAt createdAt expiresAt endedAt', {
    secret: 'refreshDigest previousDigest',
    work: 'previousUntil',
  }),
  declareKind(signInNetworks, 'companyId userId network signedInAt'),
  declareKind(secondFactors, 'id companyId userId confirmedAt createdAt', { secret: 'secret' }),
  declareKind(passkeys, 'id companyId userId name transports isSyncable isBackedUp lastUsedAt createdAt', {
    secret: 'credentialId publicKey',
    work: 'counter',
  }),
  declareKind(ssoConfigurations, 'companyId provider redirectUris jitProvisioning createdAt updatedAt', {
    secret: 'clientSecret',
  }),
  declareKind(socialConfigurations, 'companyId providers updatedAt'),
  declareKind(userIdentities, 'userId companyId issuer subject createdAt'),
  declareKind(
    users,
    'id companyId email name externalId isOwner isActive isVerified mfaEnabled activatedAt teams metadata lastLoginAt createdAt updatedAt deletedAt',
    { secret: 'passwordHash', work: 'sessionEpoch' },
  ),
  declareKind(invitations, 'userId companyId inviter expiresAt', { secret: 'digest' }),
  declareKind(
    visualizations,
    'id companyId name slug description sql chart parameters embeddedUntil version createdByUserId createdAt updatedAt',
  ),
  declareKind(
    vizApiEndpoints,
    'id companyId name slug description visualizationId cacheSeconds status version createdAt updatedAt',
  ),
  declareNotExported(companyErasures, HIDING_REASONS.work),
  declareNotExported(dataJobs, HIDING_REASONS.work),
  declareNotExported(
    mailRequests,
    HIDING_REASONS.work,
    'id',
    'companyId',
    'kind',
    'email',
    'notice',
    'about',
    'requestedAt',
  ),
  declareNotExported(outbox, HIDING_REASONS.work),
  declareNotExported(events, HIDING_REASONS.work),
  declareNotExported(embedKeys, HIDING_REASONS.secret),
  declareNotExported(embedRevocations, HIDING_REASONS.work),
  declareNotExported(passwordlessCodes, HIDING_REASONS.secret, 'companyId', 'purpose', 'email', 'expiresAt', 'usedAt'),
  declareNotExported(usedTotpSteps, HIDING_REASONS.work, 'companyId', 'factorId', 'step'),
  declareNotExported(backupCodes, HIDING_REASONS.secret, 'companyId', 'factorId'),
  declareNotExported(
    pendingSecondFactors,
    HIDING_REASONS.secret,
    'companyId',
    'userId',
    'purpose',
    'createdAt',
    'expiresAt',
  ),
  declareNotExported(passwordResets, HIDING_REASONS.secret, 'companyId', 'userId', 'expiresAt', 'usedAt'),
  declareNotExported(ssoLogins, HIDING_REASONS.secret),
  declareNotExported(ssoAssertions, HIDING_REASONS.work),
  declareNotExported(ssoCodes, HIDING_REASONS.secret, 'companyId', 'userId', 'expiresAt'),
  declareNotExported(spentPasskeyChallenges, 'of no company'),
  declareNotExported(spentSocialTokens, 'of no company'),
  declareNotExported(oauthPublicClients, 'of no company'),
  declareNotExported(oauthDevices, 'of no company'),
  declareNotExported(userCounts, HIDING_REASONS.derived),
  declareNotExported(
    accountUsers,
    HIDING_REASONS.derived,
    'companyId',
    'accountId',
    'userId',
    'email',
    'createdAt',
    'updatedAt',
    'lastLoginAt',
  ),
  declareNotExported(accountUserCounts, HIDING_REASONS.derived),
];

export const selectColumns = (table: SQLiteTable, isMeant: (name: string) => boolean): SQLiteColumn[] =>
  Object.entries(getTableColumns(table)).flatMap(([name, column]) => (isMeant(name) ? column : []));

const KIND_BY_TABLE = new Map(TABLE_KINDS.map((each) => [each.table, each]));

/** The columns of a table that are shown to a person whom a row is about, or to whoever asks for them. */
export function listPersonalColumns(table: SQLiteTable): SQLiteColumn[] {
  const { columns = {}, personal = [] } = KIND_BY_TABLE.get(table) ?? {};
  return selectColumns(table, (name) => columns[name] === true || personal.includes(name));
}

/** The names of columns whose number is a time. */
const TIME_COLUMN_PATTERN = /_(?:at|until)$|^occurrence$/;

/** A value of a column as exports have it: times in ISO 8601. */
export const viewValue = ({ name }: SQLiteColumn, value: unknown): unknown =>
  typeof value === 'number' && TIME_COLUMN_PATTERN.test(name) ? new Date(value).toISOString() : value;
