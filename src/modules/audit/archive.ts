import type { Context } from '../../context.ts';
import { type AuditTable, deleteRows, openAuditDb, selectOldest } from '../../db/audit.ts';
import { idsFrom } from '../../kernel/ids.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** Rows of one file. */
const ROWS = 1000;

/** Files that one scheduled run writes at most: with one run a minute, 14 million rows a day. */
const FILES = 10;

/**
 * Moves rows of a table of the audit database that are older than `AUDIT_RETENTION_DAYS` to R2, as NDJSON of columns:
 * `archive/{name}/{day}/{first id}.ndjson`. A run that breaks off between writing and deleting writes the rows once more:
 * whoever reads the files tells rows apart by id.
 * @param table one whose ids tell when the row was made (`newId`)
 * @returns how many rows were moved
 */
export async function archiveOld(ctx: Context, table: AuditTable, name: string): Promise<number> {
  const db = openAuditDb(ctx.bindings.AUDIT_DB);
  const before = idsFrom(ctx.now() - ctx.config.AUDIT_RETENTION_DAYS * DAY_MS);
  let moved = 0;
  for (let file = 0; file < FILES; file += 1) {
    const found = await selectOldest(db, table, before, ROWS);
    const [first] = found;
    if (!first) break;
    const day = dayOf(first.id);
    const rows = found.filter(({ id }) => dayOf(id) === day);
    const lines = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
    await ctx.files.put(`archive/${name}/${day}/${first.id}.ndjson`, lines);
    const ids = rows.map(({ id }) => id);
    await deleteRows(db, table, ids);
    moved += ids.length;
    if (found.length < ROWS && ids.length === found.length) break;
  }
  return moved;
}

/** `2026-01-31`, of the moment that an id was made. */
const dayOf = (id: string): string =>
  new Date(Number.parseInt(id.slice(0, 8), 16) * 1000).toISOString().slice(0, 'YYYY-MM-DD'.length);
