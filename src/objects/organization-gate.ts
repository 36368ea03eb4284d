import { DurableObject } from 'cloudflare:workers';
import { clock, MINUTE_MS } from '../kernel/clock.ts';
import { FixedWindows, type LimitState } from '../kernel/fixed-window.ts';
import { AccessVersions, type AnnouncedChange } from './access-versions.ts';
import { eraseStorage } from './erase-storage.ts';
import { IdempotencyKeys, type KeyEnd, type KeyedRequest, type KeyState, type KeyUse } from './idempotency-keys.ts';
import { type Nonce, Nonces } from './nonces.ts';

const WINDOW_MS = MINUTE_MS;

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
  /** The request's idempotency key and digests, where it sends a key. */
  once?: KeyedRequest;
}

/**
 * The gate's result for a request. `access` is the version of the principal's access: data that was cached under it is valid.
 * It is null while that access is being changed: then the control database must be read. `key` is the state of the idempotency
 * key, null where there is none or a limit rejects the request.
 */
export type Admittance =
  | { refused: 'nonce_reused' | 'clock_skew' }
  | { refused: null; organization: LimitState; principal: LimitState; access: string | null; key: KeyState | null };

/**
 * Checks an organization's requests for replay and against both rate limits, tells the version of the principal's access and
 * what is known of an idempotency key, in a single call. Counters are in memory; nonces, versions and keys are in storage,
 * because an eviction must forget none of them.
 * `admit` does not await anything, so no other request comes in between; an answer leaves only when what it rests on is on
 * disk.
 */
export class OrganizationGate extends DurableObject {
  readonly #organization = new FixedWindows(WINDOW_MS);
  readonly #principals = new FixedWindows(WINDOW_MS);
  #opened: { access: AccessVersions; nonces: Nonces; keys: IdempotencyKeys } | undefined;
  /** When the alarm rings; null while none is set. */
  #alarmAt: number | null = null;

  constructor(state: DurableObjectState, env: Cloudflare.Env) {
    super(state, env);
    void state.blockConcurrencyWhile(async () => {
      this.#alarmAt = await state.storage.getAlarm();
    });
  }

  /** The gate's tables on disk, opened when they are needed: a gate that was erased has nothing there until somebody asks it. */
  get #kept() {
    const { sql } = this.ctx.storage;
    this.#opened ??= {
      access: new AccessVersions(sql),
      nonces: new Nonces(sql, clock.now()),
      keys: new IdempotencyKeys(sql),
    };
    return this.#opened;
  }

  get #access(): AccessVersions {
    return this.#kept.access;
  }

  get #nonces(): Nonces {
    return this.#kept.nonces;
  }

  get #keys(): IdempotencyKeys {
    return this.#kept.keys;
  }

  /** Forgets the keys of principals, with the answers. */
  forget(principals: readonly string[]): void {
    this.#keys.forget(principals);
  }

  /** Deletes all that it keeps. */
  async erase(): Promise<void> {
    this.#opened = undefined;
    await eraseStorage(this.ctx.storage);
    this.#alarmAt = await this.ctx.storage.getAlarm();
  }

  /**
   * Checks for replay before the limits. A request that one limit refuses uses up neither the other limit nor its
   * nonce, so the limits bound the number of stored nonces. A date is acceptable at most as long as its nonce is
   * remembered, so a date in the past is refused here, whenever it was checked before.
   */
  admit(admission: Admission): Admittance {
    const { principalId, requestId, limits, nonce } = admission;
    const now = clock.now();
    if (nonce && nonce.goodUntil < now) return { refused: 'clock_skew' };
    const usedBy = nonce ? this.#nonces.usedBy(nonce) : undefined;
    if (usedBy !== undefined && usedBy !== requestId) return { refused: 'nonce_reused' };
    const organization = this.#organization.peek('organization', limits.organization, now);
    const principal = this.#principals.peek(principalId, limits.principal, now);
    const access = this.#access.getStamp(principalId, now);
    if (!organization.allowed || !principal.allowed)
      return { refused: null, organization, principal, access, key: null };
    if (nonce && usedBy === undefined) this.#remember(nonce, requestId);
    return {
      refused: null,
      organization: this.#organization.take('organization', limits.organization, now),
      principal: this.#principals.take(principalId, limits.principal, now),
      access,
      key: this.#begin(admission, now),
    };
  }

  /** The request is still at work under its key. */
  extendKey(use: KeyUse): void {
    this.#keys.extend(use, clock.now());
  }

  /** The request that used a key has ended. */
  endKey(use: KeyUse, end: KeyEnd): void {
    this.#keys.end(use, end);
  }

  /** Takes an admission back, of a request that another limit refused: it may be sent again with the same nonce. */
  withdraw({ principalId, requestId, nonce, once }: Admission): void {
    const now = clock.now();
    if (once) this.#keys.end({ ...once, senderId: principalId, requestId }, { state: 'undone' });
    if (nonce && this.#nonces.usedBy(nonce) === requestId) this.#nonces.forget(nonce);
    this.#organization.giveBack('organization', now);
    this.#principals.giveBack(principalId, now);
  }

  /** Announces a change of access. The caller changes nothing before this is answered. */
  beginChange(change: AnnouncedChange): void {
    this.#access.begin(change, clock.now());
  }

  /** The change is over, done or not. */
  endChange(change: AnnouncedChange): void {
    this.#access.end(change);
  }

  /** Forgets nonces some time after their requests became too old to be accepted, and keys of the days before yesterday. */
  override async alarm(): Promise<void> {
    const now = clock.now();
    this.#nonces.dropOld(now);
    this.#alarmAt = null;
    if (this.#nonces.nextEnd !== null) this.#wakeAt(this.#nonces.nextEnd);
    this.#keys.dropOld(now);
    if (this.#keys.nextEnd !== null) this.#wakeAt(this.#keys.nextEnd);
  }

  #remember(nonce: Nonce, requestId: string): void {
    this.#nonces.remember(nonce, requestId);
    this.#wakeAt(this.#nonces.nextEnd as number);
  }

  #begin({ principalId, requestId, once }: Admission, now: number): KeyState | null {
    if (!once) return null;
    const state = this.#keys.begin({ ...once, senderId: principalId, requestId }, now);
    this.#wakeAt(this.#keys.nextEnd as number);
    return state;
  }

  #wakeAt(time: number): void {
    if (this.#alarmAt !== null && this.#alarmAt <= time) return;
    this.#alarmAt = time;
    void this.ctx.storage.setAlarm(time);
  }
}
