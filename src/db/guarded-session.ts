import { touchesAccess } from './access-changes.ts';
import { accessNotChanged } from './failures.ts';

/** A D1 session that changes nobody's access unless that was announced. */
export interface GuardedSession {
  prepare(sql: string): D1PreparedStatement;
  batch(statements: D1PreparedStatement[]): Promise<D1Result[]>;
  getBookmark(): D1SessionBookmark | null;
  /** Lets batches change access while `work` runs, until `deadline` (ms): the announcement runs out later. */
  runAccessChange<T>(deadline: number, work: () => Promise<T>): Promise<T>;
}

/** The methods that run a statement alone. */
export const EXECUTING_METHODS = ['all', 'raw', 'run', 'first'] as const;

/** Fails, and the batch with it, once the deadline is past by the database's own clock. */
const DEADLINE_CHECK = `select case when unixepoch('subsec') * 1000 > ? then json('too late') end`;

/** Whether the deadline check failed, whose text is invalid JSON; all else reads only JSON that this service wrote. */
const isTooLate = (error: unknown): boolean => /malformed JSON/.test(String(error));

/** Watches the statements of a session for those that change access: see `access-changes.ts`. */
export function createGuardedSession(session: D1DatabaseSession): GuardedSession {
  const touching = new WeakSet<D1PreparedStatement>();
  let announced: { deadline: number }[] = [];

  const mark = (statement: D1PreparedStatement): D1PreparedStatement => {
    touching.add(statement);
    const bind = statement.bind.bind(statement);
    statement.bind = (...values) => mark(bind(...values));
    for (const name of EXECUTING_METHODS) Object.assign(statement, { [name]: refuseAlone });
    return statement;
  };

  return {
    prepare: (sql) => {
      const statement = session.prepare(sql);
      return touchesAccess(sql) ? mark(statement) : statement;
    },
    async batch(statements) {
      if (!statements.some((statement) => touching.has(statement))) return session.batch(statements);
      const latest = announced.at(-1);
      if (!latest) throw new Error('This changes access: use `ctx.changeAccess`.');
      const [, ...results] = await session
        .batch([session.prepare(DEADLINE_CHECK).bind(latest.deadline), ...statements])
        .catch((error) => {
          throw isTooLate(error) ? accessNotChanged().because(error) : error;
        });
      return results;
    },
    getBookmark: () => session.getBookmark(),
    async runAccessChange(deadline, work) {
      const change = { deadline };
      announced = [...announced, change];
      try {
        return await work();
      } finally {
        announced = announced.filter((each) => each !== change);
      }
    },
  };
}

function refuseAlone(): never {
  throw new Error('This changes access: use `commit` within `ctx.changeAccess`.');
}
