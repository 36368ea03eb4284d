import { Placeholder, type SQL, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { type ControlDb, mapStatements, type Statement, type Unit } from './client.ts';

/** The methods of drizzle's prepared queries that its own `batch` uses. */
interface Prepared {
  getQuery(): { sql: string; params: unknown[] };
  mapResult(result: D1Result, isFromBatch: true): unknown;
}

/** A read whose SQL is written: each parameter is a value, or the place of one. */
interface Plan {
  text: string;
  parameters: unknown[];
  rows(result: D1Result): unknown;
}

/** Builds queries without a database behind them. */
const queryBuilder = drizzle({ prepare: () => undefined } as unknown as D1Database) as unknown as ControlDb;

/** Reads for `readTogether`, SQL written once per isolate by `build` with stand-ins: that costs most of a request. */
export function prepareReads<const Name extends string, const Reads extends Unit>(
  build: (db: ControlDb, value: (name: Name) => SQL<string>) => Reads,
): (db: ControlDb, values: Record<Name, string | number>) => Reads {
  let reads: Reads | undefined;
  const plans = new Map<Statement, Plan>();
  return ({ $client: session }, values) => {
    if (!reads) {
      reads = build(queryBuilder, (name) => sql<string>`${sql.placeholder(name)}`);
      mapStatements(reads, (read) => plans.set(read, planRead(read)));
    }
    const filled = (parameter: unknown) =>
      parameter instanceof Placeholder ? values[parameter.name as Name] : parameter;
    return mapStatements(reads, (read) => {
      const { text, parameters, rows } = plans.get(read) as Plan;
      const query = { sql: text, params: parameters.map(filled) };
      return { _prepare: () => ({ stmt: session.prepare(text), getQuery: () => query, mapResult: rows }) };
    }) as Reads;
  };
}

function planRead(read: Statement): Plan {
  const prepared = (read as unknown as { prepare(): Prepared }).prepare();
  const { sql: text, params } = prepared.getQuery();
  return { text, parameters: params, rows: (result) => prepared.mapResult(result, true) };
}
