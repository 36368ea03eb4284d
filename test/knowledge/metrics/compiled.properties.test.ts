import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { Failure } from '../../../src/kernel/failure.ts';
import { newId } from '../../../src/kernel/ids.ts';
import { type CompiledQuery, compileQuery } from '../../../src/modules/knowledge/metrics/compile.ts';
import type { SemanticItem } from '../../../src/modules/knowledge/metrics/definition.ts';
import type { Table } from '../../../src/modules/knowledge/metrics/expression.ts';
import { MetricModel } from '../../../src/modules/knowledge/metrics/model.ts';
import { createTenant } from '../../support/tenant.ts';
import {
  COLUMNS,
  formatFormula,
  formatRows,
  type GeneratedSet,
  listUsedTables,
  makeArbitrarySet,
  POSTGRES_TYPES,
} from './generated.ts';
import {
  Oracle,
  type OracleDimension,
  type OracleMetric,
  type OracleTable,
  type OracleValue,
  QueryRefusedError,
} from './oracle.ts';

/** The number of queries per set of tables: many, so that all sets together take only seconds. */
const QUERIES_PER_SET = 50;
const SET_COUNT = 50;

const owner = (await createTenant(newId(Date.now()))).openOwnerSql();
afterAll(() => owner.close());

const toTable = ({ name, uniqueColumns: unique }: OracleTable): Table => ({
  id: name,
  name,
  version: 1,
  columns: [{ name: 'id', type: 'uuid' }, ...Object.entries(COLUMNS).map(([column, type]) => ({ name: column, type }))],
  uniqueColumns: new Set(['id', ...unique]),
});

const makeItem = (kind: SemanticItem['kind'], name: string, fields: Partial<SemanticItem>): SemanticItem => ({
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
const toMetricItem = (metric: OracleMetric): SemanticItem =>
  makeItem('metric', metric.name, {
    formula: formatFormula(metric.formula),
    filters: metric.filters.map(({ sql }) => sql),
    mapped_tables: [metric.table],
    mapped_columns: listUsedTables(metric).map((table) => `${table}.key`),
  });
const toDimensionItem = ({ name, value, filters }: OracleDimension): SemanticItem =>
  makeItem('dimension', name, {
    formula: value.sql,
    filters: filters.map(({ sql }) => sql),
    mapped_tables: [...new Set([...value.tables, ...filters.flatMap(({ tables }) => tables)])],
  });

function compileGeneratedQuery(
  { tables, relations }: GeneratedSet,
  query: GeneratedSet['queries'][number],
): CompiledQuery {
  const items = new Map(query.allMetrics.map((metric) => [metric.name, toMetricItem(metric)]));
  const relationTexts = relations.map(({ many, one }) => `${many.join('.')} = ${one.join('.')}`);
  return compileQuery(new MetricModel(tables.map(toTable), relationTexts, (name) => items.get(name)), {
    metrics: query.metrics.map(({ name }) => items.get(name) as SemanticItem),
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

/** Returns the compiled query, or the reason why there is none. */
function computeOutcome(generatedSet: GeneratedSet, query: GeneratedSet['queries'][number]): CompiledQuery | string {
  try {
    return compileGeneratedQuery(generatedSet, query);
  } catch (error) {
    if (error instanceof Failure) return error.reason;
    throw error;
  }
}

const isNear = (left: OracleValue, right: OracleValue): boolean =>
  left === right ||
  (typeof left === 'number' &&
    typeof right === 'number' &&
    Math.abs(left - right) <= 1e-9 * Math.max(1, Math.abs(left)));

const toOracleValue = (value: unknown): OracleValue =>
  typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : (value as OracleValue);

let counts = { answered: 0, refused: 0, rows: 0 };

async function expectSameResults(generatedSet: GeneratedSet): Promise<void> {
  const columns = Object.entries(COLUMNS).map(([name, type]) => `${name} ${POSTGRES_TYPES[type]}`);
  for (const { name, rows } of generatedSet.tables) {
    await owner.query(
      `DROP TABLE IF EXISTS public.${name}; CREATE TABLE public.${name} (id uuid DEFAULT uuidv7(), ${columns.join(', ')})`,
    );
    if (rows.length > 0)
      await owner.query(`INSERT INTO public.${name} (${Object.keys(COLUMNS).join(', ')}) VALUES ${formatRows(rows)}`);
  }
  const oracle = new Oracle(generatedSet.tables, generatedSet.relations);
  const outcomes = generatedSet.queries.map((query) => ({ query, outcome: computeOutcome(generatedSet, query) }));
  const statements = outcomes.flatMap(({ outcome }) => (typeof outcome === 'string' ? [] : [outcome.statement]));
  const results = (await owner.queryAll<Record<string, unknown>[]>(statements as never)) as Record<string, unknown>[][];
  for (const { query, outcome } of outcomes) {
    let expectedGroups: Map<string, OracleValue[]>;
    try {
      expectedGroups = oracle.computeAnswer(query);
    } catch (error) {
      if (!(error instanceof QueryRefusedError)) throw error;
      expect([...error.reasons].map((reason) => `semantic_query.${reason}`)).toContain(outcome);
      counts.refused += 1;
      continue;
    }
    if (typeof outcome === 'string') throw new Error(`refused: ${outcome} ${JSON.stringify(query)}`);
    const rows = (results.shift() ?? []).map((row) => Object.values(row).map(toOracleValue));
    const { text } = outcome.statement;
    const actualGroups = new Map(
      rows.map((row) => [JSON.stringify(row.slice(0, query.dimensions.length)), row.slice(query.dimensions.length)]),
    );
    expect([...actualGroups.keys()].sort(), text).toEqual([...expectedGroups.keys()].sort());
    expect(rows.length).toBe(expectedGroups.size);
    for (const [key, values] of expectedGroups) {
      const actualValues = actualGroups.get(key) as OracleValue[];
      if (!values.every((value, index) => isNear(value, actualValues[index] as OracleValue)))
        expect(actualValues, `${key}\n${text}`).toEqual(values);
    }
    counts.answered += 1;
    counts.rows += expectedGroups.size;
  }
}

it('a metric query returns the result that is computed row by row, or is refused for the expected reason', {
  timeout: 120_000,
}, async () => {
  counts = { answered: 0, refused: 0, rows: 0 };
  await fc.assert(fc.asyncProperty(makeArbitrarySet(QUERIES_PER_SET), expectSameResults), {
    numRuns: SET_COUNT,
    endOnFailure: true,
  });
  // The generated queries are worth something: enough of them have an answer, with groups in it.
  expect(counts.answered + counts.refused).toBe(QUERIES_PER_SET * SET_COUNT);
  expect(counts.answered).toBeGreaterThan(300);
  expect(counts.refused).toBeGreaterThan(50);
  expect(counts.rows).toBeGreaterThan(300);
});
