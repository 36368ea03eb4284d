import { isAllowed, isAllowedOnAll } from '../../../access/requirements.ts';
import type { CompanyContext, PrincipalContext } from '../../../context.ts';
import type { ValidationError } from '../../../db/schema/knowledge-resources.ts';
import type { JobMessage } from '../../../platform/job-messages.ts';
import { logError } from '../../../platform/log.ts';
import { findTables, type ManagedTable } from '../../managed-tables/service.ts';
import { storeMessage } from '../../outbox/service.ts';
import { parseColumnName, parseRelationColumns } from '../metrics/relations.ts';
import { hasQuestions } from '../questions/store.ts';
import { isDatabaseUnreachable } from '../resources/checks.ts';
import type { CheckResult, RecheckMessage } from '../resources/definition.ts';
import { findExpressionErrors, makeNotCompiledErrors } from './expressions.ts';
import type { SemanticItem } from './item.ts';

/** The delay of another check after a check that could not reach the database. */
const RECHECK_DELAY_SECONDS = 60;

/**
 * Checks an item against the company's tables. While the database cannot be reached, the only error is `not_checked`, and the
 * check is repeated later.
 */
export async function checkItem(ctx: CompanyContext, item: SemanticItem): Promise<CheckResult> {
  const tablesToCheckLater = [...listTables(item)];
  const runUnlessUnreachable = async <T>(run: () => Promise<T>, runWhileUnreachable: () => Promise<T>): Promise<T> => {
    try {
      return await run();
    } catch (error) {
      if (!isDatabaseUnreachable(error)) throw error;
      logError('database_unavailable', error, { company_id: ctx.actor.companyId });
      return runWhileUnreachable();
    }
  };
  const check = await runUnlessUnreachable<CheckResult>(
    () => checkItemNow(ctx, item),
    async () => ({ ...UNCHECKED_RESULT, uncheckedTables: tablesToCheckLater }),
  );
  const checkLater = async () => {
    // The scheduled run sends it, when it is time.
    await storeMessage(ctx, makeRecheckMessage(ctx.actor.companyId, tablesToCheckLater), RECHECK_DELAY_SECONDS * 1000)
      .storedPromise;
    return true;
  };
  return { ...check, isCurrent: () => runUnlessUnreachable(check.isCurrent, checkLater) };
}

const makeRecheckMessage = (companyId: string, tables: string[]): JobMessage => ({
  type: 'knowledge.recheck',
  companyId,
  tables,
  after: '',
});

/**
 * Makes the message after a write: to check the item again, where that failed, or else the verified questions, which may use it.
 */
export const makeRecheckAfterWrite = (companyId: string, check: CheckResult | undefined): RecheckMessage =>
  check?.uncheckedTables
    ? { message: makeRecheckMessage(companyId, check.uncheckedTables), delaySeconds: RECHECK_DELAY_SECONDS }
    : {
        message: { type: 'knowledge.recheck_questions', companyId, after: '' },
        condition: hasQuestions(companyId),
      };

const UNCHECKED_RESULT: CheckResult = {
  errors: [
    {
      field: 'mapped_tables',
      code: 'not_checked',
      message: "The company's database could not be reached; the check will be repeated.",
    },
  ],
  isCurrent: async () => true,
};

/** Checks an item like `checkItem`, but throws while the database cannot be reached. */
export async function checkItemNow(ctx: CompanyContext, item: SemanticItem): Promise<CheckResult> {
  const names = [...listTables(item)];
  const tables = await findTables(ctx, names);
  return {
    errors: [...findMappingErrors(item, tables), ...(await findExpressionErrors(ctx, item, tables))],
    isCurrent: async () => describeShape(await findTables(ctx, names)) === describeShape(tables),
  };
}

/** Matches an expression that may name tables other than the mapped ones. */
const RELATION_NAME_PATTERN = /\b(?:select|table|\w*reg\w+)\b/i;

/**
 * Returns items with the errors that their reader may see: a table hidden from the reader counts as absent, and errors of
 * expressions over it are left out.
 */
export async function filterVisibleErrors<R extends { content: SemanticItem; validationErrors: ValidationError[] }>(
  ctx: PrincipalContext,
  items: readonly R[],
): Promise<R[]> {
  if (isAllowedOnAll(ctx.actor, 'managed-tables:list')) return [...items];
  const names = [...new Set(items.flatMap(({ content }) => [...listTables(content)]))];
  const tables = await findTables(ctx, names).catch((error: unknown) => {
    if (!isDatabaseUnreachable(error)) throw error;
    return [];
  });
  const visibleTables = tables.filter(({ id }) => isAllowed(ctx.actor, 'managed-tables:list', id));
  const isTableVisible = (name: string) =>
    visibleTables.some(({ id, displayName }) => id === name || displayName === name);
  return items.map((item) => {
    const { content } = item;
    const expressions = [content.formula ?? '', ...content.filters];
    const areErrorsVisible =
      [...listTables(content)].every(isTableVisible) && !expressions.some((text) => RELATION_NAME_PATTERN.test(text));
    if (areErrorsVisible) return item;
    return {
      ...item,
      validationErrors: [...findMappingErrors(content, visibleTables), ...makeNotCompiledErrors(content)],
    };
  });
}

/** Returns a text of all properties of the tables that a check depends on. */
const describeShape = (tables: ManagedTable[]): string =>
  JSON.stringify(tables.map(({ id, displayName, columns }) => [id, displayName, columns]));

/** Returns the names and ids of the tables that an item maps, whole or by their columns. */
function listTables(item: SemanticItem): Set<string> {
  return new Set([...item.mapped_tables, ...listColumns(item).map(({ table }) => table)]);
}

/** Finds the errors in the mappings of an item: tables and columns that do not exist, malformed texts. */
function findMappingErrors(item: SemanticItem, tables: ManagedTable[]): ValidationError[] {
  const findTable = (name: string) => tables.find(({ id, displayName }) => id === name || displayName === name);
  const unknownTables = item.mapped_tables.flatMap((name, index) =>
    findTable(name) ? [] : [makeUnknownTableError(`mapped_tables.${index}`, name)],
  );
  const unknownColumns = listColumns(item).flatMap(({ field, table, column }): ValidationError[] => {
    const foundTable = findTable(table);
    if (!foundTable) return [makeUnknownTableError(field, table)];
    if (column === 'id' || foundTable.columns.some(({ name }) => name === column)) return [];
    return [{ field, code: 'unknown_column', message: `The table ${table} has no column ${column}.` }];
  });
  return [...findMalformedMappings(item), ...unknownTables, ...unknownColumns];
}

/** Lists every column that an item names. */
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

function findMalformedMappings({ mapped_columns, mapped_relations }: SemanticItem): ValidationError[] {
  const makeError = (field: string, form: string): ValidationError => ({
    field,
    code: 'malformed',
    message: `must be \`${form}\``,
  });
  return [
    ...mapped_columns.flatMap((text, index) =>
      parseColumnName(text) ? [] : [makeError(`mapped_columns.${index}`, 'table.column')],
    ),
    ...mapped_relations.flatMap((text, index) =>
      parseRelationColumns(text).length > 0
        ? []
        : [makeError(`mapped_relations.${index}`, 'table.column = table.column')],
    ),
  ];
}

const makeUnknownTableError = (field: string, name: string): ValidationError => ({
  field,
  code: 'unknown_table',
  message: `There is no managed table ${name}.`,
});
