import { env } from 'cloudflare:test';

type PreparedQuery = D1PreparedStatement;

/**
 * Creates the environment of a request during an outage of the control database: every query whose SQL matches `pattern` fails,
 * alone or in a batch.
 */
export function createFailingEnv(pattern: RegExp): Record<string, string> {
  const failingQueries = new WeakSet<PreparedQuery>();
  const markFailing = (query: PreparedQuery): PreparedQuery => {
    failingQueries.add(query);
    const bind = query.bind.bind(query);
    query.bind = (...values) => markFailing(bind(...values));
    for (const name of ['all', 'raw', 'run', 'first'] as const) {
      Object.assign(query, { [name]: () => Promise.reject(new Error('D1_ERROR: the database is away')) });
    }
    return query;
  };
  const CONTROL_DB = {
    withSession(constraint: string) {
      const databaseSession = env.CONTROL_DB.withSession(constraint);
      return {
        prepare: (text: string) =>
          pattern.test(text) ? markFailing(databaseSession.prepare(text)) : databaseSession.prepare(text),
        batch: (queries: PreparedQuery[]) =>
          queries.some((query) => failingQueries.has(query))
            ? Promise.reject(new Error('D1_ERROR: the database is away'))
            : databaseSession.batch(queries),
        getBookmark: () => databaseSession.getBookmark(),
      };
    },
  };
  return { CONTROL_DB } as unknown as Record<string, string>;
}
