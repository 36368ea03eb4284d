import { DurableObject } from 'cloudflare:workers';
import { clock, MINUTE_MS } from '../kernel/clock.ts';
import { FixedWindows, type LimitState } from '../kernel/fixed-window.ts';
import { AccessVersions, type AnnouncedChange } from './access-versions.ts';
import { eraseStorage } from './erase-storage.ts';
import { IdempotencyKeys, type KeyEnd, type KeyedRequest, type KeyState, type KeyUse } from './idempotency-keys.ts';
import { type Nonce, Nonces } from './nonces.ts';

const WINDOW_MS = MINUTE_MS;

/** A request that asks to be admitted, after its sender was authenticated. */
export interface AdmissionRequest {
  /** The id of the user or service account. */
  principalId: string;
  /** The request's own id. If the same request asks again, the gate recognizes its nonce as already its own. */
  requestId: string;
  /** The maximum numbers of requests per minute for the whole organization and for this principal. */
  limits: { organization: number; principal: number };
  /** The nonce of a signed request, and until when (ms) its date is acceptable. */
  nonce?: Nonce | undefined;
  /** The request's idempotency key and digests, where it sends a key. */
  once?: KeyedRequest;
}

/**
 * The gate's result for a request. `access` is the version of the principal's access: data that was cached under it is valid. It
 * is null while the access is being changed: then the control database must be read. `key` is the state of the idempotency key,
 * null where there is none or a limit rejects the request.
 */
export type AdmissionResult =
  | { refused: 'nonce_reused' | 'clock_skew' }
  | { refused: null; organization: LimitState; principal: LimitState; access: string | null; key: KeyState | null };

/**
 * Checks an organization's requests for replay and against both rate limits, and returns the version of the principal's access
 * and the state of an idempotency key, in a single call. Counters are in memory; nonces, versions and keys are in storage, so
 * that an eviction loses none of them. `admit` does not await anything, so no other request comes in between; an answer leaves
 * only when the data it is based on is on disk.
 */
export class OrganizationGate extends DurableObject {
  readonly #organization = new FixedWindows(WINDOW_MS);
  readonly #principals = new FixedWindows(WINDOW_MS);
  #opened: { access: AccessVersions; nonces: Nonces; keys: IdempotencyKeys } | undefined;
  /** The time of the next alarm; null while none is set. */
  #alarmAt: number | null = null;

  constructor(state: DurableObjectState, env: Cloudflare.Env) {
    super(state, env);
    void state.blockConcurrencyWhile(async () => {
      this.#alarmAt = await state.storage.getAlarm();
    });
  }

  /** Returns the gate's tables on disk, opened when they are needed: an erased gate stores nothing until the next request. */
  get #kept() {
    const { sql } = this.ctx.storage;
    this.#opened ??= {
      access: new AccessVersions(sql),
      nonces: new Nonces(sql, clock.now()),
      keys: new IdempotencyKeys(sql),
    };
    return this.#opened;
  }

  /** Deletes the idempotency keys of principals, with the answers. */
  forget(principals: readonly string[]): void {
    this.#kept.keys.deleteKeysOfSenders(principals);
  }

  /** Deletes everything that the gate stores. */
  async erase(): Promise<void> {
    this.#opened = undefined;
    await eraseStorage(this.ctx.storage);
    this.#alarmAt = await this.ctx.storage.getAlarm();
  }

  /**
   * Admits or rejects a request. Checks for replay before the limits. A request that one limit rejects uses up neither the other
   * limit nor its nonce, so the limits bound the number of stored nonces. A date is acceptable at most as long as its nonce is
   * stored, so a date in the past is rejected here, whenever it was checked before.
   */
  admit(admission: AdmissionRequest): AdmissionResult {
    const { principalId, requestId, limits, nonce } = admission;
    const now = clock.now();
    if (nonce && nonce.goodUntil < now) return { refused: 'clock_skew' };
    const usingRequestId = nonce ? this.#kept.nonces.findUsingRequest(nonce) : undefined;
    if (usingRequestId !== undefined && usingRequestId !== requestId) return { refused: 'nonce_reused' };
    const organization = this.#organization.getState('organization', limits.organization, now);
    const principal = this.#principals.getState(principalId, limits.principal, now);
    const access = this.#kept.access.getVersion(principalId, now);
    if (!organization.allowed || !principal.allowed)
      return { refused: null, organization, principal, access, key: null };
    if (nonce && usingRequestId === undefined) {
      this.#kept.nonces.storeNonce(nonce, requestId);
      this.#wakeAt(this.#kept.nonces.nextEnd as number);
    }
    return {
      refused: null,
      organization: this.#organization.countRequest('organization', limits.organization, now),
      principal: this.#principals.countRequest(principalId, limits.principal, now),
      access,
      key: this.#begin(admission, now),
    };
  }

  /** Extends the lease of a request that is still in progress under its key. */
  extendKey(use: KeyUse): void {
    this.#kept.keys.extendLease(use, clock.now());
  }

  /** Ends the use of a key by a request. */
  endKey(use: KeyUse, end: KeyEnd): void {
    this.#kept.keys.end(use, end);
  }

  /** Withdraws the admission of a request that another limit rejected: it may be sent again with the same nonce. */
  withdraw({ principalId, requestId, nonce, once }: AdmissionRequest): void {
    const now = clock.now();
    if (once) this.#kept.keys.end({ ...once, senderId: principalId, requestId }, { state: 'undone' });
    if (nonce && this.#kept.nonces.findUsingRequest(nonce) === requestId) this.#kept.nonces.deleteNonce(nonce);
    this.#organization.uncountRequest('organization', now);
    this.#principals.uncountRequest(principalId, now);
  }

  /** Announces a change of access. The caller changes nothing before this call is answered. */
  beginChange(change: AnnouncedChange): void {
    this.#kept.access.beginChange(change, clock.now());
  }

  /** Ends a change of access, whether it was made or not. */
  endChange(change: AnnouncedChange): void {
    this.#kept.access.endChange(change);
  }

  /** Drops nonces some time after their requests became too old to be accepted, and keys of the days before yesterday. */
  override async alarm(): Promise<void> {
    const now = clock.now();
    const { nonces, keys } = this.#kept;
    nonces.dropExpired(now);
    this.#alarmAt = null;
    if (nonces.nextEnd !== null) this.#wakeAt(nonces.nextEnd);
    keys.dropOldDays(now);
    if (keys.nextEnd !== null) this.#wakeAt(keys.nextEnd);
  }

  #begin({ principalId, requestId, once }: AdmissionRequest, now: number): KeyState | null {
    if (!once) return null;
    const state = this.#kept.keys.begin({ ...once, senderId: principalId, requestId }, now);
    this.#wakeAt(this.#kept.keys.nextEnd as number);
    return state;
  }

  #wakeAt(time: number): void {
    if (this.#alarmAt !== null && this.#alarmAt <= time) return;
    this.#alarmAt = time;
    void this.ctx.storage.setAlarm(time);
  }
}
