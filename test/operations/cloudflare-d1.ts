import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { RefusedError } from './cloudflare.ts';

const HISTORY_MS = 30 * 24 * 60 * 60 * 1000;

/** The history that D1 keeps of a database: its content after each query, by bookmark. */
export class TimeTravel {
  readonly #moments: { savedAt: number; bookmark: string; file: Buffer }[] = [];

  saveSnapshot(sqlite: DatabaseSync): void {
    const folder = mkdtempSync(join(tmpdir(), 'd1-'));
    const file = join(folder, 'copy');
    sqlite.exec(`VACUUM INTO '${file}'`);
    this.#moments.push({ savedAt: Date.now(), bookmark: makeBookmark(this.#moments.length), file: readFileSync(file) });
    rmSync(folder, { recursive: true });
  }

  /** Returns the bookmark of the database at a time. @param moment ISO 8601; null for now */
  findBookmark(moment: string | null): string {
    const until = moment === null ? Date.now() : Date.parse(moment);
    if (!(until > Date.now() - HISTORY_MS)) throw new RefusedError(400, 7500, 'timestamp is outside of the retention');
    const foundMoment = this.#moments.findLast(({ savedAt }) => savedAt <= until);
    if (!foundMoment) throw new RefusedError(400, 7500, 'no bookmark was found for that timestamp');
    return foundMoment.bookmark;
  }

  /** Returns the database as it was at a bookmark. */
  restoreDatabase(bookmark: string): DatabaseSync {
    const foundMoment = this.#moments.find((one) => one.bookmark === bookmark);
    if (!foundMoment) throw new RefusedError(400, 7500, 'invalid bookmark');
    const folder = mkdtempSync(join(tmpdir(), 'd1-'));
    writeFileSync(join(folder, 'copy'), foundMoment.file);
    const restoredDatabase = new DatabaseSync(join(folder, 'copy'));
    // Open files outlive their names.
    rmSync(folder, { recursive: true });
    this.saveSnapshot(restoredDatabase);
    return restoredDatabase;
  }
}

const makeBookmark = (number: number): string =>
  `${number.toString(16).padStart(8, '0')}-00000000-00004d0c-${randomBytes(16).toString('hex')}`;

/** Matches a trigger that stands on one line, in the spelling that D1 recognizes. */
const ONE_LINE_TRIGGER_PATTERN = /^\s*CREATE TRIGGER [^\n]* BEGIN [^\n]*; END;\s*(--> statement-breakpoint)?$/gm;

/**
 * Returns true if D1 would split this SQL within a trigger. D1's `/query`, to which `wrangler d1 migrations apply
 * --remote` sends each migration, decides where statements end, and takes the `;` within a trigger's body for the end,
 * unless the trigger is on one line in capital letters (cloudflare/workers-sdk 4998, 14991, 15314, 15690). Local D1
 * splits SQL correctly.
 */
export function isTriggerCut(sql: string): boolean {
  const triggerCount = sql.match(/\bCREATE\s+(TEMP\w*\s+)?TRIGGER\b/gi)?.length ?? 0;
  return (
    triggerCount > 0 && (sql.includes('\r') || triggerCount !== (sql.match(ONE_LINE_TRIGGER_PATTERN)?.length ?? 0))
  );
}
