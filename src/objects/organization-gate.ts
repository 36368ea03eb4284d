import { DurableObject } from 'cloudflare:workers';
import { clock } from '../kernel/clock.ts';
import { FixedWindows, type LimitState } from '../kernel/fixed-window.ts';
import { AccessVersions, type AnnouncedChange } from './access-versions.ts';
import { type Nonce, Nonces } from './nonces.ts';

const WINDOW_MS = 60_000;

/** A request whose sender is proved and that asks to be admitted. */
export interface Admission {
  /** The id of the user or service account. */
  principalId: string;
  /** The request's own id. If the same request asks again, its nonce is recognized as its own. */
  requestId: string;
  /** Requests per minute for the whole organization and for this principal. */
  limits: { organization: number; principal: number };
  /** The nonce of a signed request, and until when (ms) its date is acceptable. */
  nonce?: Nonce | undefined;
}

/**
 * What the gate says of a request. `access` is the version of the principal's access: what was read under it holds. It is null
 * while that access is being changed: then only the control database knows.
 */
export type Verdict =
  | { refused: 'nonce_reused' | 'clock_skew' }
  | { refused: null; organization: LimitState; principal: LimitState; access: string | null };

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
  readonly #nonces: Nonces;
  #alarmIsSet = false;

  constructor(state: DurableObjectState, env: Cloudflare.Env) {
    super(state, env);
    this.#nonces = new Nonces(state.storage.sql, clock.now());
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
    const usedBy = nonce ? this.#nonces.usedBy(nonce) : undefined;
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
    if (nonce && this.#nonces.usedBy(nonce) === requestId) this.#nonces.forget(nonce);
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

  /** Forgets nonces some time after their requests became too old to be accepted. */
  override async alarm(): Promise<void> {
    this.#nonces.dropOld(clock.now());
    const next = this.#nonces.nextEnd;
    this.#alarmIsSet = next !== null;
    if (next !== null) await this.ctx.storage.setAlarm(next);
  }

  #remember(nonce: Nonce, requestId: string): void {
    this.#nonces.remember(nonce, requestId);
    if (this.#alarmIsSet) return;
    this.#alarmIsSet = true;
    void this.ctx.storage.setAlarm(this.#nonces.nextEnd as number);
  }
}
