import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Failure } from '../../../src/kernel/failure.ts';
import { newId } from '../../../src/kernel/ids.ts';
import { type CompiledQuery, compileQuery } from '../../../src/modules/knowledge/metrics/compile.ts';
import type { Item } from '../../../src/modules/knowledge/metrics/definition.ts';
import type { Table } from '../../../src/modules/knowledge/metrics/expression.ts';
import { Model } from '../../../src/modules/knowledge/metrics/model.ts';
import type { TenantSql } from '../../../src/tenant-sql/client.ts';
import { aTenant } from '../../support/tenant.ts';
import { COLUMNS, type Generated, generated, POSTGRES, tablesOf, textOf, valuesOf } from './generated.ts';
import { Oracle, type OracleDimension, type OracleMetric, type OracleTable, Refused, type Value } from './oracle.ts';

/** Queries are many to a set of tables, so that all of them take seconds. */
const QUERIES = 50;
const SETS = 50;

let owner: TenantSql;
beforeAll(async () => {
  owner = (await aTenant(newId(Date.now()))).owner();
});
afterAll(() => owner.close());

const toTable = ({ name, unique }: OracleTable): Table => ({
  id: name,
  name,
  version: 1,
  columns: [{ name: 'id', type: 'uuid' }, ...Object.entries(COLUMNS).map(([column, type]) => ({ name: column, type }))],
  unique: new Set(['id', ...unique]),
});

const makeItem = (kind: Item['kind'], name: string, fields: Partial<Item>): Item => ({
  id: name,
  kind,
  name,
  formula: null,
  filters: [],
  aggregation: null,
  mapped_tables: [],
  mapped_columns: [],
  mapped_relations: [],
  ...fields,
});
const toMetricItem = (metric: OracleMetric): Item =>
  makeItem('metric', metric.name, {
    formula: textOf(metric.formula),
    filters: metric.filters.map(({ sql }) => sql),
    mapped_tables: [metric.table],
    mapped_columns: tablesOf(metric).map((table) => `${table}.key`),
  });
const toDimensionItem = ({ name, value, filters }: OracleDimension): Item =>
  makeItem('dimension', name, {
    formula: value.sql,
    filters: filters.map(({ sql }) => sql),
    mapped_tables: [...new Set([...value.tables, ...filters.flatMap(({ tables }) => tables)])],
  });

function compileGenerated({ tables, relations }: Generated, query: Generated['queries'][number]): CompiledQuery {
  const items = new Map(query.all.map((metric) => [metric.name, toMetricItem(metric)]));
  const said = relations.map(({ many, one }) => `${many.join('.')} = ${one.join('.')}`);
  return compileQuery(new Model(tables.map(toTable), said, (name) => items.get(name)), {
    metrics: query.metrics.map(({ name }) => items.get(name) as Item),
    dimensions: query.dimensions.map(toDimensionItem),
    filters: query.filters.map(({ dimension, operator, values }) => ({
      dimension: toDimensionItem(dimension),
      operator,
      values,
    })),
    timeGrain: query.grain,
    orderBy: [],
    limit: 1000,
  });
}

/** What a query comes to: the statement, or why there is none. */
function computeOutcome(of: Generated, query: Generated['queries'][number]): CompiledQuery | string {
  try {
    return compileGenerated(of, query);
  } catch (error) {
    if (error instanceof Failure) return error.reason;
    throw error;
  }
}

const isNear = (left: Value, right: Value): boolean =>
  left === right ||
  (typeof left === 'number' &&
    typeof right === 'number' &&
    Math.abs(left - right) <= 1e-9 * Math.max(1, Math.abs(left)));

const toValue = (value: unknown): Value =>
  typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : (value as Value);

let counted = { answered: 0, refused: 0, rows: 0 };

async function expectSameResults(set: Generated): Promise<void> {
  const columns = Object.entries(COLUMNS).map(([name, type]) => `${name} ${POSTGRES[type]}`);
  for (const { name, rows } of set.tables) {
    await owner.query(
      `DROP TABLE IF EXISTS public.${name}; CREATE TABLE public.${name} (id uuid DEFAULT uuidv7(), ${columns.join(', ')})`,
    );
    if (rows.length > 0)
      await owner.query(`INSERT INTO public.${name} (${Object.keys(COLUMNS).join(', ')}) VALUES ${valuesOf(rows)}`);
  }
  const oracle = new Oracle(set.tables, set.relations);
  const outcomes = set.queries.map((query) => ({ query, outcome: computeOutcome(set, query) }));
  const statements = outcomes.flatMap(({ outcome }) => (typeof outcome === 'string' ? [] : [outcome.statement]));
  const results = (await owner.queryAll<Record<string, unknown>[]>(statements as never)) as Record<string, unknown>[][];
  for (const { query, outcome } of outcomes) {
    let expected: Map<string, Value[]>;
    try {
      expected = oracle.answer(query);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      expect([...error.reasons].map((reason) => `semantic_query.${reason}`)).toContain(outcome);
      counted.refused += 1;
      continue;
    }
    if (typeof outcome === 'string') throw new Error(`refused: ${outcome} ${JSON.stringify(query)}`);
    const rows = (results.shift() ?? []).map((row) => Object.values(row).map(toValue));
    const { text } = outcome.statement;
    const actual = new Map(
      rows.map((row) => [JSON.stringify(row.slice(0, query.dimensions.length)), row.slice(query.dimensions.length)]),
    );
    expect([...actual.keys()].sort(), text).toEqual([...expected.keys()].sort());
    expect(rows.length).toBe(expected.size);
    for (const [key, values] of expected) {
      const found = actual.get(key) as Value[];
      if (!values.every((value, index) => isNear(value, found[index] as Value)))
        expect(found, `${key}\n${text}`).toEqual(values);
    }
    counted.answered += 1;
    counted.rows += expected.size;
  }
}

it('a metric query answers what is computed row by row, or is refused as expected', { timeout: 120_000 }, async () => {
  counted = { answered: 0, refused: 0, rows: 0 };
  await fc.assert(fc.asyncProperty(generated(QUERIES), expectSameResults), { numRuns: SETS, endOnFailure: true });
  // The generated queries are worth something: enough of them have an answer, with groups in it.
  expect(counted.answered + counted.refused).toBe(QUERIES * SETS);
  expect(counted.answered).toBeGreaterThan(300);
  expect(counted.refused).toBeGreaterThan(50);
  expect(counted.rows).toBeGreaterThan(300);
});
