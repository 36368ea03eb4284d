import { makeGuards } from '../guard.ts';

const RACE_TESTS = ['test/schedules/races.test.ts'];
const DUE_SCHEDULE_TESTS = ['test/schedules/due.test.ts'];
const RUN_TESTS = ['test/schedules/runs.test.ts'];
const FAILURE_TESTS = ['test/schedules/failures.test.ts'];
const EXPOSURE_CASE = { tests: ['test/viewing/changes-of-shared.sharing.test.ts'], title: 'in any way' };
const CONDITION_TESTS = ['test/schedules/conditions.test.ts'];
const SCHEDULE_TESTS = ['test/schedules/schedules.console.test.ts'];
const UNSUBSCRIPTION_TESTS = ['test/schedules/unsubscribing.test.ts'];
const CONSENT_TESTS = ['test/schedules/consent.test.ts'];

export const SCHEDULE_GUARDS = [
  ...makeGuards('src/modules/schedules/store.ts', RACE_TESTS, [
    {
      in: 'insertSchedule',
      text: 'targetExists(record)',
      without: 'sql`true`',
      title: 'is not created for a dashboard that is deleted meanwhile',
    },
    {
      in: 'insertSchedule',
      text: ' < ${maxSchedules}`',
      without: ' < ${maxSchedules + 1_000}`',
      tests: SCHEDULE_TESTS,
      title: 'a thousand',
    },
    { in: 'updateSchedule', text: ', targetExists(scheduleUpdate)', title: 'is not changed' },
    {
      in: 'updateSchedule',
      text: ', eq(schedules.version, version)',
      title: 'keeps the changes that others make meanwhile',
    },
    { in: 'replaceRecipients', text: '    condition,\n', title: 'keeps its recipients' },
    {
      in: 'replaceRecipients',
      text: ', not(isUnsubscribedAddress)',
      tests: UNSUBSCRIPTION_TESTS,
      title: 'has ended the schedule for good',
    },
    { in: 'replaceRecipients', text: ' where ${condition}`', without: ' where true`', title: 'keeps its recipients' },
    { in: 'replaceRecipients', text: ', eq(schedules.version, version)', title: 'keeps its recipients' },
    { in: 'replaceRecipients', text: ', targetExists(scheduleUpdate)', title: 'is not changed' },
  ]),
  ...makeGuards('src/modules/schedules/run-store.ts', FAILURE_TESTS, [
    {
      in: 'insertDueRuns',
      text: " and schedules.next_run_at = handed.value ->> 'at'",
      tests: DUE_SCHEDULE_TESTS,
      title: 'is paused',
    },
    {
      in: 'insertDueRuns',
      text: " and schedules.next_run_at = value ->> 'at'",
      tests: DUE_SCHEDULE_TESTS,
      title: 'is paused',
    },
    {
      in: 'insertManualRun',
      text: 'existsSql(schedules, matchesId(schedules, companyId, scheduleId))',
      without: 'sql`true`',
      tests: RACE_TESTS,
      title: 'is not run',
    },
    { in: 'insertManualRun', text: ' < ${maxCount}`', without: ' < ${maxCount + 1_000}`', title: 'five times' },
    { in: 'claimRun', text: " ne(scheduleRuns.status, 'ended'),", tests: RUN_TESTS, title: 'delivered twice' },
    { in: 'claimRun', text: ', lte(scheduleRuns.dueAt, now)', tests: RUN_TESTS, title: 'delivered twice' },
    { in: 'endRun', text: ', HAS_CHANGED_ROWS', title: 'at its end' },
    { in: 'endRun', text: "          eq(schedules.status, 'active'),\n", title: 'notify its creator once' },
    { in: 'endRun', text: ' >= ${MAX_CONSECUTIVE_FAILURES}', without: ' >= 1', title: 'notify its creator once' },
    {
      in: 'beginDelivery',
      text: 'existsSql(scheduleRecipients, isWanted)',
      without: 'sql`true`',
      tests: UNSUBSCRIPTION_TESTS,
      title: 'gets no mail of that run',
    },
    {
      in: 'beginDelivery',
      text: 'isNull(scheduleRecipients.unsubscribedAt)',
      without: 'undefined',
      tests: UNSUBSCRIPTION_TESTS,
      title: 'gets no mail of that run',
    },
    { in: 'beginDelivery', text: '        isAllowed,\n', tests: CONSENT_TESTS, title: 'of two companies' },
    {
      in: 'beginDelivery',
      text: '        isCompanyActive(sql`${companyId}`),\n',
      tests: ['test/organizations/running-jobs.test.ts'],
      title: 'a scheduled run sends no mail during the suspension, and sends its mail once after it',
    },
    {
      in: 'recordValue',
      text: ', isAboutSameValue',
      tests: CONDITION_TESTS,
      title: 'is not compared with the value of a condition or target that was changed during its run',
    },
    { in: 'deleteOldRuns', text: ", eq(scheduleRuns.status, 'ended')", title: 'for a week' },
    { in: 'deleteOldRuns', text: 'lt(scheduleRuns.createdAt, cutoff), ', title: 'for a week' },
  ]),
  ...makeGuards('src/modules/schedules/consent-store.ts', CONSENT_TESTS, [
    {
      in: 'mayBeMailed',
      text: 'not(hasEndedMails(to)), ',
      tests: UNSUBSCRIPTION_TESTS,
      title: 'gets no mail of that run either after unsubscribing from all mails of the company',
    },
    { in: 'mayBeMailed', text: ', isBelowMailLimit(to, sentSince)', title: 'of two companies' },
    { in: 'countMail', text: 'HAS_CHANGED_ROWS', without: 'sql`true`', title: 'of two companies' },
    {
      in: 'recordConsentRequest',
      text: 'isNull(mailConsents.askedAt), ',
      title: 'is asked once when two schedules are created at the same time',
    },
    {
      in: 'recordConsentRequest',
      text: ', isNull(mailConsents.endedAt)',
      title: 'is not asked if it has agreed or refused meanwhile',
    },
    {
      in: 'recordConsentRequest',
      text: ' isNull(mailConsents.agreedAt),',
      title: 'is not asked if it has agreed or refused meanwhile',
    },
    {
      in: 'deleteCountedMails',
      text: 'lt(scheduledMails.sentAt, cutoff)',
      without: 'sql`true`',
      title: 'fifty scheduled mails',
    },
    { in: 'recordConsent', text: ', isNull(mailConsents.endedAt)', title: 'can refuse for good' },
  ]),
  ...makeGuards('drizzle/0029_consent-to-schedules.sql', CONSENT_TESTS, [
    {
      text: 'UNIQUE INDEX `mail_consents_of_address`',
      without: 'INDEX `mail_consents_of_address`',
      title: 'is asked once when two schedules are created at the same time',
    },
  ]),
  ...makeGuards('src/modules/schedules/service.ts', SCHEDULE_TESTS, [
    {
      in: 'requireMaySeeCondition',
      text: '  requireAction(ctx.actor, VIEW_ACTIONS[targetType], targetId);\n',
      title: 'may not open',
    },
    {
      in: 'requireMaySeeCondition',
      text: '  requireNotDenied(ctx, [condition.visualization_id]);\n',
      tests: CONDITION_TESTS,
      title: 'shows its last run only to users who may see the data of its condition',
    },
    {
      in: 'createSchedule',
      text: '  await requireTargetNotDenied(ctx, input);\n',
      ...EXPOSURE_CASE,
    },
    {
      in: 'changeSchedule',
      text: '      await requireTargetNotDenied(ctx, merged);\n',
      ...EXPOSURE_CASE,
    },
    {
      in: 'requireRunnableSchedule',
      text: '  await requireTargetNotDenied(ctx, schedule);\n',
      ...EXPOSURE_CASE,
    },
    { in: 'createSchedule', text: '  requireMaySeeCondition(ctx, input);\n', title: 'no condition' },
    { in: 'changeSchedule', text: '[presentSchedule, merged]', without: '[merged]', title: 'no condition' },
    {
      in: 'changeSchedule',
      text: ', merged]) requireMaySeeCondition',
      without: ']) requireMaySeeCondition',
      title: 'no condition',
    },
    { in: 'isOnlyPause', text: ' && Object.keys(others).length === 0', title: 'no condition' },
    { in: 'requireRunnableSchedule', text: '  requireMaySeeCondition(ctx, schedule);\n', title: 'no condition' },
    {
      in: 'hideLastRun',
      text: 'lastRun && !isRequirementMet',
      without: 'lastRun && null && !isRequirementMet',
      tests: CONDITION_TESTS,
      title: 'shows its last run only to users who may see the data of its condition',
    },
    {
      in: 'hideLastRun',
      text: 'lastRun.about ?? schedule',
      without: 'schedule',
      tests: CONDITION_TESTS,
      title: 'shows its last run only to users who may see the data of its condition',
    },
    {
      in: 'listSchedules',
      text: 'hideLastRun(ctx, schedule)',
      without: 'schedule',
      tests: CONDITION_TESTS,
      title: 'shows its last run only to users who may see the data of its condition',
    },
  ]),
  ...makeGuards('drizzle/0026_send-schedules.sql', SCHEDULE_TESTS, [
    {
      text: 'UNIQUE INDEX `schedule_runs_once`',
      without: 'INDEX `schedule_runs_once`',
      tests: DUE_SCHEDULE_TESTS,
      title: 'by whichever',
    },
    { text: ',\n\tPRIMARY KEY(`run_id`, `kind`, `subject`)', tests: FAILURE_TESTS, title: 'resumes' },
    {
      text: '\tPRIMARY KEY(`schedule_id`, `kind`, `subject`),\n',
      title: 'is created, read, listed, changed and deleted',
    },
    {
      text: '`last_value` text,\n\tPRIMARY KEY(`schedule_id`, `kind`, `subject`),\n\tFOREIGN KEY (`schedule_id`) REFERENCES `schedules`(`id`) ON UPDATE no action ON DELETE cascade',
      without: '`last_value` text,\n\tPRIMARY KEY(`schedule_id`, `kind`, `subject`)',
      title: 'is deleted with',
    },
    {
      text: '`created_at` integer NOT NULL,\n\tFOREIGN KEY (`schedule_id`) REFERENCES `schedules`(`id`) ON UPDATE no action ON DELETE cascade',
      without: '`created_at` integer NOT NULL',
      tests: FAILURE_TESTS,
      title: 'just before a mail goes',
    },
    {
      text: ',\n\tFOREIGN KEY (`run_id`) REFERENCES `schedule_runs`(`id`) ON UPDATE no action ON DELETE cascade',
      tests: FAILURE_TESTS,
      title: 'for a week',
    },
    {
      text: "DELETE FROM `schedules` WHERE company_id = OLD.company_id AND target_type = 'dashboard' AND target_id = OLD.id;",
      without: 'SELECT 1;',
      title: 'is deleted with',
    },
    {
      text: "DELETE FROM `schedules` WHERE company_id = OLD.company_id AND target_type = 'visualization' AND target_id = OLD.id;",
      without: 'SELECT 1;',
      title: 'is deleted with',
    },
  ]),
];
