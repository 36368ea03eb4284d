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

/**
 * One per organization: answers replay and both rate limits in a single call. Counters live in memory; nonces are
 * kept in storage, because one forgotten by an eviction would let a request be replayed.
 */
export class OrganizationGate extends DurableObject {
  readonly #organization = new FixedWindows(WINDOW_MS);
  readonly #principals = new FixedWindows(WINDOW_MS);

  constructor(state: DurableObjectState, env: Cloudflare.Env) {
    super(state, env);
    state.storage.sql.exec(
      `CREATE TABLE IF NOT EXISTS nonces (
         access_key TEXT NOT NULL, nonce TEXT NOT NULL, expires_at INTEGER NOT NULL, PRIMARY KEY (access_key, nonce)
       ) WITHOUT ROWID`,
    );
  }

  async admit({ principalId, limits, nonce }: Admission): Promise<Verdict> {
    if (nonce && !(await this.#remember(nonce))) return { nonceReused: true };
    const now = Date.now();
    const organization = this.#organization.peek('organization', limits.organization, now);
    const principal = this.#principals.peek(principalId, limits.principal, now);
    // A request that one limit refuses must not use up the other.
    if (!organization.allowed || !principal.allowed) return { nonceReused: false, organization, principal };
    return {
      nonceReused: false,
      organization: this.#organization.take('organization', limits.organization, now),
      principal: this.#principals.take(principalId, limits.principal, now),
    };
  }

  override async alarm(): Promise<void> {
    const { sql } = this.ctx.storage;
    sql.exec('DELETE FROM nonces WHERE expires_at <= ?', Date.now());
    const [next] = sql.exec<{ at: number | null }>('SELECT min(expires_at) AS at FROM nonces').toArray();
    if (next?.at) await this.ctx.storage.setAlarm(Math.max(next.at, Date.now() + WINDOW_MS));
  }

  /** False when the nonce is already known. */
  async #remember({ accessKey, value, expiresAt }: NonNullable<Admission['nonce']>): Promise<boolean> {
    const { storage } = this.ctx;
    const inserted = storage.sql.exec(
      'INSERT INTO nonces VALUES (?, ?, ?) ON CONFLICT DO NOTHING RETURNING 1',
      accessKey,
      value,
      expiresAt,
    );
    const isNew = inserted.toArray().length === 1;
    if (isNew && (await storage.getAlarm()) === null) await storage.setAlarm(expiresAt + 1);
    return isNew;
  }
}
