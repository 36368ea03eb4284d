import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { id, jsonColumn, timestampColumn } from '../columns.ts';

export type NoticeEvent = 'sso_changed' | 'sso_removed' | 'social_changed';

/** Event of which people are notified by mail. */
export interface Notice {
  event: NoticeEvent;
  /** Address of the acting user, or name of the service account; empty if it may not be shown. */
  by: string;
  /** Time of the event, in milliseconds. */
  at: number;
}

/** Requested mails. Codes and links are made when a mail is sent, anew at each try: a row holds no secret. */
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
    /** Company that the mail is about; null for a mail about all companies in which the address is known. */
    companyId: text('company_id'),
    /** Recipient's address in lower case. */
    email: text('email').notNull(),
    /** Event that the mail notifies of; null for other mails. */
    notice: jsonColumn<Notice>('notice'),
    /** Id of the schedule, webhook endpoint or grant that the mail is about. */
    about: text('about'),
    /** Key under which requests for mails are counted. */
    countedAs: text('counted_as').notNull(),
    requestedAt: timestampColumn('requested_at').notNull(),
    /** Time at which the scheduled run takes up the request, unless it is done by then; null once it is done. */
    dueAt: timestampColumn('due_at'),
    /** Number of times that the scheduled run has taken up the request. */
    attempts: integer('attempts').notNull(),
  },
  (table) => [
    index('mail_requests_counted').on(table.countedAs, table.requestedAt),
    index('mail_requests_due').on(table.dueAt),
    index('mail_requests_by_age').on(table.requestedAt),
  ],
);
