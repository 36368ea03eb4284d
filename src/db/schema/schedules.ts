import { sql } from 'drizzle-orm';
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { TargetType } from '../../sharing/share-event.ts';
import { companyId, id, json, timestamp, timestamps } from '../columns.ts';

export const SCHEDULE_FORMATS = ['summary', 'csv', 'xlsx'] as const;
export const SCHEDULE_STATUSES = ['active', 'paused'] as const;
export const CONDITION_OPS = ['gt', 'gte', 'lt', 'lte', 'eq', 'ne', 'changed'] as const;
export const RECIPIENT_KINDS = ['user', 'email'] as const;
export const RUN_KINDS = ['scheduled', 'manual'] as const;

/** The condition that a result must meet for a mail to be sent. Its fields are named as in the API. */
export interface Condition {
  visualization_id: string;
  column: string;
  op: (typeof CONDITION_OPS)[number];
  /** Null for `changed`. */
  value: string | number | boolean | null;
}

/** Why nothing was sent, or less than asked for, to one recipient or at all. */
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

/** The subject of a run: only people who may see it are told the result. */
export interface RunSubject {
  targetType: TargetType;
  targetId: string;
  condition: Condition | null;
}

/** The result of the last run, its fields named as in the API. */
export interface LastRun {
  /** As its schedule was then. Runs of earlier versions of the service lack it. */
  about?: RunSubject;
  id: string;
  kind: (typeof RUN_KINDS)[number];
  /** ISO 8601. */
  occurrence: string;
  ended_at: string;
  status: 'done' | 'failed';
  sent: number;
  skipped: number;
  failed: number;
  problems: RunProblem[];
}

/** Mails of a dashboard or visualization at times of a calendar. */
export const schedules = sqliteTable(
  'schedules',
  {
    id: id(),
    companyId: companyId(),
    name: text('name').notNull(),
    targetType: text('target_type').$type<TargetType>().notNull(),
    targetId: text('target_id').notNull(),
    parameters: json<Record<string, unknown>>('parameters').notNull(),
    cron: text('cron').notNull(),
    timeZone: text('time_zone').notNull(),
    format: text('format', { enum: SCHEDULE_FORMATS }).notNull(),
    condition: json<Condition>('condition'),
    status: text('status', { enum: SCHEDULE_STATUSES }).notNull(),
    /** The next occurrence; null while it is paused. */
    nextRunAt: timestamp('next_run_at'),
    /** Runs that failed in a row. */
    failures: integer('failures').notNull().default(0),
    lastRun: json<LastRun>('last_run'),
    /** The address of the API as its maker reached it: mails that nobody's request leads to point there. */
    apiUrl: text('api_url').notNull(),
    /** Counts changes that people make: guards against those that overlap. */
    version: integer('version').notNull().default(1),
    createdByUserId: text('created_by_user_id').notNull(),
    ...timestamps(),
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
    /** The order of recipients; below zero for one that unsubscribed and was taken off, to stay so if added again. */
    position: integer('position').notNull(),
    /** When the recipient unsubscribed, who gets nothing from then on. */
    unsubscribedAt: timestamp('unsubscribed_at'),
    /** Digest of the value that the column of a `changed` condition had for the recipient when it was last looked at. */
    lastValue: text('last_value'),
  },
  (table) => [primaryKey({ columns: [table.scheduleId, table.kind, table.subject] })],
);

/** An occurrence of a schedule, or one that somebody asked for. */
export const scheduleRuns = sqliteTable(
  'schedule_runs',
  {
    id: id(),
    companyId: companyId(),
    scheduleId: text('schedule_id')
      .notNull()
      .references(() => schedules.id, { onDelete: 'cascade' }),
    kind: text('kind', { enum: RUN_KINDS }).notNull(),
    occurrence: timestamp('occurrence').notNull(),
    status: text('status', { enum: ['queued', 'running', 'ended'] }).notNull(),
    /** The number of times that the run was begun. */
    attempt: integer('attempt').notNull(),
    /** When it may be begun; while it runs, when nobody is believed to be at it any more. */
    dueAt: timestamp('due_at').notNull(),
    createdAt: timestamp('created_at').notNull(),
  },
  (table) => [
    uniqueIndex('schedule_runs_once').on(table.scheduleId, table.kind, table.occurrence),
    index('schedule_runs_waiting').on(table.companyId, table.dueAt, table.occurrence).where(sql`status <> 'ended'`),
    index('schedule_runs_by_age').on(table.createdAt),
  ],
);

/** The delivery of a run to one recipient: the row is there before the mail goes. */
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

/** Addresses from outside that a company's schedules were to send to, and their answers. None of it is ever taken back. */
export const mailConsents = sqliteTable(
  'mail_consents',
  {
    id: id(),
    companyId: companyId(),
    /** Lower-case. */
    email: text('email').notNull(),
    /** When the address was mailed the question, which it is once. */
    askedAt: timestamp('asked_at'),
    agreedAt: timestamp('agreed_at'),
    /** When the address refused mails of this company for good, whatever it agreed to. */
    endedAt: timestamp('ended_at'),
  },
  (table) => [uniqueIndex('mail_consents_of_address').on(table.companyId, table.email)],
);

/** Mails of schedules to addresses, by which these are counted over all companies: deleting a schedule does not reset the count. */
export const scheduledMails = sqliteTable(
  'scheduled_mails',
  {
    companyId: companyId(),
    runId: text('run_id').notNull(),
    /** Lower-case. */
    email: text('email').notNull(),
    sentAt: timestamp('sent_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.runId, table.email] }),
    index('scheduled_mails_counted').on(table.email, table.sentAt),
    index('scheduled_mails_by_age').on(table.sentAt),
  ],
);
