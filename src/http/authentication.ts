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
import { awaitWithinTime } from '../kernel/time-limit.ts';
import type { KeyedRequest } from '../objects/idempotency-keys.ts';
import type { AdmissionRequest, AdmissionResult, OrganizationGate } from '../objects/organization-gate.ts';
import { logError } from '../platform/log.ts';
import { callObject } from '../platform/objects.ts';
import { repetitionUnknown, replayUnknown } from './failures.ts';
import { type IdempotencyKey, makeIdempotencyKey, releaseKey } from './idempotency.ts';
import { makeRateLimitFailure } from './rate-limits.ts';

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
  presentedCredential: PresentedCredential,
  limits: LimitState[],
  keyedRequest: KeyedRequest | null = null,
): Promise<AuthenticatedPrincipal> {
  const { credential, nonce } = presentedCredential;
  const cachedPrincipal = getCachedPrincipal(credential);
  const isUsable =
    cachedPrincipal !== undefined &&
    cachedPrincipal.knownPrincipal.expiresAt > ctx.now() &&
    (await presentedCredential.matchesPrincipal(cachedPrincipal.knownPrincipal));
  const claims = isUsable ? toClaims(cachedPrincipal.knownPrincipal) : presentedCredential.claims;
  if (claims === null) {
    const currentPrincipal = await presentedCredential.readPrincipal();
    const gateResult = await askGate(ctx, toClaims(currentPrincipal), { nonce, keyedRequest }, limits);
    cachePrincipal(credential, currentPrincipal, null);
    return toAuthenticatedPrincipal(presentedCredential, currentPrincipal, gateResult);
  }

  const gateResult = await askGate(ctx, claims, { nonce, keyedRequest }, limits);
  if (isUsable && gateResult.accessVersion !== null && gateResult.accessVersion === cachedPrincipal.gateVersion) {
    return toAuthenticatedPrincipal(presentedCredential, cachedPrincipal.knownPrincipal, gateResult);
  }
  try {
    const currentPrincipal = await presentedCredential.readPrincipal();
    cachePrincipal(credential, currentPrincipal, gateResult.accessVersion);
    return toAuthenticatedPrincipal(presentedCredential, currentPrincipal, gateResult);
  } catch (error) {
    await releaseKey(gateResult.idempotencyKey);
    throw error;
  }
}

function toAuthenticatedPrincipal(
  presentedCredential: PresentedCredential,
  knownPrincipal: KnownPrincipal,
  { idempotencyKey: key, uncount }: GateResult,
): AuthenticatedPrincipal {
  presentedCredential.recordUse(knownPrincipal);
  const actor = { ...knownPrincipal.actor, access: copyForRequest(knownPrincipal.actor.access) };
  return {
    actor,
    idempotencyKey: key && { ...key, readSender: () => authenticateAgain(presentedCredential) },
    uncount,
  };
}

/** Authenticates a request again, without counting it again. @throws if its credential is no longer valid */
export async function authenticateAgain(presentedCredential: PresentedCredential): Promise<Principal> {
  const { actor } = await presentedCredential.readPrincipal();
  return { ...actor, access: copyForRequest(actor.access) };
}

/** Caller of a request, its idempotency key, and `uncount`, which undoes the count and the use of the key. */
type AuthenticatedPrincipal = { actor: Principal } & Omit<GateResult, 'accessVersion'>;

interface GateResult {
  /** Version of the principal's access; null if the gate did not answer. */
  accessVersion: string | null;
  idempotencyKey: IdempotencyKey | null;
  uncount(): Promise<void>;
}

/** Milliseconds in which a company's gate has to answer. After that, a request continues without it. */
const GATE_TIMEOUT_MS = 3_000;

/** Asks the company's gate (a Durable Object), which counts the request and checks its nonce, date and key. */
async function askGate(
  ctx: Context,
  claims: CredentialClaims,
  { nonce, keyedRequest }: { nonce: AdmissionRequest['nonce']; keyedRequest: KeyedRequest | null },
  countedLimits: LimitState[],
): Promise<GateResult> {
  const { companyId, principalId } = claims;
  const { config, bindings, correlationId: requestId } = ctx;
  const limits = {
    organization: config.RATE_LIMIT_ORGANIZATION_PER_MINUTE,
    principal: config.RATE_LIMIT_PRINCIPAL_PER_MINUTE,
  };
  const admission: AdmissionRequest = {
    principalId,
    requestId,
    limits,
    nonce,
    ...(keyedRequest && { once: keyedRequest }),
  };
  const callGate = <T>(call: (gate: DurableObjectStub<OrganizationGate>) => Promise<T>) =>
    callObject(bindings.ORGANIZATION_GATE, companyId, call);
  const verdict = await awaitWithinTime(
    GATE_TIMEOUT_MS,
    callGate(async (gate) => await gate.admit(admission)),
  ).catch((error) => admitWithoutGate(companyId, admission, error));
  const refusal = toRefusal(verdict, countedLimits, ctx.now());
  if (refusal) {
    ctx.setOwner(companyId, { type: claims.type, id: principalId, credential: claims.credentialId });
    throw refusal;
  }
  const { access, key } = verdict.refused === null ? verdict : { access: null, key: null };
  return {
    accessVersion: access,
    idempotencyKey:
      keyedRequest && key && makeIdempotencyKey(key, { ...keyedRequest, senderId: principalId, requestId }, callGate),
    uncount: () =>
      callGate(async (gate) => await gate.withdraw(admission)).catch((error) =>
        logError('admission_not_withdrawn', error),
      ),
  };
}

function toRefusal(verdict: AdmissionResult, countedLimits: LimitState[], now: number): Failure | undefined {
  if (verdict.refused !== null) return verdict.refused === 'nonce_reused' ? nonceReused() : clockSkew();
  const limitStates = [verdict.organization, verdict.principal];
  countedLimits.push(...limitStates);
  const exceededLimit = limitStates.find((state) => !state.allowed);
  return exceededLimit && makeRateLimitFailure(exceededLimit, now);
}

/** Counters of this isolate alone, used while gates do not respond. */
const isolateCounters = new FixedWindows(MINUTE_MS);

/** Decides instead of a gate that does not respond, counting in this isolate. @throws for nonces and idempotency keys */
function admitWithoutGate(
  companyId: string,
  { principalId, limits, nonce, once }: AdmissionRequest,
  error: unknown,
): AdmissionResult {
  logError('gate_unavailable', error, { company_id: companyId });
  if (nonce) throw replayUnknown().addCause(error);
  if (once) throw repetitionUnknown().addCause(error);
  const now = clock.now();
  return {
    refused: null,
    organization: isolateCounters.countRequest(`organization ${companyId}`, limits.organization, now),
    principal: isolateCounters.countRequest(`principal ${principalId}`, limits.principal, now),
    access: null,
    key: null,
  };
}

export const isPrincipal = (actor: Actor): actor is Principal =>
  actor.kind === 'user' || actor.kind === 'service_account';
