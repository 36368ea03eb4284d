import { DurableObject } from 'cloudflare:workers';
import { FixedWindows, type LimitState } from '../kernel/fixed-window.ts';

const WINDOW_MS = 60_000;

/** A request that has proved who sent it and asks to be let in. */
export interface Admission {
  /** Who is asking: a user's or service account's id. */
  principalId: string;
  /** Requests per minute for the whole organization and for this principal. */
  limits: { organization: number; principal: number };
  /** The nonce of a signed request, and when (ms) its date stops being acceptable. */
  nonce?: { accessKey: string; value: string; expiresAt: number };
}

export type Verdict = { nonceReused: true } | { nonceReused: false; organization: LimitState; principal: LimitState };

type Nonce = NonNullable<Admission['nonce']>;

/**
 * One per organization: answers replay and both rate limits in a single call. Counters live in memory; nonces are
 * kept in storage, because one forgotten by an eviction would let a request be replayed. Nothing in `admit` waits, so no
 * other request comes in between; the answer leaves only when the nonce is on disk.
 */
export class OrganizationGate extends DurableObject {
  readonly #organization = new FixedWindows(WINDOW_MS);
  readonly #principals = new FixedWindows(WINDOW_MS);
  #alarmIsSet = false;

  constructor(state: DurableObjectState, env: Cloudflare.Env) {
    super(state, env);
    state.storage.sql.exec(
      `CREATE TABLE IF NOT EXISTS nonces (
         access_key TEXT NOT NULL, nonce TEXT NOT NULL, expires_at INTEGER NOT NULL, PRIMARY KEY (access_key, nonce)
       ) WITHOUT ROWID`,
    );
    state.storage.sql.exec('CREATE INDEX IF NOT EXISTS nonces_by_expiry ON nonces (expires_at)');
    void state.blockConcurrencyWhile(async () => {
      this.#alarmIsSet = (await state.storage.getAlarm()) !== null;
    });
  }

  /**
   * Replay comes before the limits. A request that a limit refuses is not let in, so it uses up neither the other limit
   * nor its nonce: what the storage holds is bounded by what the limits let in.
   */
  admit({ principalId, limits, nonce }: Admission): Verdict {
    if (nonce && this.#isKnown(nonce)) return { nonceReused: true };
    const now = Date.now();
    const organization = this.#organization.peek('organization', limits.organization, now);
    const principal = this.#principals.peek(principalId, limits.principal, now);
    if (!organization.allowed || !principal.allowed) return { nonceReused: false, organization, principal };
    if (nonce) this.#remember(nonce);
    return {
      nonceReused: false,
      organization: this.#organization.take('organization', limits.organization, now),
      principal: this.#principals.take(principalId, limits.principal, now),
    };
  }

  /** Forgets the nonces whose requests are too old to be accepted. */
  override async alarm(): Promise<void> {
    const { storage } = this.ctx;
    storage.sql.exec('DELETE FROM nonces WHERE expires_at <= ?', Date.now());
    const { next } = storage.sql.exec<{ next: number | null }>('SELECT min(expires_at) AS next FROM nonces').one();
    this.#alarmIsSet = next !== null;
    if (next !== null) await storage.setAlarm(Math.max(next, Date.now() + WINDOW_MS));
  }

  #isKnown({ accessKey, value }: Nonce): boolean {
    const found = this.ctx.storage.sql.exec(
      'SELECT 1 FROM nonces WHERE access_key = ? AND nonce = ?',
      accessKey,
      value,
    );
    return !found.next().done;
  }

  #remember({ accessKey, value, expiresAt }: Nonce): void {
    const { storage } = this.ctx;
    storage.sql.exec('INSERT INTO nonces VALUES (?, ?, ?)', accessKey, value, expiresAt);
    if (this.#alarmIsSet) return;
    this.#alarmIsSet = true;
    void storage.setAlarm(expiresAt + 1);
  }
}
