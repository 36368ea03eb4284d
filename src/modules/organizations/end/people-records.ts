import { commitAccess, makeAffectedEverybody } from '../../../access/commit-access.ts';
import type { CompanyContext } from '../../../context.ts';
import { listPersonalColumns, viewValue } from '../../../db/shown-columns.ts';
import { type Person, redactJson, redactText } from '../../../logs/redaction.ts';
import { COMPANY_TABLES, type CompanyTable, getName } from './control-store.ts';
import * as store from './people-store.ts';

/** A record about a person. */
export interface PersonalRecord {
  /** The kind of record, such as `users`. */
  kind: string;
  record: Record<string, unknown>;
}

/** Yields the rows of the control database that are about a person. */
export async function* readControlRecords(ctx: CompanyContext, person: Person): AsyncGenerator<PersonalRecord> {
  const { companyId } = ctx.actor;
  for (const held of COMPANY_TABLES) {
    const kind = getName(held.table);
    const columns = listPersonalColumns(held.table);
    for (let after = 0; held.about; ) {
      const rows = await store.selectRowsAboutPerson(ctx.db, held, columns, companyId, person, after);
      for (const row of rows) {
        const shown = columns.map((column) => [column.name, viewValue(column, row[column.name])]);
        yield { kind, record: Object.fromEntries(shown) };
        after = Number(row.rowNumber);
      }
      if (rows.length < store.ROWS_PER_BATCH) break;
    }
  }
  for (const table of store.NAMING_TABLES) {
    const kind = getName(table.table);
    for await (const { row, texts } of findRowsNaming(ctx, table, person)) {
      const ids = Object.fromEntries(table.ids.map(({ name }) => [name, row[name]]));
      yield { kind: 'named_in', record: { kind, ...ids, fields: [...texts.keys()] } };
    }
  }
}

type Texts = Map<string, { before: string; after: string }>;

/** The rows of a table in which a person is named, with the texts that would have the pseudonym in their place. */
async function* findRowsNaming(
  ctx: CompanyContext,
  table: store.NamingTable,
  person: Person,
): AsyncGenerator<{ row: Record<string, unknown>; rowNumber: number; texts: Texts }> {
  const replaced = store.WAITING_TABLES.includes(table) ? redactJson : redactText;
  for (let after = 0; ; ) {
    const rows = await store.selectNaming(ctx.db, table, ctx.actor.companyId, person, after);
    for (const row of rows) {
      const texts: Texts = new Map();
      for (const { name } of table.columns) {
        const before = row[name];
        if (typeof before !== 'string') continue;
        const text = replaced(before, person);
        if (text !== before) texts.set(name, { before, after: text });
      }
      after = Number(row.rowNumber);
      if (texts.size > 0) yield { row, rowNumber: after, texts };
    }
    if (rows.length < store.ROWS_PER_BATCH) return;
  }
}

/** Changes of one unit of work. */
const CHANGES_PER_BATCH = 50;

/**
 * Replaces the person by the pseudonym in events and messages that wait to be sent. Run it before the stores that receive these
 * are cleared, which removes those sent earlier.
 */
export const pseudonymizeWaiting = (ctx: CompanyContext, person: Person): Promise<Record<string, number>> =>
  replaceByPseudonym(ctx, person, store.WAITING_TABLES);

/** Replaces the person by the pseudonym in rows that others rely on, and deletes rows about the person: their identity last. */
export async function eraseControlRecords(
  ctx: CompanyContext,
  person: Person,
  names: readonly string[],
): Promise<Record<string, number>> {
  const { companyId } = ctx.actor;
  const erased = await replaceByPseudonym(ctx, person, store.NAMING_TABLES);
  const about = COMPANY_TABLES.filter((held) => held.about !== null);
  const { deleted } = await commitAccess(ctx, makeAffectedEverybody(companyId), {
    inviters: names.map((name) => store.forgetInviter(ctx.db, companyId, name)),
    deleted: about.map((held) => store.deleteRowsAboutPerson(ctx.db, held, companyId, person)),
  });
  deleted.forEach((rows, at) => {
    const kind = getName((about[at] as CompanyTable).table);
    erased[kind] = (erased[kind] ?? 0) + rows.length;
  });
  return erased;
}

async function replaceByPseudonym(
  ctx: CompanyContext,
  person: Person,
  tables: readonly store.NamingTable[],
): Promise<Record<string, number>> {
  const { companyId } = ctx.actor;
  const erased: Record<string, number> = {};
  for (const table of tables) {
    let rows: { rowNumber: number; texts: Texts }[] = [];
    const replace = async () => {
      const changing = rows;
      rows = [];
      if (changing.length === 0) return;
      const { replaced } = await commitAccess(ctx, makeAffectedEverybody(companyId), {
        replaced: changing.map(({ rowNumber, texts }) => store.replaceTexts(ctx.db, table, rowNumber, texts)),
      });
      const count = replaced.reduce((sum, rows) => sum + rows.length, 0);
      erased[getName(table.table)] = (erased[getName(table.table)] ?? 0) + count;
    };
    for await (const row of findRowsNaming(ctx, table, person)) {
      rows.push(row);
      if (rows.length === CHANGES_PER_BATCH) await replace();
    }
    await replace();
  }
  return erased;
}
