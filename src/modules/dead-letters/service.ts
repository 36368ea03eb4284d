import type { Context } from '../../context.ts';
import { openAuditDb } from '../../db/audit.ts';
import { commit } from '../../db/client.ts';
import { logError } from '../../platform/log.ts';
import {
  type DeadLetter,
  deleteReplayed,
  insertDeadLetter,
  markReplayed,
  postponeReplay,
  selectToReplay,
} from './store.ts';

/** Letters sent again by one scheduled run. */
const REPLAYED_AT_ONCE = 100;

/** How long a letter is shown after it was sent again. */
const SHOWN_MS = 30 * 24 * 60 * 60 * 1000;

/** Sends a message to the queue of that name. */
export type Resend = (queue: string, body: unknown) => Promise<void>;

/** Keeps messages that no consumer could handle. One that comes twice is kept once. */
export async function keepDeadLetters(
  database: D1Database,
  letters: Pick<DeadLetter, 'id' | 'queue' | 'body' | 'attempts' | 'diedAt'>[],
): Promise<void> {
  const db = openAuditDb(database);
  const inserted = letters.map((letter) =>
    insertDeadLetter(db, { ...letter, replayRequestedAt: null, replayedAt: null }),
  );
  if (inserted.length > 0) await commit(db, { inserted });
}

/**
 * Sends the letters again whose replay was asked for. If it breaks off in between, one may be sent twice, which every
 * consumer expects.
 * @returns how many were sent
 */
export async function replayDeadLetters(ctx: Context, resend: Resend): Promise<number> {
  const db = openAuditDb(ctx.bindings.AUDIT_DB);
  const letters = await selectToReplay(db, REPLAYED_AT_ONCE);
  let sent = 0;
  for (const { id, queue, body } of letters) {
    try {
      await resend(queue, JSON.parse(body));
      await markReplayed(db, id, ctx.now());
      sent += 1;
    } catch (error) {
      logError('dead_letter_not_sent', error, { message_id: id, queue });
      // To the end of the line: those that cannot be sent hold up none of the others, however many they are.
      await postponeReplay(db, id, ctx.now());
    }
  }
  return sent;
}

/** Forgets letters that were sent again long ago. Those that nobody has looked into stay. */
export async function purgeDeadLetters(ctx: Context): Promise<void> {
  await deleteReplayed(openAuditDb(ctx.bindings.AUDIT_DB), ctx.now() - SHOWN_MS);
}
