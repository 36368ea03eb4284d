import { commitAccess, makeAffectedEverybody } from '../../../access/commit-access.ts';
import type { CompanyContext } from '../../../context.ts';
import { listPersonalColumns, viewValue } from '../../../db/shown-columns.ts';
import { type Person, redactJson, redactText } from '../../../logs/redaction.ts';
import { COMPANY_TABLES, type CompanyTable, getControlTableName } from './control-store.ts';
import * as store from './person-erasure-store.ts';

/** A record about a person. */
export interface PersonalRecord {
  /** The kind of record, such as `users`. */
  kind: string;
  record: Record<string, unknown>;
}

/** Yields the rows of the control database that are about a person. */
export async function* readControlRecords(ctx: CompanyContext, person: Person): AsyncGenerator<PersonalRecord> {
  const { companyId } = ctx.actor;
  for (const companyTable of COMPANY_TABLES) {
    const kind = getControlTableName(companyTable.table);
    const columns = listPersonalColumns(companyTable.table);
    for (let afterRowNumber = 0; companyTable.makePersonCondition; ) {
      const rows = await store.selectRowsAboutPerson(ctx.db, companyTable, columns, companyId, person, afterRowNumber);
      for (const row of rows) {
        const shownValues = columns.map((column) => [column.name, viewValue(column, row[column.name])]);
        yield { kind, record: Object.fromEntries(shownValues) };
        afterRowNumber = Number(row.rowNumber);
      }
      if (rows.length < store.ROWS_PER_BATCH) break;
    }
  }
  for (const table of store.NAMING_TABLES) {
    const kind = getControlTableName(table.table);
    for await (const { row, texts } of findRowsNamingPerson(ctx, table, person)) {
      const ids = Object.fromEntries(table.ids.map(({ name }) => [name, row[name]]));
      yield { kind: 'named_in', record: { kind, ...ids, fields: [...texts.keys()] } };
    }
  }
}

type TextReplacements = Map<string, { before: string; after: string }>;

/** Yields the rows of a table that name a person, with the texts in which the pseudonym replaces the person. */
async function* findRowsNamingPerson(
  ctx: CompanyContext,
  table: store.NamingTable,
  person: Person,
): AsyncGenerator<{ row: Record<string, unknown>; rowNumber: number; texts: TextReplacements }> {
  const redactStoredText = store.WAITING_TABLES.includes(table) ? redactJson : redactText;
  for (let afterRowNumber = 0; ; ) {
    const rows = await store.selectRowsNamingPerson(ctx.db, table, ctx.actor.companyId, person, afterRowNumber);
    for (const row of rows) {
      const texts: TextReplacements = new Map();
      for (const { name } of table.columns) {
        const storedText = row[name];
        if (typeof storedText !== 'string') continue;
        const text = redactStoredText(storedText, person);
        if (text !== storedText) texts.set(name, { before: storedText, after: text });
      }
      afterRowNumber = Number(row.rowNumber);
      if (texts.size > 0) yield { row, rowNumber: afterRowNumber, texts };
    }
    if (rows.length < store.ROWS_PER_BATCH) return;
  }
}

/** The number of changes in one transaction. */
const CHANGES_PER_BATCH = 50;

/**
 * Replaces the person by the pseudonym in events and messages that wait to be sent. Run this before the person is
 * erased from the stores that receive these events and messages: that erasure covers those sent earlier.
 */
export const pseudonymizeWaitingMessages = (ctx: CompanyContext, person: Person): Promise<Record<string, number>> =>
  replaceByPseudonym(ctx, person, store.WAITING_TABLES);

/** Replaces the person by the pseudonym in rows that other data needs, and deletes rows about the person: the identity last. */
export async function eraseControlRecords(
  ctx: CompanyContext,
  person: Person,
  names: readonly string[],
): Promise<Record<string, number>> {
  const { companyId } = ctx.actor;
  const replacedCounts = await replaceByPseudonym(ctx, person, store.NAMING_TABLES);
  const tablesAboutPerson = COMPANY_TABLES.filter((companyTable) => companyTable.makePersonCondition !== null);
  const { deleted } = await commitAccess(ctx, makeAffectedEverybody(companyId), {
    inviters: names.map((name) => store.removeInviterName(ctx.db, companyId, name)),
    deleted: tablesAboutPerson.map((companyTable) =>
      store.deleteRowsAboutPerson(ctx.db, companyTable, companyId, person),
    ),
  });
  deleted.forEach((rows, at) => {
    const kind = getControlTableName((tablesAboutPerson[at] as CompanyTable).table);
    replacedCounts[kind] = (replacedCounts[kind] ?? 0) + rows.length;
  });
  return replacedCounts;
}

async function replaceByPseudonym(
  ctx: CompanyContext,
  person: Person,
  tables: readonly store.NamingTable[],
): Promise<Record<string, number>> {
  const { companyId } = ctx.actor;
  const replacedCounts: Record<string, number> = {};
  for (const table of tables) {
    let rows: { rowNumber: number; texts: TextReplacements }[] = [];
    const replaceBatch = async () => {
      const changedRows = rows;
      rows = [];
      if (changedRows.length === 0) return;
      const { replaced } = await commitAccess(ctx, makeAffectedEverybody(companyId), {
        replaced: changedRows.map(({ rowNumber, texts }) => store.replaceTexts(ctx.db, table, rowNumber, texts)),
      });
      const count = replaced.reduce((sum, rows) => sum + rows.length, 0);
      replacedCounts[getControlTableName(table.table)] =
        (replacedCounts[getControlTableName(table.table)] ?? 0) + count;
    };
    for await (const row of findRowsNamingPerson(ctx, table, person)) {
      rows.push(row);
      if (rows.length === CHANGES_PER_BATCH) await replaceBatch();
    }
    await replaceBatch();
  }
  return replacedCounts;
}
