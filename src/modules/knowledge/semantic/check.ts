import type { CompanyContext } from '../../../context.ts';
import type { ValidationError } from '../../../db/schema/knowledge-resources.ts';
import { Failure } from '../../../kernel/failure.ts';
import { logError } from '../../../platform/log.ts';
import { findTables, type ManagedTable } from '../../managed-tables/service.ts';
import type { Check } from '../resources/service.ts';
import { compile } from './compile.ts';
import type { SemanticItem } from './item.ts';

/** When a check that was not possible is made up for. Seconds. */
const LATER_SECONDS = 60;

/** `table.column`, or two of them around `=`. */
const COLUMN = /^([^.\s=]+)\.([^.\s=]+)$/;
const JOIN = /^([^.\s=]+\.[^.\s=]+)\s*=\s*([^.\s=]+\.[^.\s=]+)$/;

/** Whether a failure is only that the company's database is out of reach. */
export const isOutOfReach = (error: unknown): boolean => error instanceof Failure && error.kind === 'unavailable';

/**
 * What is wrong with an item as the company's tables are now. While they are out of reach that is all that is said, and
 * the check is made up for.
 */
export async function checkItem(ctx: CompanyContext, item: SemanticItem): Promise<Check> {
  const { companyId } = ctx.actor;
  const orLater = async <T>(work: () => Promise<T>, meanwhile: T): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (!isOutOfReach(error)) throw error;
      logError('database_unavailable', error, { company_id: companyId });
      const tables = [...tablesOf(item)];
      await ctx.jobs.send({ type: 'knowledge.recheck', companyId, tables, after: '' }, LATER_SECONDS);
      return meanwhile;
    }
  };
  const { errors, holds } = await orLater(() => checkItemNow(ctx, item), NOT_CHECKED);
  return { errors, holds: () => orLater(holds, true) };
}

const NOT_CHECKED: Check = {
  errors: [
    {
      field: 'mapped_tables',
      code: 'not_checked',
      message: "The company's database could not be reached; the check is made up for.",
    },
  ],
  holds: async () => true,
};

/**
 * The same, for those who can wait.
 * @throws Failure of kind `unavailable`
 */
export async function checkItemNow(ctx: CompanyContext, item: SemanticItem): Promise<Check> {
  const names = [...tablesOf(item)];
  const tables = await findTables(ctx, names);
  return {
    errors: [...mappingErrors(item, tables), ...(await compile(ctx, item, tables))],
    holds: async () => shapeOf(await findTables(ctx, names)) === shapeOf(tables),
  };
}

/** All of tables that a check depends on. */
const shapeOf = (tables: ManagedTable[]): string =>
  JSON.stringify(tables.map(({ id, displayName, columns }) => [id, displayName, columns]));

/** Names and ids of the tables that an item maps, by themselves or by their columns. */
function tablesOf(item: SemanticItem): Set<string> {
  return new Set([...item.mapped_tables, ...columnsOf(item).map(({ table }) => table)]);
}

/** What an item maps that is not there. */
function mappingErrors(item: SemanticItem, tables: ManagedTable[]): ValidationError[] {
  const tableOf = (name: string) => tables.find(({ id, displayName }) => id === name || displayName === name);
  const unknownTables = item.mapped_tables.flatMap((name, index) =>
    tableOf(name) ? [] : [unknownTable(`mapped_tables.${index}`, name)],
  );
  const unknownColumns = columnsOf(item).flatMap(({ field, table, column }): ValidationError[] => {
    const found = tableOf(table);
    if (!found) return [unknownTable(field, table)];
    if (column === 'id' || found.columns.some(({ name }) => name === column)) return [];
    return [{ field, code: 'unknown_column', message: `The table ${table} has no column ${column}.` }];
  });
  return [...malformed(item), ...unknownTables, ...unknownColumns];
}

/** Every column that an item names. */
function columnsOf({ mapped_columns, mapped_relations }: SemanticItem) {
  const column = (field: string, text: string | undefined) => {
    const [, table, name] = COLUMN.exec(text ?? '') ?? [];
    return table === undefined || name === undefined ? [] : [{ field, table, column: name }];
  };
  return [
    ...mapped_columns.flatMap((text, index) => column(`mapped_columns.${index}`, text)),
    ...mapped_relations.flatMap((text, index) => {
      const [, left, right] = JOIN.exec(text) ?? [];
      return [left, right].flatMap((side) => column(`mapped_relations.${index}`, side));
    }),
  ];
}

/** What is neither a column nor two that belong together. */
function malformed({ mapped_columns, mapped_relations }: SemanticItem): ValidationError[] {
  const unless = (pattern: RegExp, field: string, texts: string[], form: string) =>
    texts.flatMap((text, index): ValidationError[] =>
      pattern.test(text) ? [] : [{ field: `${field}.${index}`, code: 'malformed', message: `must be \`${form}\`` }],
    );
  return [
    ...unless(COLUMN, 'mapped_columns', mapped_columns, 'table.column'),
    ...unless(JOIN, 'mapped_relations', mapped_relations, 'table.column = table.column'),
  ];
}

const unknownTable = (field: string, name: string): ValidationError => ({
  field,
  code: 'unknown_table',
  message: `There is no managed table ${name}.`,
});
