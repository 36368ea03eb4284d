import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { id, json, timestamp } from '../columns.ts';

export type NoticeEvent = 'sso_changed' | 'sso_removed' | 'social_changed';

/** An event of which people are told by mail. */
export interface Notice {
  event: NoticeEvent;
  /** The address of the user who did it, or the name of the service account; empty where nothing of that can be shown. */
  by: string;
  /** Milliseconds. */
  at: number;
}

/** Mails that were asked for. Codes and links are made when a mail is sent, anew at each try: a row holds no secret. */
export const mailRequests = sqliteTable(
  'mail_requests',
  {
    id: id(),
    kind: text('kind', {
      enum: [
        'sign_in_code',
        'portal_code',
        'password_reset',
        'invitation',
        'notice',
        'password_changed',
        'second_factor_enabled',
        'second_factor_disabled',
        'second_factor_reset',
        'backup_codes_renewed',
        'passkey_added',
        'passkey_renamed',
        'passkey_removed',
        'schedule_paused',
        'schedule_consent',
        'webhook_disabled',
        'program_let_in',
      ],
    }).notNull(),
    /** Null for a mail about every company that knows the email. */
    companyId: text('company_id'),
    /** Lower-case. */
    email: text('email').notNull(),
    /** The subject of the notice. */
    notice: json<Notice>('notice'),
    /** The id of the schedule, webhook endpoint or grant that it is about. */
    about: text('about'),
    /** The key under which requests for mails are counted. */
    countedAs: text('counted_as').notNull(),
    requestedAt: timestamp('requested_at').notNull(),
    /** When the scheduled run takes the request up, unless it is done by then; null once it is done. */
    dueAt: timestamp('due_at'),
    /** The number of times that the scheduled run has taken it up. */
    attempts: integer('attempts').notNull(),
  },
  (table) => [
    index('mail_requests_counted').on(table.countedAs, table.requestedAt),
    index('mail_requests_due').on(table.dueAt),
    index('mail_requests_by_age').on(table.requestedAt),
  ],
);
