import { DurableObject } from 'cloudflare:workers';
import type { Presented } from '../access/known-principals.ts';
import { clock } from '../kernel/clock.ts';
import { FixedWindows, type LimitState } from '../kernel/fixed-window.ts';
import { AccessVersions, type AnnouncedChange } from './access-versions.ts';

const WINDOW_MS = 60_000;

/** How much longer than its request is acceptable a nonce is remembered: clocks differ, and answers get lost. */
const MARGIN_MS = 15 * 60_000;

/** A request whose sender is proved and that asks to be admitted. */
export interface Admission {
  /** The id of the user or service account. */
  principalId: string;
  /** The request's own id. If the same request asks again, its nonce is recognized as its own. */
  requestId: string;
  /** Requests per minute for the whole organization and for this principal. */
  limits: { organization: number; principal: number };
  /** The nonce of a signed request, and until when (ms) its date is acceptable. */
  nonce?: Presented['nonce'];
}

/**
 * What the gate says of a request. `access` is the version of the principal's access: what was read under it holds. It is null
 * while that access is being changed: then only the control database knows.
 */
export type Verdict =
  | { refused: 'nonce_reused' | 'clock_skew' }
  | { refused: null; organization: LimitState; principal: LimitState; access: string | null };

type Nonce = NonNullable<Admission['nonce']>;

/**
/**
 * Checks an organization's requests for replay and against both rate limits, and tells the version of the principal's access,
 * in a single call. Counters are in memory; nonces and versions are in storage, because an eviction must forget neither.
 * `admit` does not await anything, so no other request comes in between; an answer leaves only when what it rests on is on
 * disk.
 */
export class OrganizationGate extends DurableObject {
  readonly #organization = new FixedWindows(WINDOW_MS);
  readonly #principals = new FixedWindows(WINDOW_MS);
  readonly #access: AccessVersions;
  #alarmIsSet = false;

  constructor(state: DurableObjectState, env: Cloudflare.Env) {
    super(state, env);
    state.storage.sql.exec(
      `CREATE TABLE IF NOT EXISTS nonces (
         access_key TEXT NOT NULL, nonce TEXT NOT NULL, expires_at INTEGER NOT NULL, PRIMARY KEY (access_key, nonce)
       ) WITHOUT ROWID`,
    );
    state.storage.sql.exec('CREATE INDEX IF NOT EXISTS nonces_by_expiry ON nonces (expires_at)');
    const columns = state.storage.sql.exec("SELECT 1 FROM pragma_table_info('nonces') WHERE name = 'request_id'");
    if (columns.next().done) state.storage.sql.exec('ALTER TABLE nonces ADD COLUMN request_id TEXT');
    this.#access = new AccessVersions(state.storage.sql);
    void state.blockConcurrencyWhile(async () => {
      this.#alarmIsSet = (await state.storage.getAlarm()) !== null;
    });
  }

  /**
   * Checks for replay before the limits. A request that one limit refuses uses up neither the other limit nor its
   * nonce, so the limits bound the number of stored nonces. A date is acceptable at most as long as its nonce is
   * remembered, so a date in the past is refused here, whenever it was checked before.
   */
  admit({ principalId, requestId, limits, nonce }: Admission): Verdict {
    const now = clock.now();
    if (nonce && nonce.goodUntil < now) return { refused: 'clock_skew' };
    const usedBy = nonce ? this.#usedBy(nonce) : undefined;
    if (usedBy !== undefined && usedBy !== requestId) return { refused: 'nonce_reused' };
    const organization = this.#organization.peek('organization', limits.organization, now);
    const principal = this.#principals.peek(principalId, limits.principal, now);
    const access = this.#access.stampOf(principalId, now);
    if (!organization.allowed || !principal.allowed) return { refused: null, organization, principal, access };
    if (nonce && usedBy === undefined) this.#remember(nonce, requestId);
    return {
      refused: null,
      organization: this.#organization.take('organization', limits.organization, now),
      principal: this.#principals.take(principalId, limits.principal, now),
      access,
    };
  }

  /** Takes an admission back, of a request that another limit refused: it may be sent again with the same nonce. */
  withdraw({ principalId, requestId, nonce }: Admission): void {
    const now = clock.now();
    if (nonce && this.#usedBy(nonce) === requestId) {
      this.ctx.storage.sql.exec('DELETE FROM nonces WHERE access_key = ? AND nonce = ?', nonce.accessKey, nonce.value);
    }
    this.#organization.giveBack('organization', now);
    this.#principals.giveBack(principalId, now);
  }

  /** Access is about to be changed. Whoever says so changes nothing before this is answered. */
  beginChange(change: AnnouncedChange): void {
    this.#access.begin(change, clock.now());
  }

  /** The change is over, done or not. */
  endChange(change: AnnouncedChange): void {
    this.#access.end(change);
  }

  /** Deletes nonces some time after their requests became too old to be accepted. */
  override async alarm(): Promise<void> {
    const { storage } = this.ctx;
    storage.sql.exec('DELETE FROM nonces WHERE expires_at <= ?', clock.now());
    const { next } = storage.sql.exec<{ next: number | null }>('SELECT min(expires_at) AS next FROM nonces').one();
    this.#alarmIsSet = next !== null;
    if (next !== null) await storage.setAlarm(Math.max(next, clock.now() + WINDOW_MS));
  }

  /** The request that used the nonce; undefined if it is new. */
  #usedBy({ accessKey, value }: Nonce): string | null | undefined {
    const found = this.ctx.storage.sql.exec<{ request_id: string | null }>(
      'SELECT request_id FROM nonces WHERE access_key = ? AND nonce = ?',
      accessKey,
      value,
    );
    return found.toArray()[0]?.request_id;
  }

  #remember({ accessKey, value, goodUntil }: Nonce, requestId: string): void {
    const { storage } = this.ctx;
    const expiresAt = goodUntil + MARGIN_MS;
    storage.sql.exec(
      'INSERT INTO nonces (access_key, nonce, expires_at, request_id) VALUES (?, ?, ?, ?)',
      accessKey,
      value,
      expiresAt,
      requestId,
    );
    if (this.#alarmIsSet) return;
    this.#alarmIsSet = true;
    void storage.setAlarm(expiresAt + 1);
  }
}
