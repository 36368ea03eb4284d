/** A condition that looks like a guard but is none: without it, no concurrent request could do harm. */
interface UnguardedCondition {
  reason: string;
  file: string;
  /** The top-level declaration that contains the condition. */
  in?: string;
  /** A part of the condition's text. */
  text: string;
}

const makeUnguardedConditions = (
  reason: string,
  ...entries: [file: string, declaration: string | undefined, text: string][]
): UnguardedCondition[] =>
  entries.map(([file, declaration, text]) => ({
    reason,
    file,
    text,
    ...(declaration && { in: declaration }),
  }));

const MODULES_FOLDER = 'src/modules';
const ACCOUNT_STORE = `${MODULES_FOLDER}/accounts/store.ts`;
const DATABASE_STORE = `${MODULES_FOLDER}/managed-database/store.ts`;
const SECOND_FACTOR_STORE = `${MODULES_FOLDER}/sign-in/second-factor-store.ts`;
const PROOF_STORE = `${MODULES_FOLDER}/sign-in/proof-store.ts`;
const GROUP_PERMISSION_STORE = `${MODULES_FOLDER}/groups/permission-store.ts`;
const MAIL_STORE = `${MODULES_FOLDER}/mails/store.ts`;
const SCHEDULE_STORE = `${MODULES_FOLDER}/schedules/store.ts`;
const SCHEDULE_RUN_STORE = `${MODULES_FOLDER}/schedules/run-store.ts`;
const SERVICE_ACCOUNT_STORE = `${MODULES_FOLDER}/service-accounts/store.ts`;
const SESSION_QUERIES = `${MODULES_FOLDER}/sessions/queries.ts`;
const SSO_STORE = `${MODULES_FOLDER}/single-sign-on/store.ts`;
const COMPANY_END_FOLDER = `${MODULES_FOLDER}/organizations/end`;
const TABLE_STORE = `${MODULES_FOLDER}/managed-tables/store.ts`;

/** Makes conditions of the Durable Object that sends webhooks to one endpoint. */
const makeSenderConditions = (reason: string, ...texts: string[]): UnguardedCondition[] =>
  makeUnguardedConditions(
    reason,
    ...texts.map((text) => ['src/objects/webhook-sender.ts', 'WebhookSender', text] as [string, string, string]),
  );

export const UNGUARDED_CONDITIONS: readonly UnguardedCondition[] = [
  ...makeUnguardedConditions('of an export that has ended nobody asks whether it was the operator’s', [
    `${MODULES_FOLDER}/company-exports/store.ts`,
    'markRequestedByOperator',
    'isUnfinished',
  ]),
  ...makeUnguardedConditions(
    'says which rows are meant: the tests of what the statement does fail without it',
    [ACCOUNT_STORE, 'clearDefault', 'eq(accounts.isDefault, true)'],
    [`${MODULES_FOLDER}/groups/store.ts`, 'deleteBinding', 'isListedBinding(filter)'],
    [GROUP_PERMISSION_STORE, 'deleteGroupPermissions', 'inArray(groupPermissions.permissionId'],
    [GROUP_PERMISSION_STORE, 'deleteOtherGroupPermissions', 'notInArray'],
    [`${MODULES_FOLDER}/dashboards/store.ts`, 'replaceLinks', 'dashboards.id = ${id}'],
    [`${MODULES_FOLDER}/groups/user-group-store.ts`, 'deleteUserFromGroups', 'inArray(groupBindings.groupId'],
    [SERVICE_ACCOUNT_STORE, 'endServiceAccount', 'isBindingOfPrincipal('],
    [`${MODULES_FOLDER}/users/store.ts`, 'removeMemberships', 'isBindingOfPrincipal('],
    [`${MODULES_FOLDER}/outbox/store.ts`, 'deleteRows', 'isRowAmong(rows)'],
    [`${MODULES_FOLDER}/outbox/store.ts`, 'setDueAt', 'isRowAmong(rows)'],
    [PROOF_STORE, 'useProof', 'inArray(backupCodes.digest, proof.backupDigests)'],
    [SECOND_FACTOR_STORE, 'deleteOtherBackupCodes', 'isNew'],
    [SECOND_FACTOR_STORE, 'removeAllFactors', 'isOfEnabledFactor(backupCodes.factorId)'],
    [SECOND_FACTOR_STORE, 'removeAllFactors', 'isOfEnabledFactor(usedTotpSteps.factorId)'],
    [SECOND_FACTOR_STORE, 'removeAllFactors', 'isEnabledFactor'],
    [`${MODULES_FOLDER}/uploads/resumable-store.ts`, 'deleteExpiredUploads', 'AND updated_at <= $2 ORDER BY'],
    [SCHEDULE_STORE, 'replaceRecipients', 'isRemovedRecipient'],
    [SCHEDULE_STORE, 'unsubscribeRecipient', 'isRecipient(companyId, id, recipient)'],
    [SCHEDULE_RUN_STORE, 'claimRun', 'inArray'],
    [SCHEDULE_RUN_STORE, 'deleteOldRuns', 'inArray'],
    [`${MODULES_FOLDER}/schedules/consent-store.ts`, 'deleteCountedMails', 'inArray'],
    [SCHEDULE_RUN_STORE, 'endDelivery', 'isDeliveryTo(run, recipient)'],
    [SCHEDULE_RUN_STORE, 'undoDelivery', 'isDeliveryTo(run, recipient)'],
    [SCHEDULE_RUN_STORE, 'recordValue', 'isRecipient(companyId, id, recipient)'],
    [`${MODULES_FOLDER}/managed-database/service.ts`, undefined, '${column} = ANY($1)'],
    [`${COMPANY_END_FOLDER}/control-store.ts`, 'deleteCompanyRows', 'rowid in'],
    [`${COMPANY_END_FOLDER}/store.ts`, 'claimDueErasures', 'due_at <= ${now}'],
    [`${COMPANY_END_FOLDER}/person-erasure-store.ts`, 'deleteInactiveUsers', 'isNull(users.deletedAt)'],
    [
      `${COMPANY_END_FOLDER}/person-erasure-store.ts`,
      'endSessions',
      'sql`${sessions.userId} in ${makeIdListSql(ids)}`',
    ],
    [`${COMPANY_END_FOLDER}/person-erasure-store.ts`, 'endSessions', 'isNull(sessions.endedAt)'],
    [`${COMPANY_END_FOLDER}/person-erasure-store.ts`, 'removeInviterName', 'invitations.inviter'],
    [`${COMPANY_END_FOLDER}/person-erasure-store.ts`, 'deleteRowsAboutPerson', 'isAboutPerson(companyTable'],
    [`${COMPANY_END_FOLDER}/person-erasure-store.ts`, 'replaceTexts', 'rowid = ${rowNumber}'],
  ),
  ...makeUnguardedConditions('is what the index accounts_one_default holds: a deleted account is never the default', [
    ACCOUNT_STORE,
    'clearDefault',
    'isNull(accounts.deletedAt)',
  ]),
  ...makeUnguardedConditions('is how rows are found: a delivery, which is begun once, is counted after it', [
    'drizzle/0029_consent-to-schedules.sql',
    undefined,
    'PRIMARY KEY(`run_id`, `email`)',
  ]),
  ...makeUnguardedConditions(
    'chooses what the scheduled run takes up or forgets, which whoever comes later takes up or forgets as well',
    [`${MODULES_FOLDER}/invitations/store.ts`, 'deleteExpiredInvitations', 'lt('],
    [MAIL_STORE, 'claimDueRequests', 'lte('],
    [MAIL_STORE, 'giveUpRequests', '('],
    [MAIL_STORE, 'deleteFinishedRequests', '('],
    [DATABASE_STORE, 'claimDueRows', 'lte(managedDatabases.sweepAt, now)'],
    [DATABASE_STORE, 'claimDueRows', 'in ${dueRows}'],
    [`${MODULES_FOLDER}/password-reset/store.ts`, 'deleteExpiredResets', 'lt('],
    [`${MODULES_FOLDER}/sign-in/store.ts`, 'deleteOldNetworks', 'lt('],
    [`${MODULES_FOLDER}/sign-in/store.ts`, 'deleteExpiredCodes', 'lt('],
    [SECOND_FACTOR_STORE, 'deleteExpiredSecondFactors', 'lt('],
    [`${MODULES_FOLDER}/passkeys/store.ts`, 'deleteOldChallenges', 'lte('],
    [SESSION_QUERIES, 'deleteExpiredSessions', 'lt('],
    [`${MODULES_FOLDER}/oauth/store.ts`, 'deleteExpiredRows', 'lt('],
    [SSO_STORE, 'deleteExpired', 'lte('],
    [`${MODULES_FOLDER}/social-sign-in/store.ts`, 'deleteOldUsedTokens', 'lte('],
    [`${MODULES_FOLDER}/uploads/sweep-store.ts`, undefined, '${isEndedSql}'],
    [`${MODULES_FOLDER}/uploads/sweep-store.ts`, undefined, 'updated_at <= $2'],
  ),
  ...makeUnguardedConditions(
    'spares a write that would change nothing, or only when something ended that has ended already',
    [`${MODULES_FOLDER}/knowledge/resources/store.ts`, 'setValidationErrors', 'ne(resources.validationErrors, errors)'],
    [SERVICE_ACCOUNT_STORE, 'endServiceAccount', 'eq(apiKeys.isActive, true)'],
    [SESSION_QUERIES, 'endUserSessions', 'isLiveSession(owner, now)'],
    [SESSION_QUERIES, 'endUserGrants', 'isNull(oauthGrants.endedAt)'],
    [SESSION_QUERIES, 'endSessionsOfInactiveUser', 'isNull(sessions.endedAt)'],
    [`${MODULES_FOLDER}/users/store.ts`, 'endPasswordResets', 'isNull(passwordResets.usedAt)'],
    [`${MODULES_FOLDER}/users/store.ts`, 'markEmailVerified', 'eq(users.isVerified, false)'],
    ['src/kernel/fixed-window.ts', 'FixedWindows', '!this.#windows.has'],
  ),
  ...makeUnguardedConditions(
    'is a name for conditions that are listed where they stand',
    [`${MODULES_FOLDER}/visualizations/store.ts`, 'insertVisualization', 'sql`true`'],
    [PROOF_STORE, 'useProof', 'condition ?? sql`true`'],
    [SECOND_FACTOR_STORE, 'insertBackupCodes', '${condition}'],
    [`${MODULES_FOLDER}/passkeys/store.ts`, 'insertSpentChallenge', 'condition'],
    [`${MODULES_FOLDER}/users/store.ts`, 'endSignInsInProgress', 'writeCondition'],
    ['src/db/statements.ts', 'HAS_CHANGED_ROWS', 'changes() > 0'],
    [`${MODULES_FOLDER}/uploads/job-store.ts`, undefined, '${isAtStepSql}'],
  ),
  ...makeUnguardedConditions(
    'is of a table that is held against every other change, and was there when it was held',
    [TABLE_STORE, undefined, '${CURRENT_TABLE_CONDITION}'],
    [`${MODULES_FOLDER}/managed-tables/trash-store.ts`, 'markDeleted', '${CURRENT_TABLE_CONDITION}'],
  ),
  ...makeUnguardedConditions(
    'holds values that are drawn at random or digests of such: no rule leans on it',
    ['drizzle/0000_identity.sql', undefined, '`api_keys_access_key`'],
    ['drizzle/0041_oauth.sql', undefined, '`oauth_grants_code_digest_unique`'],
    ['drizzle/0041_oauth.sql', undefined, '`oauth_devices_user_code_digest_unique`'],
    ['drizzle/0004_ways_in.sql', undefined, '`invitations_digest_unique`'],
    ['drizzle/0004_ways_in.sql', undefined, 'PRIMARY KEY(`factor_id`, `digest`)'],
    ['drizzle/0010_sharing.sql', undefined, '`dashboard_shares_token`'],
  ),
  ...makeUnguardedConditions(
    'is the target of an ON CONFLICT, without which every test of the statement fails',
    ['drizzle/0000_identity.sql', undefined, 'PRIMARY KEY(`group_id`, `permission_id`)'],
    ['drizzle/0000_identity.sql', undefined, 'PRIMARY KEY(`group_id`, `policy_id`)'],
    ['drizzle/0006_account_users.sql', undefined, 'PRIMARY KEY(`account_id`, `user_id`)'],
    ['drizzle/0010_sharing.sql', undefined, 'PRIMARY KEY(`company_id`, `purpose`, `email`)'],
    ['drizzle/0014_sign-ins-and-settings.sql', undefined, 'PRIMARY KEY(`user_id`, `network`)'],
  ),
  ...makeUnguardedConditions(
    'only keeps when what has ended already did so',
    [`${MODULES_FOLDER}/oauth/store.ts`, 'activateGrant', 'isNull(oauthGrants.endedAt)'],
    [`${MODULES_FOLDER}/oauth/store.ts`, 'endGrant', 'isNull(oauthGrants.endedAt)'],
    [`${MODULES_FOLDER}/oauth/store.ts`, 'endGrantsOfClient', 'isNull(oauthGrants.endedAt)'],
  ),
  ...makeUnguardedConditions(
    'orders the rows of one owner, written whole by one statement: nothing is written twice',
    ['drizzle/0007_visualizations.sql', undefined, 'PRIMARY KEY(`dashboard_id`, `visualization_id`)'],
    ['drizzle/0010_sharing.sql', undefined, 'PRIMARY KEY(`context_id`, `target_type`, `target_id`)'],
  ),
  ...makeUnguardedConditions(
    'chooses a value, and refuses nothing',
    ['src/objects/ip-limiter.ts', 'formatLimiterName', 'ip === null'],
    ['src/objects/ip-limiter.ts', 'IpLimiter', 'toNetwork'],
    ['src/objects/company-log.ts', 'CompanyLog', 'DEFAULT_RETENTION_DAYS'],
    ['src/objects/company-log.ts', 'CompanyLog', 'fullKind'],
    ['src/objects/company-log.ts', 'CompanyLog', '!cursor'],
    ['src/objects/company-log.ts', 'CompanyLog', 'fileCount < FILES_PER_CALL'],
    ['src/objects/company-log.ts', 'CompanyLog', 'redactedPart.nextKey === null'],
    ['src/objects/company-log.ts', 'CompanyLog', 'nextKind === undefined'],
  ),
  ...makeUnguardedConditions(
    'spares reads or writes that would change nothing',
    ['src/objects/company-log.ts', 'CompanyLog', 'storage.kv.get(NAME_KEY) === undefined'],
    ['src/objects/company-log.ts', 'CompanyLog', '!mover'],
    ['src/objects/company-log.ts', 'CompanyLog', 'writtenCount > 0'],
    ['src/objects/company-log.ts', 'CompanyLog', 'records.length > 0'],
    ['src/objects/company-log.ts', 'CompanyLog', 'parts.length > 0'],
    ['src/objects/company-log.ts', 'CompanyLog', 'kindRecords.length > 0'],
    ['src/objects/token-limiter.ts', 'TokenLimiter', 'getAlarm()'],
    ['src/objects/token-limiter.ts', 'TokenLimiter', 'nextEnd !== null'],
  ),
  ...makeUnguardedConditions(
    'ends a run of moving, after which the next goes on',
    ['src/objects/company-log.ts', 'CompanyLog', 'name === undefined'],
    ['src/objects/company-log.ts', 'CompanyLog', 'Date.now() > deadline'],
    ['src/objects/company-log.ts', 'CompanyLog', 'await'],
  ),
  ...makeUnguardedConditions('spares memory', ['src/kernel/fixed-window.ts', 'FixedWindows', 'SWEEP_KEY_COUNT']),
  ...makeUnguardedConditions(
    'says which tables there are: nobody else makes or drops any',
    ['src/objects/nonces.ts', 'Nonces', 'type = '],
    ['src/objects/nonces.ts', 'Nonces', 'names.includes'],
    ['src/objects/nonces.ts', 'Nonces', 'name = '],
    ['src/objects/nonces.ts', 'Nonces', 'this.#hours.size === 0'],
    ['src/objects/idempotency-keys.ts', 'IdempotencyKeys', 'type = '],
    ['src/objects/idempotency-keys.ts', 'IdempotencyKeys', 'this.#days.size === 0'],
  ),
  ...makeUnguardedConditions(
    'finds the row of a key, which the id of its request decides on',
    ['src/objects/idempotency-keys.ts', 'IdempotencyKeys', 'sender_id = '],
    ['src/objects/idempotency-keys.ts', 'IdempotencyKeys', 'key = '],
    ['src/objects/idempotency-keys.ts', 'IdempotencyKeys', 'PRIMARY KEY'],
  ),
  ...makeUnguardedConditions('goes on while there are more slices, each of which is counted in one turn', [
    'src/objects/company-log.ts',
    'CompanyLog',
    'countViews',
  ]),
  ...makeUnguardedConditions(
    'finds a nonce: `admit` has looked for it before it adds one, and waits for nothing in between',
    ['src/objects/nonces.ts', 'Nonces', 'PRIMARY KEY'],
  ),
  ...makeUnguardedConditions('is of a table that another migration makes anew', [
    'drizzle/0004_ways_in.sql',
    undefined,
    'PRIMARY KEY(`company_id`, `email`)',
  ]),
  ...makeUnguardedConditions('makes the tables of a log that is not erased, which take nothing in one that is', [
    'src/objects/company-log.ts',
    'CompanyLog',
    '!this.#isErased',
  ]),
  ...makeUnguardedConditions(
    'counts users who are removed for good, which the end of their company and an operator’s SQL do',
    ['drizzle/0003_user_counts.sql', undefined, '`users_counted_when_purged`'],
  ),
  ...makeUnguardedConditions(
    'tells an event: the tests of what is told fail without it',
    ['drizzle/0038_tell-events.sql', undefined, 'tell_'],
    ['drizzle/0038_tell-events.sql', undefined, 'webhook_endpoint_disabled'],
    ['drizzle/0045_tell-schedules-whole.sql', undefined, 'tell_schedule_'],
    [`${MODULES_FOLDER}/managed-database/migrations/0010_events.ts`, undefined, 'CREATE TRIGGER'],
  ),
  ...makeUnguardedConditions('ends the pages of what is looked through', [
    'src/objects/webhook-sender.ts',
    'WebhookSender',
    'rows.length < BODIES_PER_BATCH',
  ]),
  ...makeUnguardedConditions(
    'says which events are meant, which are told again under the same ids where they stay',
    [`${MODULES_FOLDER}/webhooks/deliver.ts`, undefined, 'id = ANY'],
    [`${MODULES_FOLDER}/webhooks/store.ts`, 'insertEvents', 'exists'],
    [`${MODULES_FOLDER}/webhooks/store.ts`, 'deleteEventsWithoutEndpoint', '('],
  ),
  ...makeUnguardedConditions('says which groups are told to have changed', [
    `${MODULES_FOLDER}/legacy-permissions/store.ts`,
    'deletePermission',
    'groups.id',
  ]),
  ...makeSenderConditions('counts batches, of which some more may wait', 'later = '),
  ...makeSenderConditions('spares storage in one turn of the object', 'isDatabaseFull', 'deleteOldest().length > 0'),
  ...makeUnguardedConditions('finds fast what another condition holds to', [
    `${MODULES_FOLDER}/webhooks/store.ts`,
    'deleteEvents',
    'inArray(events.id',
  ]),
  ...makeUnguardedConditions(
    'says whom to tell that there is more, who look for themselves',
    ['src/objects/company-log.ts', 'CompanyLog', 'listFollowedKinds'],
    ['src/objects/company-log.ts', 'CompanyLog', 'companyId === undefined'],
  ),
  ...makeSenderConditions(
    'says which deliveries are meant: those that wait, are due, have failed or are still kept',
    ...['status = ', 'nextAttemptAt <= ', 'id = '],
  ),
  ...makeSenderConditions('spares a mark that the next try would take back', 'this.#underWay.has'),
  ...makeSenderConditions('says whether there is a delivery', 'updatedRows.toArray().length === 0'),
  ...makeSenderConditions(
    'spares an alarm that would find nothing to do, or asks for the earlier of two',
    ...['newDeliveryIds.length > 0', 'resentRows.length > 0', 'alarm === null', 'alarm > at', 'alarm > alarmAt'],
    ...['nextAttemptAt === null', 'oldestCreatedAt === null'],
  ),
  ...makeSenderConditions(
    'says what became of a try, and when the next one is: the tests of deliveries fail without it',
    ...[
      'status !== null',
      'status >= 200',
      'status < 300',
      'status === 410',
      'waitSeconds === undefined',
      'isDelivered',
    ],
    ...[
      'clock.now',
      'failingSince >= maxFailingMs',
      'DEFAULT_RETRY_SECONDS',
      'DEFAULT_DISABLE_AFTER_SECONDS',
      'resumed',
    ],
  ),
  ...makeSenderConditions(
    'is asked before a run, before each try and after it, each of which holds by itself',
    ...['sendingDelay === null', 'endpoint.status', 'this.#getSendingDelay()) !== null'],
  ),
  ...makeSenderConditions(
    'ends an object whose endpoint is gone, as its deletion has',
    'sendingDelay',
    'endpoint === null',
    '!found',
  ),
  ...makeSenderConditions(
    'bounds a run, after which the next one goes on',
    ...['clock.now() < deadline', 'this.#remainingAttempts > 0', 'due', 'this.#underWay.size > 0'],
  ),
  ...makeSenderConditions('spares reading the endpoint anew before each try of one second', 'known'),
];
