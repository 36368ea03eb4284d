import { sql } from 'drizzle-orm';
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { TargetType } from '../../sharing/share-event.ts';
import { companyId, jsonColumn, ownedColumns, timestampColumn, timestampColumns } from '../columns.ts';

export const SCHEDULE_FORMATS = ['summary', 'csv', 'xlsx'] as const;
export const SCHEDULE_STATUSES = ['active', 'paused'] as const;
export const CONDITION_OPS = ['gt', 'gte', 'lt', 'lte', 'eq', 'ne', 'changed'] as const;
export const RECIPIENT_KINDS = ['user', 'email'] as const;
export const RUN_KINDS = ['scheduled', 'manual'] as const;

/** Condition that a result must meet for a mail to be sent. Its fields are named as in the API. */
export interface Condition {
  visualization_id: string;
  column: string;
  op: (typeof CONDITION_OPS)[number];
  /** Compared value; null for `changed`. */
  value: string | number | boolean | null;
}

/** Reasons why a run sent nothing, or less than requested, to one recipient or at all. */
export const RUN_PROBLEMS = [
  'target_deleted',
  'left',
  'not_allowed',
  'parameters',
  'query_failed',
  'condition_failed',
  'condition_not_met',
  'unavailable',
  'mail_refused',
  'unconfirmed',
  'files_too_large',
  'not_agreed',
  'too_many_mails',
  'quota_exceeded',
] as const;

export type RunProblem = (typeof RUN_PROBLEMS)[number];

/** Subject of a run: the run's result is sent only to people who may see the subject. */
export interface RunSubject {
  targetType: TargetType;
  targetId: string;
  condition: Condition | null;
}

/** Result of the last run, its fields named as in the API. */
export interface LastRun {
  /** Subject of the schedule at the time of the run. Runs of earlier service versions have none. */
  about?: RunSubject;
  id: string;
  kind: (typeof RUN_KINDS)[number];
  /** Time of the occurrence, ISO 8601. */
  occurrence: string;
  ended_at: string;
  status: 'done' | 'failed';
  sent: number;
  skipped: number;
  failed: number;
  problems: RunProblem[];
}

/** Schedules that mail a dashboard or visualization at times of a calendar. */
export const schedules = sqliteTable(
  'schedules',
  {
    ...ownedColumns(),
    name: text('name').notNull(),
    targetType: text('target_type').$type<TargetType>().notNull(),
    targetId: text('target_id').notNull(),
    parameters: jsonColumn<Record<string, unknown>>('parameters').notNull(),
    cron: text('cron').notNull(),
    timeZone: text('time_zone').notNull(),
    format: text('format', { enum: SCHEDULE_FORMATS }).notNull(),
    condition: jsonColumn<Condition>('condition'),
    status: text('status', { enum: SCHEDULE_STATUSES }).notNull(),
    /** Time of the next occurrence; null while the schedule is paused. */
    nextRunAt: timestampColumn('next_run_at'),
    /** Number of failed runs in a row. */
    failures: integer('failures').notNull().default(0),
    lastRun: jsonColumn<LastRun>('last_run'),
    /** Address of the API as the schedule's creator reached it: the schedule's mails link to that address. */
    apiUrl: text('api_url').notNull(),
    /** Number of changes that people made: a guard against concurrent changes. */
    version: integer('version').notNull().default(1),
    createdByUserId: text('created_by_user_id').notNull(),
    ...timestampColumns(),
  },
  (table) => [
    index('schedules_by_creation').on(table.companyId, table.createdAt, table.id),
    index('schedules_of_target').on(table.companyId, table.targetType, table.targetId),
    index('schedules_due').on(table.nextRunAt, table.companyId).where(sql`next_run_at is not null`),
  ],
);

/** The recipients of a schedule. */
export const scheduleRecipients = sqliteTable(
  'schedule_recipients',
  {
    companyId: companyId(),
    scheduleId: text('schedule_id')
      .notNull()
      .references(() => schedules.id, { onDelete: 'cascade' }),
    kind: text('kind', { enum: RECIPIENT_KINDS }).notNull(),
    /** Id of the user, or the email address in lower case. */
    subject: text('subject').notNull(),
    /** Position among the recipients; negative for one that unsubscribed and was removed, even if added again. */
    position: integer('position').notNull(),
    /** Time at which the recipient unsubscribed, who gets no mails from then on. */
    unsubscribedAt: timestampColumn('unsubscribed_at'),
    /** Digest of the value that a `changed` condition last had for the recipient. */
    lastValue: text('last_value'),
  },
  (table) => [primaryKey({ columns: [table.scheduleId, table.kind, table.subject] })],
);

/** Runs of schedules: planned occurrences, and runs that somebody requested. */
export const scheduleRuns = sqliteTable(
  'schedule_runs',
  {
    ...ownedColumns(),
    scheduleId: text('schedule_id')
      .notNull()
      .references(() => schedules.id, { onDelete: 'cascade' }),
    kind: text('kind', { enum: RUN_KINDS }).notNull(),
    occurrence: timestampColumn('occurrence').notNull(),
    status: text('status', { enum: ['queued', 'running', 'ended'] }).notNull(),
    /** Number of times that the run was started. */
    attempt: integer('attempt').notNull(),
    /** Time from which the run may be started; for a started run, when its attempt counts as lost. */
    dueAt: timestampColumn('due_at').notNull(),
    createdAt: timestampColumn('created_at').notNull(),
  },
  (table) => [
    uniqueIndex('schedule_runs_once').on(table.scheduleId, table.kind, table.occurrence),
    index('schedule_runs_waiting').on(table.companyId, table.dueAt, table.occurrence).where(sql`status <> 'ended'`),
    index('schedule_runs_by_age').on(table.createdAt),
  ],
);

/** Deliveries of a run, one for each recipient: the row is stored before the mail is sent. */
export const scheduleDeliveries = sqliteTable(
  'schedule_deliveries',
  {
    companyId: companyId(),
    runId: text('run_id')
      .notNull()
      .references(() => scheduleRuns.id, { onDelete: 'cascade' }),
    kind: text('kind', { enum: RECIPIENT_KINDS }).notNull(),
    subject: text('subject').notNull(),
    status: text('status', { enum: ['sending', 'sent', 'skipped', 'failed'] }).notNull(),
    problem: text('problem', { enum: RUN_PROBLEMS }),
  },
  (table) => [primaryKey({ columns: [table.runId, table.kind, table.subject] })],
);

/** Outside addresses that a company's schedules mail, and their consent or refusal. Neither is ever withdrawn. */
export const mailConsents = sqliteTable(
  'mail_consents',
  {
    ...ownedColumns(),
    /** Address in lower case. */
    email: text('email').notNull(),
    /** Time at which the address was asked for consent by mail, which happens once. */
    askedAt: timestampColumn('asked_at'),
    agreedAt: timestampColumn('agreed_at'),
    /** Time at which the address permanently refused mails of this company, whatever it agreed to. */
    endedAt: timestampColumn('ended_at'),
  },
  (table) => [uniqueIndex('mail_consents_of_address').on(table.companyId, table.email)],
);

/** Mails of schedules by address, which are counted over all companies: deleting a schedule does not reset the count. */
export const scheduledMails = sqliteTable(
  'scheduled_mails',
  {
    companyId: companyId(),
    runId: text('run_id').notNull(),
    /** Address in lower case. */
    email: text('email').notNull(),
    sentAt: timestampColumn('sent_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.runId, table.email] }),
    index('scheduled_mails_counted').on(table.email, table.sentAt),
    index('scheduled_mails_by_age').on(table.sentAt),
  ],
);
