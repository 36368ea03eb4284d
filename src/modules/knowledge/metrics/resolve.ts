import type { CompanyContext } from '../../../context.ts';
import { readTogether } from '../../../db/client.ts';
import { type FieldProblem, invalid } from '../../../kernel/failure.ts';
import { ID_PATTERN } from '../../../kernel/ids.ts';
import { takesOperator, toComparedText } from '../../../tenant-sql/row-filters.ts';
import { normalizeName, uniqueKeyFrom } from '../resources/service.ts';
import { compileDimension, MAX_SQL_LENGTH, type MetricQuery } from './compile.ts';
import { type Item, listTableNames } from './definition.ts';
import { isTime, type Table, type TableColumn } from './expression.ts';
import { semanticItemUnknown } from './failures.ts';
import { findHiddenItems } from './hidden.ts';
import { Model } from './model.ts';
import type { MetricQueryInput } from './query.ts';
import { listRelationTables } from './relations.ts';
import { selectItems, selectRelations } from './store.ts';
import { readTables } from './tables.ts';
import { listMetricNames } from './tokens.ts';
import { describeExpectation, encodeValue } from './types.ts';

/** The maximum number of relations, and the maximum number of metrics that build on one another, that a query reads. */
const MAX_RELATIONS = 2_000;
const MAX_ITEMS = 200;

type Kind = 'metric' | 'dimension';

/** The items of a company that a query needs, by id and by name. */
export class ItemIndex {
  readonly all = new Map<string, Item>();
  readonly #byKey = new Map<string, Item>();

  add(rows: Awaited<ReturnType<typeof selectItems>>): Item[] {
    return rows.map(({ id, uniqueKey, content }) => {
      const item = { ...content, id } as Item;
      this.all.set(id, item);
      this.#byKey.set(uniqueKey, item);
      return item;
    });
  }

  named(kind: Kind, name: string): Item | undefined {
    return this.#byKey.get(uniqueKeyFrom(kind, name));
  }

  /** Finds an item by its id or name. @throws semanticItemUnknown */
  require(kind: Kind, idOrName: string): Item {
    const item = this.all.get(idOrName) ?? this.named(kind, idOrName);
    if (item?.kind !== kind) throw semanticItemUnknown(kind, idOrName);
    return item;
  }
}

/** A query with the model that it is compiled from. */
export interface ResolvedQuery {
  model: Model;
  query: MetricQuery;
}

/** The items of one or several queries, with the model that they are compiled from. */
export interface QueryItems {
  model: Model;
  found: ItemIndex;
}

/**
 * Finds the items of a query, those that they build on, their tables and the company's relations, and reads its values.
 * @throws semanticItemUnknown; `invalid` naming the field
 */
export async function resolveQuery(ctx: CompanyContext, input: MetricQueryInput): Promise<ResolvedQuery> {
  const readings = await readQueryItems(ctx, [input]);
  return resolveWithItems(readings, input);
}

/** Resolves one of several queries that were read together. */
export const resolveWithItems = ({ model, found }: QueryItems, input: MetricQueryInput): ResolvedQuery => ({
  model,
  query: toMetricQuery(input, model, found),
});

/** Reads the items, tables and relations of several queries. */
export async function readQueryItems(ctx: CompanyContext, inputs: readonly MetricQueryInput[]): Promise<QueryItems> {
  const { found, relations } = await readItems(ctx, inputs);
  const names = [...found.all.values()].flatMap((item) => listTableNames(item).flat());
  const tables = await readTables(ctx, [...names, ...relations.flatMap(listRelationTables)]);
  const metricNamed = (name: string) => found.named('metric', name);
  return { model: new Model(tables, relations, metricNamed, MAX_SQL_LENGTH * inputs.length), found };
}

/** The tables that the items of a query name, and those that these build on. */
export async function readTablesOfItems(ctx: CompanyContext, input: MetricQueryInput): Promise<Table[]> {
  const { found } = await readItems(ctx, [input]);
  return readTables(
    ctx,
    [...found.all.values()].flatMap((item) => listTableNames(item).flat()),
  );
}

async function readItems(
  ctx: CompanyContext,
  inputs: readonly MetricQueryInput[],
): Promise<{ found: ItemIndex; relations: string[] }> {
  const { companyId } = ctx.actor;
  const metrics = inputs.flatMap((query) => query.metrics);
  const dimensions = inputs.flatMap((query) => [
    ...query.dimensions,
    ...query.filters.map(({ dimension }) => dimension),
  ]);
  const ids = [...metrics, ...dimensions].filter((each) => ID_PATTERN.test(each));
  const keys = [
    ...metrics.map((name) => uniqueKeyFrom('metric', name)),
    ...dimensions.map((name) => uniqueKeyFrom('dimension', name)),
  ];
  const { ids: hidden } = await findHiddenItems(ctx);
  const { items, relations } = await readTogether(ctx.db, {
    items: selectItems(ctx.db, companyId, { ids, keys, hidden }),
    relations: selectRelations(ctx.db, companyId, hidden, MAX_RELATIONS + 1),
  });
  if (relations.length > MAX_RELATIONS) {
    const message = `cannot be joined: the company's items hold more than ${MAX_RELATIONS} mapped relations`;
    throw invalid([{ field: 'metrics', message }]);
  }
  const found = new ItemIndex();
  for (let added = found.add(items); added.length > 0; ) {
    const missing = added.flatMap(createMissingKeyFinder(found));
    if (missing.length === 0 || found.all.size > MAX_ITEMS * inputs.length) break;
    added = found.add(await selectItems(ctx.db, companyId, { ids: [], keys: missing, hidden }));
  }
  return { found, relations: relations.map(({ text }) => text) };
}

/** Returns a function for the keys of the metrics that an item builds on and that were not read. */
const createMissingKeyFinder =
  (found: ItemIndex) =>
  ({ kind, formula }: Item): string[] =>
    kind !== 'metric' || formula === null
      ? []
      : listMetricNames(formula).flatMap((name) =>
          found.named('metric', name) ? [] : [uniqueKeyFrom('metric', name)],
        );

function toMetricQuery(input: MetricQueryInput, model: Model, found: ItemIndex): MetricQuery {
  const metrics = input.metrics.map((name) => found.require('metric', name));
  const dimensions = input.dimensions.map((name) => found.require('dimension', name));
  const problems = [...findRepetitions('metrics', metrics), ...findRepetitions('dimensions', dimensions)];
  const filters = input.filters.map(({ dimension, op: operator, values: sent }, index) => {
    const item = found.require('dimension', dimension);
    const { type } = compileDimension(model, item);
    const values = readValues(type as TableColumn['type'], operator, sent);
    if ('problem' in values) {
      problems.push({
        field: `filters.${index}.${values.field}`,
        message: `${values.problem}: "${item.name}" is of type ${type}`,
      });
    }
    return { dimension: item, operator, values: 'problem' in values ? [] : values.values };
  });
  if (input.time_grain !== null && !dimensions.some((item) => isTime(compileDimension(model, item).type))) {
    problems.push({ field: 'time_grain', message: 'needs a date or datetime among the dimensions' });
  }
  const columns = [...dimensions, ...metrics];
  const orderBy = input.order_by.map(({ by, descending }, index) => {
    const column = columns.findIndex(({ id, name }) => id === by || normalizeName(name) === normalizeName(by));
    if (column < 0)
      problems.push({ field: `order_by.${index}.by`, message: 'must be a metric or dimension of the query' });
    return { column, descending };
  });
  if (problems.length > 0) throw invalid(problems);
  return { metrics, dimensions, filters, timeGrain: input.time_grain, orderBy, limit: input.limit };
}

const findRepetitions = (field: string, items: readonly Item[]): FieldProblem[] =>
  items.flatMap((item, index) =>
    items.indexOf(item) < index ? [{ field: `${field}.${index}`, message: 'is named twice' }] : [],
  );

type Filter = MetricQuery['filters'][number];
type ReadValues = { values: string[] } | { field: 'op' | 'values'; problem: string };

/** The values of a filter as Postgres reads them, or the problem with them. */
function readValues(type: TableColumn['type'], operator: Filter['operator'], sent: readonly unknown[]): ReadValues {
  if (!takesOperator({ type }, operator)) return { field: 'op', problem: 'cannot be used with this dimension' };
  const takesList = operator === 'in' || operator === 'nin';
  if (!takesList && sent.length !== 1) return { field: 'values', problem: `must be one value for ${operator}` };
  const of = operator === 'is_null' ? 'boolean' : type;
  const values = sent.map((value) =>
    of === 'datetime' ? toComparedText(of, operator, value) : encodeValue(of, value),
  );
  const fit = values.filter((value) => value !== undefined);
  return fit.length === values.length ? { values: fit } : { field: 'values', problem: describeExpectation(of) };
}
