import type { AffectedPrincipals } from '../access/commit-access.ts';
import { MINUTE_MS } from '../kernel/clock.ts';

/** A change of access in progress, or one whose maker was lost before it ended. */
export interface AnnouncedChange {
  id: string;
  affected: AffectedPrincipals['principals'];
}

/** The time after which a change that was never ended counts as over. */
export const MAX_CHANGE_MS = MINUTE_MS;

/** The maximum number of principals with a version of their own. Beyond it, everybody's version changes. */
const MAX_PRINCIPALS = 5_000;

const EVERYBODY_KEY = '';

/**
 * The version of each principal's access, and whether it is being changed. Data that was read under a version while no change
 * was in progress is valid as long as that version is current. Everything is stored on disk: after a restart, changes in
 * progress are still known and cached data stays valid.
 */
export class AccessVersions {
  readonly #sql: SqlStorage;
  readonly #versions = new Map<string, number>();
  readonly #changes = new Map<string, { affected: AffectedPrincipals['principals']; until: number }>();
  #epoch = '';

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec('CREATE TABLE IF NOT EXISTS access_versions (principal TEXT PRIMARY KEY, version) WITHOUT ROWID');
    sql.exec('CREATE TABLE IF NOT EXISTS access_changes (id TEXT PRIMARY KEY, affected, until) WITHOUT ROWID');
    this.#load();
  }

  /** Returns the version under which data about a principal may be cached; null while their access is being changed. */
  getVersion(principal: string, now: number): string | null {
    this.#expire(now);
    for (const { affected } of this.#changes.values()) {
      if (affected === 'everybody' || affected.includes(principal)) return null;
    }
    return `${this.#epoch}.${this.#versions.get(EVERYBODY_KEY) ?? 0}.${this.#versions.get(principal) ?? 0}`;
  }

  /** Begins a change: until it ends, cached data about the affected principals is invalid. */
  beginChange({ id, affected }: AnnouncedChange, now: number): void {
    this.#changes.set(id, { affected, until: now + MAX_CHANGE_MS });
    this.#sql.exec(
      'INSERT OR REPLACE INTO access_changes VALUES (?, ?, ?)',
      id,
      JSON.stringify(affected),
      now + MAX_CHANGE_MS,
    );
  }

  /** Ends a change, whether it was made or not: data that was read before is no longer valid. */
  endChange({ id, affected }: AnnouncedChange): void {
    this.#renew(affected);
    this.#changes.delete(id);
    this.#sql.exec('DELETE FROM access_changes WHERE id = ?', id);
  }

  /**
   * Ends changes that were not ended in time. The versions of the affected principals change once more, as if the changes had
   * ended now.
   */
  #expire(now: number): void {
    for (const [id, { affected, until }] of this.#changes) if (until <= now) this.endChange({ id, affected });
  }

  #renew(affectedPrincipals: AffectedPrincipals['principals']): void {
    const affectsEverybody =
      affectedPrincipals === 'everybody' || this.#versions.size + affectedPrincipals.length > MAX_PRINCIPALS;
    if (affectsEverybody) {
      const version = (this.#versions.get(EVERYBODY_KEY) ?? 0) + 1;
      this.#versions.clear();
      this.#sql.exec("DELETE FROM access_versions WHERE principal NOT IN ('', 'epoch')");
      this.#write(EVERYBODY_KEY, version);
      return;
    }
    for (const principal of affectedPrincipals) this.#write(principal, (this.#versions.get(principal) ?? 0) + 1);
  }

  #write(principal: string, version: number): void {
    this.#versions.set(principal, version);
    this.#sql.exec('INSERT OR REPLACE INTO access_versions VALUES (?, ?)', principal, version);
  }

  #load(): void {
    for (const { principal, version } of this.#sql.exec('SELECT principal, version FROM access_versions')) {
      if (principal === 'epoch') this.#epoch = String(version);
      else this.#versions.set(String(principal), Number(version));
    }
    for (const { id, affected, until } of this.#sql.exec('SELECT id, affected, until FROM access_changes')) {
      this.#changes.set(String(id), { affected: JSON.parse(String(affected)), until: Number(until) });
    }
    // An object that begins anew, empty, gives no version that an older one gave.
    if (this.#epoch !== '') return;
    this.#epoch = crypto.randomUUID();
    this.#sql.exec("INSERT INTO access_versions VALUES ('epoch', ?)", this.#epoch);
  }
}
