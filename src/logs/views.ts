/** The number of a share's executions, and when it was last opened (ms). */
export interface ShareViews {
  shareId: string;
  viewCount: number;
  lastAccessedAt: number;
}

export function addViews(sql: SqlStorage, { shareId, viewCount, lastAccessedAt }: ShareViews): void {
  sql.exec(
    `INSERT INTO share_views (shareId, viewCount, before, lastAccessedAt) VALUES (?, ?, 0, ?)
     ON CONFLICT DO UPDATE SET viewCount = viewCount + excluded.viewCount,
       lastAccessedAt = max(lastAccessedAt, excluded.lastAccessedAt)`,
    shareId,
    viewCount,
    lastAccessedAt,
  );
}

/** Sets the counts from before this log: they are added to its own, once. */
export function putViewsBefore(sql: SqlStorage, { shareId, viewCount, lastAccessedAt }: ShareViews): void {
  sql.exec(
    `INSERT INTO share_views (shareId, viewCount, before, lastAccessedAt) VALUES (?, 0, ?, ?)
     ON CONFLICT DO UPDATE SET before = max(before, excluded.before),
       lastAccessedAt = max(lastAccessedAt, excluded.lastAccessedAt)`,
    shareId,
    viewCount,
    lastAccessedAt,
  );
}

export function readViews(sql: SqlStorage, shareIds: readonly string[]): ShareViews[] {
  const found = sql.exec<{ shareId: string; viewCount: number; lastAccessedAt: number }>(
    `SELECT shareId, viewCount + before AS viewCount, lastAccessedAt FROM share_views
     WHERE shareId IN (SELECT value FROM json_each(?))`,
    JSON.stringify(shareIds),
  );
  return found.toArray();
}
