import { sql } from 'drizzle-orm';
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { timestamp } from '../../columns.ts';

/** Messages that their consumer gave up on. They stand in the audit database until someone has them sent again. */
export const deadLetters = sqliteTable(
  'dead_letters',
  {
    /** The message's own id. */
    id: text('id').primaryKey(),
    /** The queue it came from, without the suffix of its dead letters. */
    queue: text('queue').notNull(),
    /** The message as JSON. */
    body: text('body').notNull(),
    attempts: integer('attempts').notNull(),
    diedAt: timestamp('died_at').notNull(),
    /** Set by `npm run dead-letters -- replay`; the scheduled run then sends it again. */
    replayRequestedAt: timestamp('replay_requested_at'),
    replayedAt: timestamp('replayed_at'),
  },
  (table) => [
    index('dead_letters_to_replay')
      .on(table.replayRequestedAt)
      .where(sql`replay_requested_at is not null and replayed_at is null`),
    index('dead_letters_by_death').on(table.diedAt),
  ],
);
