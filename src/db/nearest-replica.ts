import { changeStatement, EXECUTING_METHODS } from './guarded-session.ts';

/** Maximum age of the data in a replica's answer. */
const MAX_AGE_MS = 5_000;

/** State of the database that a replica must have reached, and the time (ms) at which it was the newest one. */
interface ReachedState {
  bookmark: string;
  at: number;
}

/** Newest state of the primary that this isolate knows, for each database. */
const latestStates = new WeakMap<D1Database, ReachedState>();

/**
 * Opens a session at the nearest replica, whose data is at most five seconds old: the replica must have reached the
 * state that the primary had five seconds ago. If this isolate knows no such state, the primary answers and reports its
 * state.
 */
export function openNearestSession(database: D1Database, now: () => number): D1DatabaseSession {
  const latestState = latestStates.get(database);
  const openedAt = now();
  if (latestState && openedAt >= latestState.at && openedAt - latestState.at < MAX_AGE_MS)
    return database.withSession(latestState.bookmark);
  const session = database.withSession('first-primary');
  return trackBookmarks(session, (bookmark) => latestStates.set(database, { bookmark, at: openedAt }));
}

/** Makes a session report its bookmark after each query. */
function trackBookmarks(session: D1DatabaseSession, onBookmark: (bookmark: string) => void): D1DatabaseSession {
  const reportBookmarkAfter = async <T>(work: Promise<T>): Promise<T> => {
    const result = await work;
    const bookmark = session.getBookmark();
    if (bookmark) onBookmark(bookmark);
    return result;
  };
  const watchStatement = (statement: D1PreparedStatement): void => {
    for (const name of EXECUTING_METHODS) {
      const runStatement = (statement[name] as (...args: unknown[]) => Promise<unknown>).bind(statement);
      Object.assign(statement, { [name]: (...args: unknown[]) => reportBookmarkAfter(runStatement(...args)) });
    }
  };
  return {
    prepare: (sql: string) => changeStatement(session.prepare(sql), watchStatement),
    batch: <T>(statements: D1PreparedStatement[]) => reportBookmarkAfter(session.batch<T>(statements)),
    getBookmark: () => session.getBookmark(),
  } as D1DatabaseSession;
}
