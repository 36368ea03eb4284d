import { EXECUTING_METHODS } from './guarded-session.ts';

/** The greatest age of the data in a replica's answer. */
const MAX_AGE_MS = 5_000;

/** A state of the database that a replica must have reached, and when (ms) it was the newest one. */
interface ReachedState {
  bookmark: string;
  at: number;
}

/** For each database, the newest state of its primary that this isolate knows. */
const latestStates = new WeakMap<D1Database, ReachedState>();

/**
 * Opens a session at the nearest replica, whose data is at most five seconds old: the replica must have reached the state that
 * the primary had then. Where this isolate knows of no such state the primary answers, and tells it.
 */
export function openNearestSession(database: D1Database, now: () => number): D1DatabaseSession {
  const known = latestStates.get(database);
  const openedAt = now();
  if (known && openedAt >= known.at && openedAt - known.at < MAX_AGE_MS) return database.withSession(known.bookmark);
  const session = database.withSession('first-primary');
  return trackBookmarks(session, (bookmark) => latestStates.set(database, { bookmark, at: openedAt }));
}

/** A session that tells its bookmark after each query. */
function trackBookmarks(session: D1DatabaseSession, tell: (bookmark: string) => void): D1DatabaseSession {
  const told = async <T>(work: Promise<T>): Promise<T> => {
    const result = await work;
    const bookmark = session.getBookmark();
    if (bookmark) tell(bookmark);
    return result;
  };
  const watched = (statement: D1PreparedStatement): D1PreparedStatement => {
    const bind = statement.bind.bind(statement);
    statement.bind = (...values) => watched(bind(...values));
    for (const name of EXECUTING_METHODS) {
      const run = (statement[name] as (...given: unknown[]) => Promise<unknown>).bind(statement);
      Object.assign(statement, { [name]: (...given: unknown[]) => told(run(...given)) });
    }
    return statement;
  };
  return {
    prepare: (sql: string) => watched(session.prepare(sql)),
    batch: <T>(statements: D1PreparedStatement[]) => told(session.batch<T>(statements)),
    getBookmark: () => session.getBookmark(),
  } as D1DatabaseSession;
}
