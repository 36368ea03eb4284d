import type { CompanyContext } from '../../../context.ts';
import { readTogether } from '../../../db/client.ts';
import { type FieldProblem, invalidInput } from '../../../kernel/failure.ts';
import { ID_PATTERN } from '../../../kernel/ids.ts';
import { acceptsOperator, toComparedText } from '../../../tenant-sql/row-filters.ts';
import { joinUniqueKey, normalizeName } from '../resources/definition.ts';
import { compileDimension, MAX_SQL_LENGTH, type MetricQuery } from './compile.ts';
import { listTableNames, type SemanticItem } from './definition.ts';
import { isTimeType, type Table, type TableColumn } from './expression.ts';
import { type ItemKind, semanticItemUnknown } from './failures.ts';
import { findHiddenItems } from './hidden-items.ts';
import { MetricModel } from './model.ts';
import type { MetricQueryInput } from './query.ts';
import { listRelationTables } from './relations.ts';
import { selectItems, selectRelations } from './store.ts';
import { readTables } from './tables.ts';
import { listMetricNames } from './tokens.ts';
import { describeExpectation, encodeValue } from './types.ts';

/** The maximum number of relations that a query reads. */
const MAX_RELATIONS = 2_000;
/** The maximum number of metrics building on one another that a query reads. */
const MAX_ITEMS = 200;

/** The items of a company that a query needs, by id and by name. */
export class ItemIndex {
  readonly itemsById = new Map<string, SemanticItem>();
  readonly #itemsByKey = new Map<string, SemanticItem>();

  addItems(rows: Awaited<ReturnType<typeof selectItems>>): SemanticItem[] {
    return rows.map(({ id, uniqueKey, content }) => {
      const item = { ...content, id } as SemanticItem;
      this.itemsById.set(id, item);
      this.#itemsByKey.set(uniqueKey, item);
      return item;
    });
  }

  findByName(kind: ItemKind, name: string): SemanticItem | undefined {
    return this.#itemsByKey.get(joinUniqueKey(kind, name));
  }

  /** Finds an item by its id or name. @throws semanticItemUnknown */
  requireItem(kind: ItemKind, idOrName: string): SemanticItem {
    const item = this.itemsById.get(idOrName) ?? this.findByName(kind, idOrName);
    if (item?.kind !== kind) throw semanticItemUnknown(kind, idOrName);
    return item;
  }
}

/**
 * Reads the items of queries, the items that they build on, their tables and the company's relations. @returns the index of the
 * items, and the model that the queries are compiled from
 */
export async function readQueryItems(ctx: CompanyContext, inputs: readonly MetricQueryInput[]) {
  const { itemIndex, relations } = await readItems(ctx, inputs);
  const names = [...itemIndex.itemsById.values()].flatMap((item) => listTableNames(item).flat());
  const tables = await readTables(ctx, [...names, ...relations.flatMap(listRelationTables)]);
  const findMetric = (name: string) => itemIndex.findByName('metric', name);
  return { model: new MetricModel(tables, relations, findMetric, MAX_SQL_LENGTH * inputs.length), itemIndex };
}

/** Reads the tables that the items of a query name, including the items that these build on. */
export async function readQueryTables(ctx: CompanyContext, input: MetricQueryInput): Promise<Table[]> {
  const { itemIndex } = await readItems(ctx, [input]);
  return readTables(
    ctx,
    [...itemIndex.itemsById.values()].flatMap((item) => listTableNames(item).flat()),
  );
}

async function readItems(ctx: CompanyContext, inputs: readonly MetricQueryInput[]) {
  const { companyId } = ctx.actor;
  const metrics = inputs.flatMap((query) => query.metrics);
  const dimensions = inputs.flatMap((query) => [
    ...query.dimensions,
    ...query.filters.map(({ dimension }) => dimension),
  ]);
  const ids = [...metrics, ...dimensions].filter((idOrName) => ID_PATTERN.test(idOrName));
  const keys = [
    ...metrics.map((name) => joinUniqueKey('metric', name)),
    ...dimensions.map((name) => joinUniqueKey('dimension', name)),
  ];
  const { ids: hiddenIds } = await findHiddenItems(ctx);
  const { items, relations } = await readTogether(ctx.db, {
    items: selectItems(ctx.db, companyId, { ids, keys, hiddenIds }),
    relations: selectRelations(ctx.db, companyId, hiddenIds, MAX_RELATIONS + 1),
  });
  if (relations.length > MAX_RELATIONS) {
    const message = `cannot be joined: the company's items hold more than ${MAX_RELATIONS} mapped relations`;
    throw invalidInput([{ field: 'metrics', message }]);
  }
  const itemIndex = new ItemIndex();
  for (let addedItems = itemIndex.addItems(items); addedItems.length > 0; ) {
    const missingKeys = addedItems
      .flatMap(({ kind, formula }) => (kind === 'metric' ? listMetricNames(formula ?? '') : []))
      .flatMap((name) => (itemIndex.findByName('metric', name) ? [] : joinUniqueKey('metric', name)));
    if (missingKeys.length === 0 || itemIndex.itemsById.size > MAX_ITEMS * inputs.length) break;
    addedItems = itemIndex.addItems(await selectItems(ctx.db, companyId, { ids: [], keys: missingKeys, hiddenIds }));
  }
  return { itemIndex, relations: relations.map(({ text }) => text) };
}

/** Resolves the items of a query and parses its values. @throws semanticItemUnknown; `invalidInput` naming the field */
export function resolveQuery(input: MetricQueryInput, model: MetricModel, itemIndex: ItemIndex): MetricQuery {
  const metrics = input.metrics.map((name) => itemIndex.requireItem('metric', name));
  const dimensions = input.dimensions.map((name) => itemIndex.requireItem('dimension', name));
  const problems = [...findRepetitions('metrics', metrics), ...findRepetitions('dimensions', dimensions)];
  const filters = input.filters.map(({ dimension, op: operator, values: sentValues }, index) => {
    const item = itemIndex.requireItem('dimension', dimension);
    const { type } = compileDimension(model, item);
    const values = parseValues(type as TableColumn['type'], operator, sentValues);
    if ('problem' in values) {
      problems.push({
        field: `filters.${index}.${values.field}`,
        message: `${values.problem}: "${item.name}" is of type ${type}`,
      });
    }
    return { dimension: item, operator, values: 'problem' in values ? [] : values.values };
  });
  if (input.time_grain !== null && !dimensions.some((item) => isTimeType(compileDimension(model, item).type))) {
    problems.push({ field: 'time_grain', message: 'needs a date or datetime among the dimensions' });
  }
  const columns = [...dimensions, ...metrics];
  const orderBy = input.order_by.map(({ by, descending }, index) => {
    const column = columns.findIndex(({ id, name }) => id === by || normalizeName(name) === normalizeName(by));
    if (column < 0)
      problems.push({ field: `order_by.${index}.by`, message: 'must be a metric or dimension of the query' });
    return { column, descending };
  });
  if (problems.length > 0) throw invalidInput(problems);
  return { metrics, dimensions, filters, timeGrain: input.time_grain, orderBy, limit: input.limit };
}

const findRepetitions = (field: string, items: readonly SemanticItem[]): FieldProblem[] =>
  items.flatMap((item, index) =>
    items.indexOf(item) < index ? [{ field: `${field}.${index}`, message: 'is named twice' }] : [],
  );

type QueryFilter = MetricQuery['filters'][number];
type ParsedValues = { values: string[] } | { field: 'op' | 'values'; problem: string };

/** Returns the values of a filter as texts that Postgres parses, or the problem with them. */
function parseValues(
  type: TableColumn['type'],
  operator: QueryFilter['operator'],
  sentValues: readonly unknown[],
): ParsedValues {
  if (!acceptsOperator({ type }, operator)) return { field: 'op', problem: 'cannot be used with this dimension' };
  const takesList = operator === 'in' || operator === 'nin';
  if (!takesList && sentValues.length !== 1) return { field: 'values', problem: `must be one value for ${operator}` };
  const operandType = operator === 'is_null' ? 'boolean' : type;
  const values = sentValues.map((value) =>
    operandType === 'datetime' ? toComparedText(operandType, operator, value) : encodeValue(operandType, value),
  );
  const validValues = values.filter((value) => value !== undefined);
  return validValues.length === values.length
    ? { values: validValues }
    : { field: 'values', problem: describeExpectation(operandType) };
}
