import { selectRows } from '../platform/objects.ts';

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

/** Sets a share's counts from before the log existed: these are added to the log's own counts, once. */
export function setViewsBefore(sql: SqlStorage, { shareId, viewCount, lastAccessedAt }: ShareViews): void {
  sql.exec(
    `INSERT INTO share_views (shareId, viewCount, before, lastAccessedAt) VALUES (?, 0, ?, ?)
     ON CONFLICT DO UPDATE SET before = max(before, excluded.before),
       lastAccessedAt = max(lastAccessedAt, excluded.lastAccessedAt)`,
    shareId,
    viewCount,
    lastAccessedAt,
  );
}

export const readViews = (sql: SqlStorage, shareIds: readonly string[]): ShareViews[] =>
  selectRows<ShareViews>(
    sql,
    `SELECT shareId, viewCount + before AS viewCount, lastAccessedAt FROM share_views
     WHERE shareId IN (SELECT value FROM json_each(?))`,
    JSON.stringify(shareIds),
  );
