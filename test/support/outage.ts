import { env } from 'cloudflare:test';

type Query = D1PreparedStatement;

/**
 * The environment of a request during an outage of the control database: whatever is asked with a query whose SQL fits
 * `pattern`, alone or in a batch, fails.
 */
export function createFailingEnv(pattern: RegExp): Record<string, string> {
  const doomed = new WeakSet<Query>();
  const mark = (query: Query): Query => {
    doomed.add(query);
    const bind = query.bind.bind(query);
    query.bind = (...values) => mark(bind(...values));
    for (const name of ['all', 'raw', 'run', 'first'] as const) {
      Object.assign(query, { [name]: () => Promise.reject(new Error('D1_ERROR: the database is away')) });
    }
    return query;
  };
  const CONTROL_DB = {
    withSession(constraint: string) {
      const session = env.CONTROL_DB.withSession(constraint);
      return {
        prepare: (text: string) => (pattern.test(text) ? mark(session.prepare(text)) : session.prepare(text)),
        batch: (queries: Query[]) =>
          queries.some((query) => doomed.has(query))
            ? Promise.reject(new Error('D1_ERROR: the database is away'))
            : session.batch(queries),
        getBookmark: () => session.getBookmark(),
      };
    },
  };
  return { CONTROL_DB } as unknown as Record<string, string>;
}
