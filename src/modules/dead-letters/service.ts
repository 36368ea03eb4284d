import type { Context } from '../../context.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { logError } from '../../platform/log.ts';
import { deleteObjects } from '../../platform/stored-files.ts';

/** The number of dead letters on a page, and the number of resent letters after which a scheduled run stops. */
const MAX_LETTERS_PER_RUN = 100;
/** The maximum number of pages that a scheduled run reads. */
const MAX_PAGES_PER_RUN = 10;

/** The time for which a letter is kept after it was resent. */
const SENT_LETTER_RETENTION_MS = 30 * DAY_MS;

/**
 * The folders of dead letters, each stored as `{queue}/{time}-{id}.json`: `dead` for all failed messages; `wanted` for copies of
 * those to send again, made by `npm run dead-letters -- replay`; `sent` for those that were resent.
 */
const LETTER_FOLDERS = { dead: 'dead-letters/', wanted: 'dead-letters-wanted/', sent: 'dead-letters-sent/' } as const;

/** A message that its consumer gave up on. */
export interface DeadLetter {
  /** The id of the message. */
  id: string;
  /** The queue that the message was sent to, without the suffix of the dead letter queue. */
  queue: string;
  body: unknown;
  attempts: number;
  /** When the message was sent (ms). */
  sentAt: number;
  /** When the delivery of the message was given up (ms). */
  diedAt: number;
}

/** Sends a message to the queue with this name. */
export type ResendMessage = (queue: string, body: unknown) => Promise<void>;

/** Stores messages that no consumer could handle. A repeated message is stored once, as its key is derived from the message. */
export async function storeDeadLetters(files: R2Bucket, letters: readonly DeadLetter[]): Promise<void> {
  for (const letter of letters) {
    const letterPath = `${letter.queue}/${letter.sentAt}-${letter.id}.json`;
    await files.put(LETTER_FOLDERS.dead + letterPath, JSON.stringify(letter), { onlyIf: { etagDoesNotMatch: '*' } });
  }
}

/**
 * Resends the letters whose replay was requested. If it is interrupted, a letter may be sent twice, which every consumer expects.
 * Letters that cannot be sent do not block the others. @returns how many were sent
 */
export async function replayDeadLetters(ctx: Context, resendMessage: ResendMessage): Promise<number> {
  let sentCount = 0;
  let cursor: string | undefined;
  for (let pageCount = 0; pageCount < MAX_PAGES_PER_RUN && sentCount < MAX_LETTERS_PER_RUN; pageCount += 1) {
    const page = await ctx.files.list({ prefix: LETTER_FOLDERS.wanted, limit: MAX_LETTERS_PER_RUN, cursor });
    for (const { key } of page.objects) if (await resendLetter(ctx, key, resendMessage)) sentCount += 1;
    if (!page.truncated) break;
    cursor = page.cursor;
  }
  return sentCount;
}

async function resendLetter(ctx: Context, key: string, resendMessage: ResendMessage): Promise<boolean> {
  try {
    const storedLetter = await ctx.files.get(key);
    if (!storedLetter) return false;
    const letter = await storedLetter.json<DeadLetter>();
    await resendMessage(letter.queue, letter.body);
    const text = JSON.stringify({ ...letter, replayedAt: ctx.now() });
    await ctx.files.put(key.replace(LETTER_FOLDERS.wanted, LETTER_FOLDERS.sent), text);
    await deleteObjects(ctx.files, [key, key.replace(LETTER_FOLDERS.wanted, LETTER_FOLDERS.dead)]);
    return true;
  } catch (error) {
    logError('dead_letter_not_sent', error, { key });
    return false;
  }
}

/** Deletes dead letters that were resent longer ago than the retention. Letters that were not resent stay. */
export async function purgeDeadLetters(ctx: Context): Promise<void> {
  let cursor: string | undefined;
  do {
    const page = await ctx.files.list({ prefix: LETTER_FOLDERS.sent, cursor });
    const expiredLetters = page.objects.filter(
      ({ uploaded }) => uploaded.getTime() < ctx.now() - SENT_LETTER_RETENTION_MS,
    );
    await deleteObjects(
      ctx.files,
      expiredLetters.map(({ key }) => key),
    );
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor !== undefined);
}
