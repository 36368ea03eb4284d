import type { Actor, Principal } from '../access/actors.ts';
import { copyForRequest } from '../access/evaluation.ts';
import {
  type CredentialClaims,
  cachePrincipal,
  getCachedPrincipal,
  type KnownPrincipal,
  type PresentedCredential,
  toClaims,
} from '../access/known-principals.ts';
import { clockSkew, nonceReused } from '../access/signature-failures.ts';
import type { Context } from '../context.ts';
import { clock, MINUTE_MS } from '../kernel/clock.ts';
import type { Failure } from '../kernel/failure.ts';
import { FixedWindows, type LimitState } from '../kernel/fixed-window.ts';
import { withinTime } from '../kernel/time-limit.ts';
import type { KeyedRequest } from '../objects/idempotency-keys.ts';
import type { Admission, Admittance, OrganizationGate } from '../objects/organization-gate.ts';
import { logError } from '../platform/log.ts';
import { callObject } from '../platform/objects.ts';
import { repetitionUnknown, replayUnknown } from './failures.ts';
import { giveUpKey, type HeldKey, openHeldKey } from './idempotency.ts';
import { makeRateLimitFailure } from './rate-limits.ts';

/** The caller of a request, the idempotency key it holds, and `uncount`, which takes back the count and the key. */
export interface AuthenticatedPrincipal {
  actor: Principal;
  key: HeldKey | null;
  uncount(): Promise<void>;
}

/**
 * Authenticates the sender of a request, and counts the request. Cached data about the principal is valid only if the company's
 * gate confirms its version; the gate is called in any case, so this costs one round trip. Without valid cached data the
 * control database is read after the gate was called, so that the data is no older than the version that the gate returned.
 * Only the control database knows the owner of a key that is not cached. It is then read before the gate is called, so its data
 * is valid for this request only, which is authorized as of the time of reading; the next one reads again.
 * @param limits receives the state of the rate limits, for the response's headers, also if they reject the request
 */
export async function authenticatePrincipal(
  ctx: Context,
  presented: PresentedCredential,
  limits: LimitState[],
  once: KeyedRequest | null = null,
): Promise<AuthenticatedPrincipal> {
  const { credential, nonce } = presented;
  const remembered = getCachedPrincipal(credential);
  const isUsable =
    remembered !== undefined && remembered.known.expiresAt > ctx.now() && (await presented.fits(remembered.known));
  const claims = isUsable ? toClaims(remembered.known) : presented.claims;
  if (claims === null) {
    const known = await presented.read();
    const answer = await askGate(ctx, toClaims(known), { nonce, once }, limits);
    cachePrincipal(credential, known, null);
    return toAuthenticatedPrincipal(presented, known, answer);
  }

  const answer = await askGate(ctx, claims, { nonce, once }, limits);
  if (isUsable && answer.access !== null && answer.access === remembered.stamp) {
    return toAuthenticatedPrincipal(presented, remembered.known, answer);
  }
  try {
    const known = await presented.read();
    cachePrincipal(credential, known, answer.access);
    return toAuthenticatedPrincipal(presented, known, answer);
  } catch (error) {
    await giveUpKey(answer.key);
    throw error;
  }
}

function toAuthenticatedPrincipal(
  presented: PresentedCredential,
  known: KnownPrincipal,
  { key, uncount }: GateResult,
): AuthenticatedPrincipal {
  presented.recordUse(known);
  const actor = { ...known.actor, access: copyForRequest(known.actor.access) };
  return { actor, key: key && { ...key, readSender: () => authenticateAgain(presented) }, uncount };
}

/** Authenticates a request again, without counting it again. @throws if its credential is no longer valid */
export async function authenticateAgain(presented: PresentedCredential): Promise<Principal> {
  const { actor } = await presented.read();
  return { ...actor, access: copyForRequest(actor.access) };
}

interface GateResult {
  /** The version of the principal's access; null where nobody knows it. */
  access: string | null;
  key: HeldKey | null;
  uncount(): Promise<void>;
}

/** The time that a company's gate has to answer. After that, a request goes on without it. */
const GATE_TIMEOUT_MS = 3_000;

/** Asks the company's gate, which counts the request and checks its nonce, date and key. */
async function askGate(
  ctx: Context,
  claims: CredentialClaims,
  { nonce, once }: { nonce: Admission['nonce']; once: KeyedRequest | null },
  counted: LimitState[],
): Promise<GateResult> {
  const { companyId, principalId } = claims;
  const { config, bindings, correlationId: requestId } = ctx;
  const limits = {
    organization: config.RATE_LIMIT_ORGANIZATION_PER_MINUTE,
    principal: config.RATE_LIMIT_PRINCIPAL_PER_MINUTE,
  };
  const admission: Admission = { principalId, requestId, limits, nonce, ...(once && { once }) };
  const ask = <T>(call: (gate: DurableObjectStub<OrganizationGate>) => Promise<T>) =>
    callObject(bindings.ORGANIZATION_GATE, companyId, call);
  const verdict = await withinTime(
    GATE_TIMEOUT_MS,
    ask(async (gate) => await gate.admit(admission)),
  ).catch((error) => admitWithoutGate(companyId, admission, error));
  const refusal = toRefusal(verdict, counted, ctx.now());
  if (refusal) {
    ctx.setOwner(companyId, { type: claims.type, id: principalId, credential: claims.credentialId });
    throw refusal;
  }
  const { access, key } = verdict.refused === null ? verdict : { access: null, key: null };
  return {
    access,
    key: once && key && openHeldKey(key, { ...once, senderId: principalId, requestId }, ask),
    uncount: () =>
      ask(async (gate) => await gate.withdraw(admission)).catch((error) => logError('admission_not_withdrawn', error)),
  };
}

function toRefusal(verdict: Admittance, counted: LimitState[], now: number): Failure | undefined {
  if (verdict.refused !== null) return verdict.refused === 'nonce_reused' ? nonceReused() : clockSkew();
  const states = [verdict.organization, verdict.principal];
  counted.push(...states);
  const exceeded = states.find((state) => !state.allowed);
  return exceeded && makeRateLimitFailure(exceeded, now);
}

/** Requests counted by this isolate alone, while gates do not respond. */
const isolateCounters = new FixedWindows(MINUTE_MS);

/** Decides for a gate that does not respond, counting in this isolate. @throws for nonces and idempotency keys */
function admitWithoutGate(
  companyId: string,
  { principalId, limits, nonce, once }: Admission,
  error: unknown,
): Admittance {
  logError('gate_unavailable', error, { company_id: companyId });
  if (nonce) throw replayUnknown().because(error);
  if (once) throw repetitionUnknown().because(error);
  const now = clock.now();
  return {
    refused: null,
    organization: isolateCounters.take(`organization ${companyId}`, limits.organization, now),
    principal: isolateCounters.take(`principal ${principalId}`, limits.principal, now),
    access: null,
    key: null,
  };
}

export const isPrincipal = (actor: Actor): actor is Principal =>
  actor.kind === 'user' || actor.kind === 'service_account';
