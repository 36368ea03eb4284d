import { Placeholder, type SQL, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import type { ControlDb } from './client.ts';

/** A query as drizzle builds it. */
type Read = PromiseLike<unknown> & { prepare(): unknown };
type Rows<Query> = Query extends PromiseLike<infer Found> ? Found : never;
type RowsOf<Reads extends readonly Read[]> = { -readonly [K in keyof Reads]: Rows<Reads[K]> };

/** What drizzle's prepared queries can do, as its own `batch` uses them. */
interface Prepared {
  getQuery(): { sql: string; params: unknown[] };
  mapResult(result: D1Result, isFromBatch: true): unknown;
}

/** A read whose SQL is written: each parameter is a value, or the place of one. */
interface Plan {
  sql: string;
  parameters: unknown[];
  rows(result: D1Result): unknown;
}

/** Builds queries without a database behind them. */
const builder = drizzle({ prepare: () => undefined } as unknown as D1Database) as unknown as ControlDb;

/**
 * Reads that go together in one batch, their SQL written once per isolate: writing it costs more than everything else
 * that is computed for a request. `build` is called once, with a stand-in for each value.
 * @returns runs the reads on a database with these values, and gives each one's rows
 */
export function planned<const Name extends string, const Reads extends readonly Read[]>(
  build: (db: ControlDb, value: (name: Name) => SQL<string>) => Reads,
): (db: ControlDb, values: Record<Name, string | number>) => Promise<RowsOf<Reads>> {
  let plans: Plan[] | undefined;
  return async ({ $client: session }, values) => {
    plans ??= build(builder, (name) => sql<string>`${sql.placeholder(name)}`).map(planOf);
    const filled = (parameter: unknown) =>
      parameter instanceof Placeholder ? values[parameter.name as Name] : parameter;
    const results = await session.batch(
      plans.map((plan) => session.prepare(plan.sql).bind(...plan.parameters.map(filled))),
    );
    return plans.map((plan, index) => plan.rows(results[index] as D1Result)) as RowsOf<Reads>;
  };
}

function planOf(read: Read): Plan {
  const prepared = read.prepare() as Prepared;
  const { sql: text, params } = prepared.getQuery();
  return { sql: text, parameters: params, rows: (result) => prepared.mapResult(result, true) };
}
