import { env } from 'cloudflare:test';
import type { ApiResponse } from './api.ts';
import { expectSuccess } from './signed.ts';

type PreparedQuery = D1PreparedStatement;
const QUERY_METHODS = ['all', 'raw', 'run', 'first'] as const;

/**
 * Creates the environment of a request that is overtaken: `concurrentWork` runs completely just before each of the request's
 * first `maxMatches` queries of the control database whose SQL matches `pattern`, alone or in a batch. Only queries made with
 * this environment are watched, so queries of `concurrentWork` itself are never held up. @returns `env` for `callApi`'s `env`,
 * and whether `concurrentWork` has run: a test in which it never ran proves nothing
 */
export function createRacingEnv(
  pattern: RegExp,
  concurrentWork: () => Promise<unknown>,
  maxMatches = 1,
): { env: Record<string, string>; hasRun(): boolean } {
  let matchCount = 0;
  let doneCount = 0;
  const texts = new WeakMap<PreparedQuery, string>();

  const runConcurrentWork = async (queries: PreparedQuery[]): Promise<void> => {
    if (matchCount === maxMatches || !queries.some((query) => pattern.test(texts.get(query) ?? ''))) return;
    matchCount += 1;
    await concurrentWork();
    doneCount += 1;
  };
  const watchQuery = (query: PreparedQuery, text: string): PreparedQuery => {
    texts.set(query, text);
    const bind = query.bind.bind(query);
    query.bind = (...values) => watchQuery(bind(...values), text);
    for (const name of QUERY_METHODS) {
      const run = (query[name] as (...queryArguments: unknown[]) => Promise<unknown>).bind(query);
      Object.assign(query, {
        [name]: async (...queryArguments: unknown[]) => {
          await runConcurrentWork([query]);
          return run(...queryArguments);
        },
      });
    }
    return query;
  };

  const CONTROL_DB = {
    withSession(constraint: string) {
      const session = env.CONTROL_DB.withSession(constraint);
      return {
        prepare: (text: string) => watchQuery(session.prepare(text), text),
        batch: async (queries: PreparedQuery[]) => {
          await runConcurrentWork(queries);
          return session.batch(queries);
        },
        getBookmark: () => session.getBookmark(),
      };
    },
  };
  return { env: { CONTROL_DB } as unknown as Record<string, string>, hasRun: () => doneCount === maxMatches };
}

/**
 * Sends a request, and runs `concurrentWork` completely just before the request's first query that matches `pattern`. @param
 * request sends the request with the environment it is given @param maxMatches the number of such queries before each of which
 * `concurrentWork` runs @returns the outcome of `request` @throws Error where no query matches: then `concurrentWork` would
 * never have run
 */
export async function sendDuringRace<T>(
  pattern: RegExp,
  concurrentWork: () => Promise<unknown>,
  request: (env: Record<string, string>) => Promise<T>,
  maxMatches = 1,
): Promise<T> {
  const { env: racingEnv, hasRun } = createRacingEnv(pattern, concurrentWork, maxMatches);
  const outcome = await request(racingEnv);
  if (!hasRun()) throw new Error(`No rival came in between: no query fits ${pattern}, or the rival failed.`);
  return outcome;
}

/**
 * Sends a request, and just before its first query that matches `pattern` the same request, which must succeed. @returns the
 * answer to the slower one
 */
export const sendTwice = (
  pattern: RegExp,
  request: (env?: Record<string, string>) => Promise<ApiResponse>,
): Promise<ApiResponse> => sendDuringRace(pattern, () => expectSuccess(request()), request);

/** Runs a statement in the control database directly, without the API. */
export const runSql = (sql: string, ...values: unknown[]): Promise<unknown> =>
  env.CONTROL_DB.prepare(sql)
    .bind(...values)
    .run();

/** Reads rows of the control database directly, without the API. */
export const selectRows = async <Row extends object = Record<string, unknown>>(
  sql: string,
  ...values: unknown[]
): Promise<Row[]> =>
  (
    await env.CONTROL_DB.prepare(sql)
      .bind(...values)
      .all<Row>()
  ).results;

/** Reads the first row of the control database that a query finds. */
export const selectRow = async <Row extends object = Record<string, unknown>>(
  sql: string,
  ...values: unknown[]
): Promise<Row | null> => (await selectRows<Row>(sql, ...values))[0] ?? null;

/** Counts rows of the control database. */
export async function countRows(sql: string, ...values: unknown[]): Promise<number> {
  return (await selectRow<{ count: number }>(`select count(*) as count from ${sql}`, ...values))?.count as number;
}
