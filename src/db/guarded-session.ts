import { touchesAccess } from './access-changes.ts';
import { accessNotChanged } from './failures.ts';

/** D1 session that changes access only if the change was announced. */
export interface GuardedSession {
  prepare(sql: string): D1PreparedStatement;
  batch(statements: D1PreparedStatement[]): Promise<D1Result[]>;
  getBookmark(): D1SessionBookmark | null;
  /** Runs `work`, whose batches may change access until `deadline` (ms): before the change that was announced to the gate expires. */
  runAccessChange<T>(deadline: number, work: () => Promise<T>): Promise<T>;
}

/** Names of the methods that run a statement alone. */
export const EXECUTING_METHODS = ['all', 'raw', 'run', 'first'] as const;

/** Applies `change` to a statement, and to every statement that `bind` makes of it, with the bound values. */
export function changeStatement(
  statement: D1PreparedStatement,
  change: (statement: D1PreparedStatement, values: readonly unknown[]) => void,
  values: readonly unknown[] = [],
): D1PreparedStatement {
  change(statement, values);
  const bindValues = statement.bind.bind(statement);
  statement.bind = (...boundValues) => changeStatement(bindValues(...boundValues), change, boundValues);
  return statement;
}

/** Makes a statement fail with `message` unless a batch runs it. */
export function refuseOutsideBatch(statement: D1PreparedStatement, message: string): void {
  const refuse = () => {
    throw new Error(message);
  };
  for (const name of EXECUTING_METHODS) Object.assign(statement, { [name]: refuse });
}

/** Statement that fails, and its batch with it, once the deadline is past by the database's own clock. */
const DEADLINE_CHECK_SQL = `select case when unixepoch('subsec') * 1000 > ? then json('too late') end`;

/**
 * Returns true if `DEADLINE_CHECK_SQL` failed: no other statement meets JSON that is malformed, as all stored JSON was written
 * by this service.
 */
const isTooLate = (error: unknown): boolean => /malformed JSON/.test(String(error));

/** Creates a session that refuses statements that change access (`access-changes.ts`) without an announcement. */
export function createGuardedSession(session: D1DatabaseSession): GuardedSession {
  const accessStatements = new WeakSet<D1PreparedStatement>();
  let announcedChanges: { deadline: number }[] = [];

  const markStatement = (statement: D1PreparedStatement): void => {
    accessStatements.add(statement);
    refuseOutsideBatch(statement, 'This changes access: use `commit` within `ctx.changeAccess`.');
  };

  return {
    prepare: (sql) => {
      const statement = session.prepare(sql);
      return touchesAccess(sql) ? changeStatement(statement, markStatement) : statement;
    },
    async batch(statements) {
      if (!statements.some((statement) => accessStatements.has(statement))) return session.batch(statements);
      const latestChange = announcedChanges.at(-1);
      if (!latestChange) throw new Error('This changes access: use `ctx.changeAccess`.');
      const [, ...results] = await session
        .batch([session.prepare(DEADLINE_CHECK_SQL).bind(latestChange.deadline), ...statements])
        .catch((error) => {
          throw isTooLate(error) ? accessNotChanged().addCause(error) : error;
        });
      return results;
    },
    getBookmark: () => session.getBookmark(),
    async runAccessChange(deadline, work) {
      const change = { deadline };
      announcedChanges = [...announcedChanges, change];
      try {
        return await work();
      } finally {
        announcedChanges = announcedChanges.filter((announcedChange) => announcedChange !== change);
      }
    },
  };
}
