import { guardsOf } from '../guard.ts';

const RACE_TESTS = ['test/schedules/races.test.ts'];
const DUE_SCHEDULE_TESTS = ['test/schedules/due.test.ts'];
const RUN_TESTS = ['test/schedules/runs.test.ts'];
const FAILURE_TESTS = ['test/schedules/failures.test.ts'];
const EXPOSURE_TESTS = { tests: ['test/viewing/changing.sharing.test.ts'], title: 'in any way' };
const CONDITION_TESTS = ['test/schedules/conditions.test.ts'];
const SCHEDULE_TESTS = ['test/schedules/schedules.console.test.ts'];
const UNSUBSCRIPTION_TESTS = ['test/schedules/unsubscribing.test.ts'];
const CONSENT_TESTS = ['test/schedules/consent.test.ts'];

export const SCHEDULE_GUARDS = [
  ...guardsOf('src/modules/schedules/store.ts', RACE_TESTS, [
    { in: 'insertSchedule', text: 'targetExists(record)', without: 'sql`true`', title: 'is not made' },
    {
      in: 'insertSchedule',
      text: ' < ${most}`',
      without: ' < ${most + 1_000}`',
      tests: SCHEDULE_TESTS,
      title: 'a thousand',
    },
    { in: 'updateSchedule', text: ', targetExists(next)', without: '', title: 'is not changed' },
    { in: 'updateSchedule', text: ', eq(schedules.version, version)', without: '', title: 'keeps what others' },
    { in: 'replaceRecipients', text: '    condition,\n', without: '', title: 'keeps its recipients' },
    {
      in: 'replaceRecipients',
      text: ', not(isEndedForGood)',
      without: '',
      tests: UNSUBSCRIPTION_TESTS,
      title: 'has ended the schedule for good',
    },
    { in: 'replaceRecipients', text: ' where ${condition}`', without: ' where true`', title: 'keeps its recipients' },
    { in: 'replaceRecipients', text: ', eq(schedules.version, version)', without: '', title: 'keeps its recipients' },
    { in: 'replaceRecipients', text: ', targetExists(next)', without: '', title: 'is not changed' },
  ]),
  ...guardsOf('src/modules/schedules/run-store.ts', FAILURE_TESTS, [
    {
      in: 'insertDueRuns',
      text: " and schedules.next_run_at = handed.value ->> 'at'",
      without: '',
      tests: DUE_SCHEDULE_TESTS,
      title: 'is paused',
    },
    {
      in: 'insertDueRuns',
      text: " and schedules.next_run_at = value ->> 'at'",
      without: '',
      tests: DUE_SCHEDULE_TESTS,
      title: 'is paused',
    },
    {
      in: 'insertManualRun',
      text: 'exists(schedules, byId(schedules, companyId, scheduleId))',
      without: 'sql`true`',
      tests: RACE_TESTS,
      title: 'is not run',
    },
    { in: 'insertManualRun', text: ' < ${most}`', without: ' < ${most + 1_000}`', title: 'five times' },
    {
      in: 'claimRun',
      text: " ne(scheduleRuns.status, 'ended'),",
      without: '',
      tests: RUN_TESTS,
      title: 'delivered twice',
    },
    {
      in: 'claimRun',
      text: ', lte(scheduleRuns.dueAt, now)',
      without: '',
      tests: RUN_TESTS,
      title: 'delivered twice',
    },
    { in: 'endRun', text: ', afterChange', without: '', title: 'at its end' },
    {
      in: 'endRun',
      text: "          eq(schedules.status, 'active'),\n",
      without: '',
      title: 'notify its creator once',
    },
    { in: 'endRun', text: ' >= ${MAX_CONSECUTIVE_FAILURES}', without: ' >= 1', title: 'notify its creator once' },
    {
      in: 'beginDelivery',
      text: 'exists(scheduleRecipients, isWanted)',
      without: 'sql`true`',
      tests: UNSUBSCRIPTION_TESTS,
      title: 'gets nothing of it',
    },
    {
      in: 'beginDelivery',
      text: 'isNull(scheduleRecipients.unsubscribedAt)',
      without: 'undefined',
      tests: UNSUBSCRIPTION_TESTS,
      title: 'gets nothing of it',
    },
    {
      in: 'beginDelivery',
      text: '        isAllowed,\n',
      without: '',
      tests: CONSENT_TESTS,
      title: 'of two companies',
    },
    {
      in: 'beginDelivery',
      text: '        isCompanyActive(sql`${companyId}`),\n',
      without: '',
      tests: ['test/organizations/under-way.test.ts'],
      title: 'mails nothing',
    },
    { in: 'deleteOldRuns', text: ", eq(scheduleRuns.status, 'ended')", without: '', title: 'for a week' },
    { in: 'deleteOldRuns', text: 'lt(scheduleRuns.createdAt, before), ', without: '', title: 'for a week' },
  ]),
  ...guardsOf('src/modules/schedules/consent-store.ts', CONSENT_TESTS, [
    {
      in: 'mayBeMailed',
      text: 'not(hasEnded(to)), ',
      without: '',
      tests: UNSUBSCRIPTION_TESTS,
      title: 'everything of the company',
    },
    { in: 'mayBeMailed', text: ', isBelowLimit(to, since)', without: '', title: 'of two companies' },
    { in: 'countMail', text: 'afterChange', without: 'sql`true`', title: 'of two companies' },
    { in: 'beginAsking', text: 'isNull(mailConsents.askedAt), ', without: '', title: 'asked once where two' },
    { in: 'beginAsking', text: ', isNull(mailConsents.endedAt)', without: '', title: 'answered meanwhile' },
    { in: 'beginAsking', text: ' isNull(mailConsents.agreedAt),', without: '', title: 'answered meanwhile' },
    {
      in: 'deleteCounted',
      text: 'lt(scheduledMails.sentAt, before)',
      without: 'sql`true`',
      title: 'fifty scheduled mails',
    },
    { in: 'recordConsent', text: ', isNull(mailConsents.endedAt)', without: '', title: 'can refuse for good' },
  ]),
  ...guardsOf('drizzle/0029_consent-to-schedules.sql', CONSENT_TESTS, [
    {
      text: 'UNIQUE INDEX `mail_consents_of_address`',
      without: 'INDEX `mail_consents_of_address`',
      title: 'asked once where two',
    },
  ]),
  ...guardsOf('src/modules/schedules/service.ts', SCHEDULE_TESTS, [
    {
      in: 'requireMaySeeCondition',
      text: '  requireAction(ctx.actor, ACTION_TO_SEE[targetType], targetId);\n',
      without: '',
      title: 'may not open',
    },
    {
      in: 'requireMaySeeCondition',
      text: '  requireNotDenied(ctx, [condition.visualization_id]);\n',
      without: '',
      tests: CONDITION_TESTS,
      title: 'only those who may see',
    },
    {
      in: 'createSchedule',
      text: '  await requireTargetNotDenied(ctx, toTarget(input));\n',
      without: '',
      ...EXPOSURE_TESTS,
    },
    {
      in: 'changeSchedule',
      text: '      await requireTargetNotDenied(ctx, toTarget(merged));\n',
      without: '',
      ...EXPOSURE_TESTS,
    },
    {
      in: 'runSchedule',
      text: '  await requireTargetNotDenied(ctx, toTarget(schedule));\n',
      without: '',
      ...EXPOSURE_TESTS,
    },
    { in: 'createSchedule', text: '  requireMaySeeCondition(ctx, input);\n', without: '', title: 'no condition' },
    { in: 'changeSchedule', text: '[present, merged]', without: '[merged]', title: 'no condition' },
    {
      in: 'changeSchedule',
      text: ', merged]) requireMaySeeCondition',
      without: ']) requireMaySeeCondition',
      title: 'no condition',
    },
    { in: 'isPause', text: ' && Object.keys(others).length === 0', without: '', title: 'no condition' },
    { in: 'runSchedule', text: '  requireMaySeeCondition(ctx, schedule);\n', without: '', title: 'no condition' },
    {
      in: 'hideLastRun',
      text: 'lastRun && !isMet',
      without: 'lastRun && null && !isMet',
      tests: CONDITION_TESTS,
      title: 'only those who may see',
    },
    {
      in: 'hideLastRun',
      text: 'lastRun.about ?? schedule',
      without: 'schedule',
      tests: CONDITION_TESTS,
      title: 'only those who may see',
    },
    {
      in: 'listSchedules',
      text: 'hideLastRun(ctx, schedule)',
      without: 'schedule',
      tests: CONDITION_TESTS,
      title: 'only those who may see',
    },
  ]),
  ...guardsOf('drizzle/0026_send-schedules.sql', SCHEDULE_TESTS, [
    {
      text: 'UNIQUE INDEX `schedule_runs_once`',
      without: 'INDEX `schedule_runs_once`',
      tests: DUE_SCHEDULE_TESTS,
      title: 'by whichever',
    },
    { text: ',\n\tPRIMARY KEY(`run_id`, `kind`, `subject`)', without: '', tests: FAILURE_TESTS, title: 'resumes' },
    { text: '\tPRIMARY KEY(`schedule_id`, `kind`, `subject`),\n', without: '', title: 'is made, read' },
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
      without: '',
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
