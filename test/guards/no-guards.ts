/** What looks like a guard and is none: nothing goes wrong without it that a rival could bring about. */
interface NoGuard {
  because: string;
  file: string;
  /** The top-level declaration it stands in. */
  in?: string;
  /** A part of it. */
  text: string;
}

const toNoGuards = (
  because: string,
  ...places: [file: string, declaration: string | undefined, text: string][]
): NoGuard[] =>
  places.map(([file, declaration, text]) => ({ because, file, text, ...(declaration && { in: declaration }) }));

const MODULES = 'src/modules';
const ACCOUNTS = `${MODULES}/accounts/store.ts`;
const DATABASES = `${MODULES}/managed-database/store.ts`;
const FACTORS = `${MODULES}/sign-in/second-factor-store.ts`;
const PROOFS = `${MODULES}/sign-in/proof-store.ts`;
const GROUP_PERMISSIONS = `${MODULES}/groups/permission-store.ts`;
const MAILS = `${MODULES}/mails/store.ts`;
const SCHEDULES = `${MODULES}/schedules/store.ts`;
const SCHEDULE_RUNS = `${MODULES}/schedules/run-store.ts`;
const SERVICE_ACCOUNTS = `${MODULES}/service-accounts/store.ts`;
const SESSIONS = `${MODULES}/sessions/queries.ts`;
const SSO = `${MODULES}/single-sign-on/store.ts`;
const ENDS = `${MODULES}/organizations/end`;
const TABLES = `${MODULES}/managed-tables/store.ts`;

/** Of the object that sends to one endpoint. */
const toSenderNoGuards = (because: string, ...texts: string[]): NoGuard[] =>
  toNoGuards(
    because,
    ...texts.map((text) => ['src/objects/webhook-sender.ts', 'WebhookSender', text] as [string, string, string]),
  );

export const NO_GUARDS: readonly NoGuard[] = [
  ...toNoGuards('of an export that has ended nobody asks whether it was the operator’s', [
    `${MODULES}/company-exports/store.ts`,
    'joinAsOperator',
    'isUnfinished',
  ]),
  ...toNoGuards(
    'says which rows are meant: the tests of what the statement does fail without it',
    [ACCOUNTS, 'clearDefault', 'eq(accounts.isDefault, true)'],
    [GROUP_PERMISSIONS, 'deleteGroupPermissions', 'inArray(groupPermissions.permissionId'],
    [GROUP_PERMISSIONS, 'deleteOtherGroupPermissions', 'notInArray'],
    [`${MODULES}/dashboards/store.ts`, 'replaceLinks', 'dashboards.id = ${id}'],
    [`${MODULES}/groups/user-group-store.ts`, 'leaveGroups', 'inArray(groupBindings.groupId'],
    [SERVICE_ACCOUNTS, 'endServiceAccount', 'isBindingOfPrincipal('],
    [`${MODULES}/users/store.ts`, 'removeMemberships', 'isBindingOfPrincipal('],
    [`${MODULES}/outbox/store.ts`, 'deleteRows', 'isOneOf(rows)'],
    [`${MODULES}/outbox/store.ts`, 'makeDue', 'isOneOf(rows)'],
    [PROOFS, 'useProof', 'inArray(backupCodes.digest, proof.backupDigests)'],
    [FACTORS, 'deleteOtherBackupCodes', 'isNew'],
    [FACTORS, 'takeFactors', 'ofEnabled(backupCodes.factorId)'],
    [FACTORS, 'takeFactors', 'ofEnabled(usedTotpSteps.factorId)'],
    [FACTORS, 'takeFactors', 'enabled'],
    [`${MODULES}/uploads/resumable-store.ts`, 'deleteExpired', 'AND updated_at <= $2 ORDER BY'],
    [SCHEDULES, 'replaceRecipients', 'takenOff'],
    [SCHEDULES, 'unsubscribe', 'isRecipient(companyId, id, recipient)'],
    [SCHEDULE_RUNS, 'claimRun', 'inArray'],
    [SCHEDULE_RUNS, 'deleteOldRuns', 'inArray'],
    [`${MODULES}/schedules/consent-store.ts`, 'deleteCounted', 'inArray'],
    [SCHEDULE_RUNS, 'endDelivery', 'isDeliveryTo(run, recipient)'],
    [SCHEDULE_RUNS, 'undoDelivery', 'isDeliveryTo(run, recipient)'],
    [SCHEDULE_RUNS, 'recordValue', 'isRecipient(run.companyId, run.scheduleId, recipient)'],
    [`${MODULES}/managed-database/service.ts`, undefined, '${column} = ANY($1)'],
    [`${ENDS}/control-store.ts`, 'deleteRows', 'rowid in'],
    [`${ENDS}/store.ts`, 'claimDue', 'due_at <= ${now}'],
    [`${ENDS}/people-store.ts`, 'deleteInactive', 'isNull(users.deletedAt)'],
    [`${ENDS}/people-store.ts`, 'endSessions', 'sql`${sessions.userId} in ${idListSql(ids)}`'],
    [`${ENDS}/people-store.ts`, 'endSessions', 'isNull(sessions.endedAt)'],
    [`${ENDS}/people-store.ts`, 'forgetInviter', 'invitations.inviter'],
    [`${ENDS}/people-store.ts`, 'deleteRowsAboutPerson', 'isAboutPerson(held'],
    [`${ENDS}/people-store.ts`, 'replaceTexts', 'rowid = ${rowNumber}'],
  ),
  ...toNoGuards('is what the index accounts_one_default holds: a deleted account is never the default', [
    ACCOUNTS,
    'clearDefault',
    'isNull(accounts.deletedAt)',
  ]),
  ...toNoGuards('is how rows are found: a delivery, which is begun once, is counted after it', [
    'drizzle/0029_consent-to-schedules.sql',
    undefined,
    'PRIMARY KEY(`run_id`, `email`)',
  ]),
  ...toNoGuards(
    'chooses what the scheduled run takes up or forgets, which whoever comes later takes up or forgets as well',
    [`${MODULES}/invitations/store.ts`, 'deleteExpired', 'lt('],
    [MAILS, 'claimDue', 'lte('],
    [MAILS, 'giveUp', '('],
    [MAILS, 'deleteDone', '('],
    [DATABASES, 'claimDue', 'lte(managedDatabases.sweepAt, now)'],
    [DATABASES, 'claimDue', 'in ${due}'],
    [`${MODULES}/password-reset/store.ts`, 'deleteExpired', 'lt('],
    [`${MODULES}/sign-in/network-store.ts`, 'deleteOldNetworks', 'lt('],
    [`${MODULES}/sign-in/passwordless-store.ts`, 'deleteExpiredCodes', 'lt('],
    [FACTORS, 'deleteExpiredSecondFactors', 'lt('],
    [`${MODULES}/passkeys/store.ts`, 'deleteOldChallenges', 'lte('],
    [SESSIONS, 'deleteExpiredSessions', 'lt('],
    [`${MODULES}/oauth/store.ts`, 'deleteExpired', 'lt('],
    [SSO, 'deleteExpired', 'lte('],
    [`${MODULES}/social-sign-in/store.ts`, 'deleteOldUsedTokens', 'lte('],
    [`${MODULES}/uploads/sweep-store.ts`, undefined, '${ended}'],
    [`${MODULES}/uploads/sweep-store.ts`, undefined, 'updated_at <= $2'],
  ),
  ...toNoGuards(
    'spares a write that would change nothing, or only when something ended that has ended already',
    [`${MODULES}/knowledge/resources/store.ts`, 'setValidationErrors', 'ne(resources.validationErrors, errors)'],
    [SERVICE_ACCOUNTS, 'endServiceAccount', 'eq(apiKeys.isActive, true)'],
    [SESSIONS, 'endUserSessions', 'isLiveSession(owner, now)'],
    [SESSIONS, 'endUserGrants', 'isNull(oauthGrants.endedAt)'],
    [SESSIONS, 'endSessionsOfInactiveUser', 'isNull(sessions.endedAt)'],
    [`${MODULES}/users/store.ts`, 'endResets', 'isNull(passwordResets.usedAt)'],
    [`${MODULES}/users/store.ts`, 'recordVerified', 'eq(users.isVerified, false)'],
    ['src/kernel/fixed-window.ts', 'FixedWindows', '!this.#windows.has'],
  ),
  ...toNoGuards(
    'is a name for conditions that are listed where they stand',
    [`${MODULES}/visualizations/store.ts`, 'insertVisualization', 'sql`true`'],
    [PROOFS, 'useProof', 'when ?? sql`true`'],
    [FACTORS, 'insertBackupCodes', '${when}'],
    [`${MODULES}/passkeys/store.ts`, 'insertSpentChallenge', 'when'],
    [`${MODULES}/users/store.ts`, 'endSignInsUnderWay', 'when'],
    ['src/db/statements.ts', 'afterChange', 'changes() > 0'],
    [`${MODULES}/uploads/work-store.ts`, undefined, '${here}'],
  ),
  ...toNoGuards(
    'is of a table that is held against every other change, and was there when it was held',
    [TABLES, undefined, '${LIVING_TABLE_CONDITION}'],
    [`${MODULES}/managed-tables/trash-store.ts`, 'markDeleted', '${LIVING_TABLE_CONDITION}'],
  ),
  ...toNoGuards(
    'holds values that are drawn at random or digests of such: no rule leans on it',
    ['drizzle/0000_identity.sql', undefined, '`api_keys_access_key`'],
    ['drizzle/0041_oauth.sql', undefined, '`oauth_grants_code_digest_unique`'],
    ['drizzle/0041_oauth.sql', undefined, '`oauth_devices_user_code_digest_unique`'],
    ['drizzle/0004_ways_in.sql', undefined, '`invitations_digest_unique`'],
    ['drizzle/0004_ways_in.sql', undefined, 'PRIMARY KEY(`factor_id`, `digest`)'],
    ['drizzle/0010_sharing.sql', undefined, '`dashboard_shares_token`'],
  ),
  ...toNoGuards(
    'is the target of an ON CONFLICT, without which every test of the statement fails',
    ['drizzle/0000_identity.sql', undefined, 'PRIMARY KEY(`group_id`, `permission_id`)'],
    ['drizzle/0000_identity.sql', undefined, 'PRIMARY KEY(`group_id`, `policy_id`)'],
    ['drizzle/0006_account_users.sql', undefined, 'PRIMARY KEY(`account_id`, `user_id`)'],
    ['drizzle/0010_sharing.sql', undefined, 'PRIMARY KEY(`company_id`, `purpose`, `email`)'],
    ['drizzle/0014_sign-ins-and-settings.sql', undefined, 'PRIMARY KEY(`user_id`, `network`)'],
  ),
  ...toNoGuards(
    'only keeps when what has ended already did so',
    [`${MODULES}/oauth/store.ts`, 'beginGrant', 'isNull(oauthGrants.endedAt)'],
    [`${MODULES}/oauth/store.ts`, 'endGrant', 'isNull(oauthGrants.endedAt)'],
    [`${MODULES}/oauth/store.ts`, 'endGrantsOfClient', 'isNull(oauthGrants.endedAt)'],
  ),
  ...toNoGuards(
    'orders the rows of one owner, written whole by one statement: nothing is written twice',
    ['drizzle/0007_visualizations.sql', undefined, 'PRIMARY KEY(`dashboard_id`, `visualization_id`)'],
    ['drizzle/0010_sharing.sql', undefined, 'PRIMARY KEY(`context_id`, `target_type`, `target_id`)'],
  ),
  ...toNoGuards(
    'chooses a value, and refuses nothing',
    ['src/objects/ip-limiter.ts', 'formatLimiterName', 'ip === null'],
    ['src/objects/ip-limiter.ts', 'IpLimiter', 'toNetwork'],
    ['src/objects/company-log.ts', 'CompanyLog', 'DEFAULT_RETENTION_DAYS'],
    ['src/objects/company-log.ts', 'CompanyLog', 'fullest'],
    ['src/objects/company-log.ts', 'CompanyLog', '!cursor'],
    ['src/objects/company-log.ts', 'CompanyLog', 'files < FILES_A_CALL'],
    ['src/objects/company-log.ts', 'CompanyLog', 'done.next === null'],
    ['src/objects/company-log.ts', 'CompanyLog', 'next === undefined'],
  ),
  ...toNoGuards(
    'spares reads or writes that would change nothing',
    ['src/objects/company-log.ts', 'CompanyLog', 'storage.kv.get(NAME) === undefined'],
    ['src/objects/company-log.ts', 'CompanyLog', '!mover'],
    ['src/objects/company-log.ts', 'CompanyLog', 'written > 0'],
    ['src/objects/company-log.ts', 'CompanyLog', 'records.length > 0'],
    ['src/objects/company-log.ts', 'CompanyLog', 'parts.length > 0'],
    ['src/objects/company-log.ts', 'CompanyLog', 'ofKind.length > 0'],
    ['src/objects/token-limiter.ts', 'TokenLimiter', 'getAlarm()'],
    ['src/objects/token-limiter.ts', 'TokenLimiter', 'next !== null'],
  ),
  ...toNoGuards(
    'ends a run of moving, after which the next goes on',
    ['src/objects/company-log.ts', 'CompanyLog', 'name === undefined'],
    ['src/objects/company-log.ts', 'CompanyLog', 'Date.now() > until'],
    ['src/objects/company-log.ts', 'CompanyLog', 'await'],
  ),
  ...toNoGuards('spares memory', ['src/kernel/fixed-window.ts', 'FixedWindows', 'SWEEP_AT']),
  ...toNoGuards(
    'says which tables there are: nobody else makes or drops any',
    ['src/objects/nonces.ts', 'Nonces', 'type = '],
    ['src/objects/nonces.ts', 'Nonces', 'names.includes'],
    ['src/objects/nonces.ts', 'Nonces', 'name = '],
    ['src/objects/nonces.ts', 'Nonces', 'this.#hours.size === 0'],
    ['src/objects/idempotency-keys.ts', 'IdempotencyKeys', 'type = '],
    ['src/objects/idempotency-keys.ts', 'IdempotencyKeys', 'this.#days.size === 0'],
  ),
  ...toNoGuards(
    'finds the row of a key, which the id of its request decides on',
    ['src/objects/idempotency-keys.ts', 'IdempotencyKeys', 'sender_id = '],
    ['src/objects/idempotency-keys.ts', 'IdempotencyKeys', 'key = '],
    ['src/objects/idempotency-keys.ts', 'IdempotencyKeys', 'PRIMARY KEY'],
  ),
  ...toNoGuards('goes on while there are more slices, each of which is counted in one turn', [
    'src/objects/company-log.ts',
    'CompanyLog',
    'countViews',
  ]),
  ...toNoGuards('finds a nonce: `admit` has looked for it before it adds one, and waits for nothing in between', [
    'src/objects/nonces.ts',
    'Nonces',
    'PRIMARY KEY',
  ]),
  ...toNoGuards('is of a table that another migration makes anew', [
    'drizzle/0004_ways_in.sql',
    undefined,
    'PRIMARY KEY(`company_id`, `email`)',
  ]),
  ...toNoGuards('makes the tables of a log that is not erased, which take nothing in one that is', [
    'src/objects/company-log.ts',
    'CompanyLog',
    '!this.#isErased',
  ]),
  ...toNoGuards('counts users who are removed for good, which the end of their company and an operator’s SQL do', [
    'drizzle/0003_user_counts.sql',
    undefined,
    '`users_counted_when_purged`',
  ]),
  ...toNoGuards(
    'tells an event: the tests of what is told fail without it',
    ['drizzle/0038_tell-events.sql', undefined, 'tell_'],
    ['drizzle/0038_tell-events.sql', undefined, 'webhook_endpoint_disabled'],
    ['drizzle/0045_tell-schedules-whole.sql', undefined, 'tell_schedule_'],
    [`${MODULES}/managed-database/migrations/0010_events.ts`, undefined, 'CREATE TRIGGER'],
  ),
  ...toNoGuards('ends the pages of what is looked through', [
    'src/objects/webhook-sender.ts',
    'WebhookSender',
    'rows.length < BODIES_PER_BATCH',
  ]),
  ...toNoGuards(
    'says which events are meant, which are told again under the same ids where they stay',
    [`${MODULES}/webhooks/tell.ts`, undefined, 'id = ANY'],
    [`${MODULES}/webhooks/store.ts`, 'insertEvents', 'exists'],
    [`${MODULES}/webhooks/store.ts`, 'deleteEventsWithoutEndpoint', '('],
  ),
  ...toNoGuards('finds fast what another condition holds to', [
    `${MODULES}/webhooks/store.ts`,
    'deleteEvents',
    'inArray(events.id',
  ]),
  ...toNoGuards(
    'says whom to tell that there is more, who look for themselves',
    ['src/objects/company-log.ts', 'CompanyLog', 'listFollowedKinds'],
    ['src/objects/company-log.ts', 'CompanyLog', 'companyId === undefined'],
  ),
  ...toSenderNoGuards(
    'says which deliveries are meant: those that wait, are due, have failed or are still kept',
    ...['status = ', 'nextAttemptAt <= ', 'id = '],
  ),
  ...toSenderNoGuards('spares a mark that the next try would take back', 'this.#underWay.has'),
  ...toSenderNoGuards('says whether there is a delivery', 'found.toArray().length === 0'),
  ...toSenderNoGuards(
    'spares an alarm that would find nothing to do, or asks for the earlier of two',
    ...['taken.length > 0', 'found.length > 0', 'alarm === null', 'alarm > at', 'alarm > due'],
    ...['next === null', 'oldest === null'],
  ),
  ...toSenderNoGuards(
    'says what became of a try, and when the next one is: the tests of deliveries fail without it',
    ...['status !== null', 'status >= 200', 'status < 300', 'status === 410', 'wait === undefined', 'isDelivered'],
    ...['clock.now', 'since >= longest', 'DEFAULT_RETRY_SECONDS', 'DEFAULT_DISABLE_AFTER_SECONDS', 'resumed'],
  ),
  ...toSenderNoGuards(
    'is asked before a run, before each try and after it, each of which holds by itself',
    ...['waits === null', 'endpoint.status', 'this.#getSendingDelay()) !== null'],
  ),
  ...toSenderNoGuards(
    'ends an object whose endpoint is gone, as its deletion has',
    'waits',
    'endpoint === null',
    '!found',
  ),
  ...toSenderNoGuards(
    'bounds a run, after which the next one goes on',
    ...['clock.now() < until', 'this.#left > 0', 'due', 'this.#underWay.size > 0'],
  ),
  ...toSenderNoGuards('spares reading the endpoint anew before each try of one second', 'known'),
];
