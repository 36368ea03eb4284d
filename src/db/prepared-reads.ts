import { Placeholder, type SQL, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { type ControlDb, mapStatements, type Statement, type StatementUnit } from './client.ts';

/** Methods of drizzle's prepared queries that drizzle's own `batch` uses. */
interface PreparedQuery {
  getQuery(): { sql: string; params: unknown[] };
  mapResult(result: D1Result, isFromBatch: true): unknown;
}

/** SQL of a read: each parameter is a value, or a placeholder for one. */
interface ReadPlan {
  text: string;
  parameters: unknown[];
  mapRows(result: D1Result): unknown;
}

/** Query builder without a database behind it. */
const queryBuilder = drizzle({ prepare: () => undefined } as unknown as D1Database) as unknown as ControlDb;

/** Prepares reads for `readTogether`: `build` runs once per isolate with placeholders, since building SQL is costly. */
export function prepareReads<const Name extends string, const Reads extends StatementUnit>(
  build: (db: ControlDb, makePlaceholder: (name: Name) => SQL<string>) => Reads,
): (db: ControlDb, values: Record<Name, string | number>) => Reads {
  let reads: Reads | undefined;
  const plans = new Map<Statement, ReadPlan>();
  return ({ $client: session }, values) => {
    if (!reads) {
      reads = build(queryBuilder, (name) => sql<string>`${sql.placeholder(name)}`);
      mapStatements(reads, (read) => plans.set(read, planRead(read)));
    }
    const fillParameter = (parameter: unknown) =>
      parameter instanceof Placeholder ? values[parameter.name as Name] : parameter;
    return mapStatements(reads, (read) => {
      const { text, parameters, mapRows: convertRows } = plans.get(read) as ReadPlan;
      const query = { sql: text, params: parameters.map(fillParameter) };
      return { _prepare: () => ({ stmt: session.prepare(text), getQuery: () => query, mapResult: convertRows }) };
    }) as Reads;
  };
}

function planRead(read: Statement): ReadPlan {
  const preparedQuery = (read as unknown as { prepare(): PreparedQuery }).prepare();
  const { sql: text, params } = preparedQuery.getQuery();
  return { text, parameters: params, mapRows: (result) => preparedQuery.mapResult(result, true) };
}
