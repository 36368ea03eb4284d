import { isAllowed, isAllowedOnAll } from '../../../access/requirements.ts';
import type { CompanyContext, PrincipalContext } from '../../../context.ts';
import type { ValidationError } from '../../../db/schema/knowledge-resources.ts';
import type { JobMessage } from '../../../platform/job-messages.ts';
import { logError } from '../../../platform/log.ts';
import { findTables, type ManagedTable } from '../../managed-tables/service.ts';
import { storeMessage } from '../../outbox/service.ts';
import { parseColumnName, parseRelationColumns } from '../metrics/relations.ts';
import { hasQuestions } from '../questions/service.ts';
import { type Check, isUnreachable, type Recheck } from '../resources/service.ts';
import { expressionErrors, notCompiled } from './expressions.ts';
import type { SemanticItem } from './item.ts';

/** The delay of another check after one that could not reach the database. */
const RECHECK_SECONDS = 60;

/**
 * Checks an item against the company's tables. While the database cannot be reached, the only error is `not_checked`, and
 * the check is repeated later.
 */
export async function checkItem(ctx: CompanyContext, item: SemanticItem): Promise<Check> {
  const later = [...listTables(item)];
  const orElse = async <T>(run: () => Promise<T>, otherwise: () => Promise<T>): Promise<T> => {
    try {
      return await run();
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      logError('database_unavailable', error, { company_id: ctx.actor.companyId });
      return otherwise();
    }
  };
  const check = await orElse<Check>(
    () => checkItemNow(ctx, item),
    async () => ({ ...NOT_CHECKED, later }),
  );
  const checkLater = async () => {
    // The scheduled run sends it, when it is time.
    await storeMessage(ctx, makeRecheck(ctx.actor.companyId, later), RECHECK_SECONDS * 1000).stored;
    return true;
  };
  return { ...check, isCurrent: () => orElse(check.isCurrent, checkLater) };
}

const makeRecheck = (companyId: string, tables: string[]): JobMessage => ({
  type: 'knowledge.recheck',
  companyId,
  tables,
  after: '',
});

/** The message after a write: to check the item again, where that failed, or else the verified questions, which may use it. */
export const recheckAfter = (companyId: string, check: Check | undefined): Recheck =>
  check?.later
    ? { message: makeRecheck(companyId, check.later), delaySeconds: RECHECK_SECONDS }
    : {
        message: { type: 'knowledge.recheck_questions', companyId, after: '' },
        when: hasQuestions(companyId),
      };

const NOT_CHECKED: Check = {
  errors: [
    {
      field: 'mapped_tables',
      code: 'not_checked',
      message: "The company's database could not be reached; the check will be repeated.",
    },
  ],
  isCurrent: async () => true,
};

/** As `checkItem`, but throws while the database cannot be reached. */
export async function checkItemNow(ctx: CompanyContext, item: SemanticItem): Promise<Check> {
  const names = [...listTables(item)];
  const tables = await findTables(ctx, names);
  return {
    errors: [...mappingErrors(item, tables), ...(await expressionErrors(ctx, item, tables))],
    isCurrent: async () => describeShape(await findTables(ctx, names)) === describeShape(tables),
  };
}

/** Matches an expression that may name other tables than the mapped ones. */
const NAMES_RELATIONS = /\b(?:select|table|\w*reg\w+)\b/i;

/**
 * Items with the errors that their reader may see: a table that the reader may not see is as if absent, and errors of
 * expressions over it are left out.
 */
export async function withVisibleErrors<R extends { content: SemanticItem; validationErrors: ValidationError[] }>(
  ctx: PrincipalContext,
  items: readonly R[],
): Promise<R[]> {
  if (isAllowedOnAll(ctx.actor, 'managed-tables:list')) return [...items];
  const names = [...new Set(items.flatMap(({ content }) => [...listTables(content)]))];
  const tables = await findTables(ctx, names).catch((error: unknown) => {
    if (!isUnreachable(error)) throw error;
    return [];
  });
  const shown = tables.filter(({ id }) => isAllowed(ctx.actor, 'managed-tables:list', id));
  const isShown = (name: string) => shown.some(({ id, displayName }) => id === name || displayName === name);
  return items.map((item) => {
    const { content } = item;
    const expressions = [content.formula ?? '', ...content.filters];
    const isTold = [...listTables(content)].every(isShown) && !expressions.some((text) => NAMES_RELATIONS.test(text));
    if (isTold) return item;
    return { ...item, validationErrors: [...mappingErrors(content, shown), ...notCompiled(content)] };
  });
}

/** A text of all properties of the tables that a check depends on. */
const describeShape = (tables: ManagedTable[]): string =>
  JSON.stringify(tables.map(({ id, displayName, columns }) => [id, displayName, columns]));

/** Names and ids of the tables that an item maps, whole or by their columns. */
function listTables(item: SemanticItem): Set<string> {
  return new Set([...item.mapped_tables, ...listColumns(item).map(({ table }) => table)]);
}

/** Errors in the mappings of an item: tables and columns that do not exist, malformed texts. */
function mappingErrors(item: SemanticItem, tables: ManagedTable[]): ValidationError[] {
  const findTable = (name: string) => tables.find(({ id, displayName }) => id === name || displayName === name);
  const unknownTables = item.mapped_tables.flatMap((name, index) =>
    findTable(name) ? [] : [unknownTable(`mapped_tables.${index}`, name)],
  );
  const unknownColumns = listColumns(item).flatMap(({ field, table, column }): ValidationError[] => {
    const found = findTable(table);
    if (!found) return [unknownTable(field, table)];
    if (column === 'id' || found.columns.some(({ name }) => name === column)) return [];
    return [{ field, code: 'unknown_column', message: `The table ${table} has no column ${column}.` }];
  });
  return [...malformedMappings(item), ...unknownTables, ...unknownColumns];
}

/** Every column that an item names. */
function listColumns({ mapped_columns, mapped_relations }: SemanticItem) {
  return [
    ...mapped_columns.flatMap((text, index) => {
      const column = parseColumnName(text);
      return column ? [{ field: `mapped_columns.${index}`, ...column }] : [];
    }),
    ...mapped_relations.flatMap((text, index) =>
      parseRelationColumns(text).map((column) => ({ field: `mapped_relations.${index}`, ...column })),
    ),
  ];
}

function malformedMappings({ mapped_columns, mapped_relations }: SemanticItem): ValidationError[] {
  const mismatches = (isOfForm: (text: string) => boolean, field: string, texts: string[], form: string) =>
    texts.flatMap((text, index): ValidationError[] =>
      isOfForm(text) ? [] : [{ field: `${field}.${index}`, code: 'malformed', message: `must be \`${form}\`` }],
    );
  return [
    ...mismatches((text) => parseColumnName(text) !== undefined, 'mapped_columns', mapped_columns, 'table.column'),
    ...mismatches(
      (text) => parseRelationColumns(text).length > 0,
      'mapped_relations',
      mapped_relations,
      'table.column = table.column',
    ),
  ];
}

const unknownTable = (field: string, name: string): ValidationError => ({
  field,
  code: 'unknown_table',
  message: `There is no managed table ${name}.`,
});
