import { env } from 'cloudflare:test';

type Query = D1PreparedStatement;
const QUERY_METHODS = ['all', 'raw', 'run', 'first'] as const;

/**
 * The environment of a request that meets a rival: `rival` runs, whole, just before each of the request's first `times`
 * queries of the control database whose SQL fits `pattern`, alone or in a batch. Only queries made with this environment are looked at,
 * so what the rival does itself is never held up.
 * @returns `env` for `call`'s `env`, and whether the rival has run: a test that never met its rival proves nothing
 */
export function createRivalEnv(
  pattern: RegExp,
  rival: () => Promise<unknown>,
  times = 1,
): { env: Record<string, string>; hasRun(): boolean } {
  let met = 0;
  let done = 0;
  const texts = new WeakMap<Query, string>();

  const meet = async (queries: Query[]): Promise<void> => {
    if (met === times || !queries.some((query) => pattern.test(texts.get(query) ?? ''))) return;
    met += 1;
    await rival();
    done += 1;
  };
  const watch = (query: Query, text: string): Query => {
    texts.set(query, text);
    const bind = query.bind.bind(query);
    query.bind = (...values) => watch(bind(...values), text);
    for (const name of QUERY_METHODS) {
      const run = (query[name] as (...given: unknown[]) => Promise<unknown>).bind(query);
      Object.assign(query, {
        [name]: async (...given: unknown[]) => {
          await meet([query]);
          return run(...given);
        },
      });
    }
    return query;
  };

  const CONTROL_DB = {
    withSession(constraint: string) {
      const session = env.CONTROL_DB.withSession(constraint);
      return {
        prepare: (text: string) => watch(session.prepare(text), text),
        batch: async (queries: Query[]) => {
          await meet(queries);
          return session.batch(queries);
        },
        getBookmark: () => session.getBookmark(),
      };
    },
  };
  return { env: { CONTROL_DB } as unknown as Record<string, string>, hasRun: () => done === times };
}

/**
 * Sends a request, and runs `rival`, whole, just before its first query that fits `pattern`.
 * @param request sends the request with the environment it is given
 * @param times before how many such queries it runs, once each
 * @returns what the request answered
 * @throws Error where no query fits: the rival would never have come in between
 */
export async function sendOvertaken<T>(
  pattern: RegExp,
  rival: () => Promise<unknown>,
  request: (env: Record<string, string>) => Promise<T>,
  times = 1,
): Promise<T> {
  const { env: watched, hasRun } = createRivalEnv(pattern, rival, times);
  const outcome = await request(watched);
  if (!hasRun()) throw new Error(`No rival came in between: no query fits ${pattern}, or the rival failed.`);
  return outcome;
}

/** A row of the control database, looked up behind the API's back. */
export const selectRow = <Row extends object>(sql: string, ...values: unknown[]): Promise<Row | null> =>
  env.CONTROL_DB.prepare(sql)
    .bind(...values)
    .first<Row>();

/** How many rows of the control database there are. */
export async function countRows(sql: string, ...values: unknown[]): Promise<number> {
  return (await selectRow<{ count: number }>(`select count(*) as count from ${sql}`, ...values))?.count as number;
}
