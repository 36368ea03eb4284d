import type { HonoRequest } from 'hono';
import type { Actor, AnonymousActor, OperatorActor, OutsiderActor, Principal } from '../access/actors.ts';
import { dependsOnResource } from '../access/evaluation.ts';
import { clientsRefused } from '../access/failures.ts';
import {
  requireAction,
  requireActionOn,
  requireAdministrator,
  requireAnyAction,
  requireNotDenied,
  requireOwner,
  requireUserWithoutClient,
} from '../access/requirements.ts';
import type {
  Authenticate,
  AuthenticateOperator,
  Context,
  PrincipalContext,
  RequestOwner,
  VerifyViewerToken,
} from '../context.ts';
import { Failure } from '../kernel/failure.ts';
import type { LimitState } from '../kernel/fixed-window.ts';
import type { Meter } from '../kernel/meter.ts';
import type { KeyedRequest, KeyState, KeyUse } from '../objects/idempotency-keys.ts';
import type { TokenLimiter } from '../objects/token-limiter.ts';
import type { Action } from '../permissions/actions.ts';
import { makeResourceArn } from '../permissions/arn.ts';
import { callObject } from '../platform/objects.ts';
import { authenticateAgain, authenticatePrincipal, isPrincipal } from './authentication.ts';
import { acceptsOAuthClients, type Contract, getAction, type RouteAccess, type TokenKind } from './endpoint.ts';
import { makeIdempotencyKey, type RequestKey, releaseKey } from './idempotency.ts';
import { listParameters } from './paths.ts';
import { countByIp, countByToken, makeRateLimitFailure } from './rate-limits.ts';
import type { Credential } from './surface.ts';

/** Facts about a request, for the limits' headers, the log and the audit trail, collected until the request ends. */
export interface RequestFacts {
  /** Limits that the request was counted against; they become headers of the answer. */
  limitStates: LimitState[];
  /** Contract of the request's route. */
  contract: Contract | null;
  /** Sender of the request, once authenticated. */
  actor: Actor | null;
  /** Company of a request that came without a credential. */
  owner: RequestOwner | null;
  /** Ids in the path, or of the created resource if the path has none; then ids that the body attaches. */
  resourceIds: string[];
  /** Route that this request performed (`Perform`), and the status that it would have returned. */
  performedRoute: { contract: Contract; status: number } | null;
  /** Action under which the handler recorded the request, and ids of further affected records. */
  recordedAs?: { action: Action; ids: readonly string[] };
  /** True once the request may have changed its sender's permissions. */
  changedOwnAccess?: true;
  /** True for a dry run, which reports what its route would change and changes nothing. */
  isDryRun?: true;
  /** Meter of the request's use of resources. */
  meter: Meter;
}

/** Authentication functions by kind of credential; provided by the modules of the credentials. */
export type Authenticators = Record<Credential, Authenticate>;

export interface AuthenticationMethods {
  authenticators: Authenticators;
  tokenVerifiers: Record<TokenKind, VerifyViewerToken>;
  authenticateOperator: AuthenticateOperator;
}

/** Caller of a request and its idempotency key. */
export interface CheckedRequest {
  actor: Actor;
  idempotencyKey: RequestKey;
}

/** Request before its checks. */
export interface RequestToCheck {
  contract: Contract;
  /** Kind of credential that callers of the surface send. */
  surfaceCredential: Credential;
  authentication: AuthenticationMethods;
  ctx: Context<AnonymousActor>;
  request: HonoRequest;
  /** Facts that the checks fill in, so that a refused request too has the limits' headers and an audit record of its sender. */
  facts: RequestFacts;
  /** Reads the request's idempotency key. */
  readKeyedRequest(): Promise<KeyedRequest | Failure | null>;
}

/** Checks rate limits, authentication and authorization, in this order. A refused request does not use up its idempotency key. */
export async function checkRequest(requestToCheck: RequestToCheck): Promise<CheckedRequest> {
  const { contract, ctx, request, facts } = requestToCheck;
  // The address is counted beside the rest, not before it; its refusal comes first all the same.
  const [byIp, identified] = await Promise.allSettled([countByIp(ctx), authenticateAndCount(requestToCheck)]);
  const isAddressAllowed = byIp.status === 'fulfilled' && byIp.value.allowed;
  if (!isAddressAllowed && identified.status === 'fulfilled') await identified.value.uncount();
  if (byIp.status === 'rejected') throw byIp.reason;
  if (!byIp.value.allowed) {
    facts.limitStates = [byIp.value];
    throw makeRateLimitFailure(byIp.value, ctx.now());
  }
  facts.limitStates.unshift(byIp.value);
  if (identified.status === 'rejected') throw identified.reason;
  const { actor, idempotencyKey: key } = identified.value;
  facts.actor = actor;
  try {
    if (isPrincipal(actor)) {
      await authorize(contract, { ...ctx, actor }, (name) => request.param(name));
      authorizeQuery(contract, actor, (name) => request.queries(name));
    }
  } catch (error) {
    await releaseKey(key);
    throw error;
  }
  return { actor, idempotencyKey: key };
}

/** Counts a request that is refused before its checks, by its address. @throws rateLimitExceeded */
export async function countAddress(ctx: Context, facts: RequestFacts): Promise<void> {
  const ipLimit = await countByIp(ctx);
  facts.limitStates.unshift(ipLimit);
  if (!ipLimit.allowed) throw makeRateLimitFailure(ipLimit, ctx.now());
}

/** Caller of a counted request. `uncount` undoes its count, and the use of its idempotency key. */
interface CountedCaller extends CheckedRequest {
  uncount(): Promise<void>;
}

const makeKeylessCaller = (actor: Actor): CountedCaller => ({ actor, idempotencyKey: null, uncount: async () => {} });

/** Authenticates the caller, and counts the request by the caller. */
async function authenticateAndCount(requestToCheck: RequestToCheck): Promise<CountedCaller> {
  const { contract, authentication, ctx, request, facts } = requestToCheck;
  const { access } = contract;
  if (access === 'public') return makeKeylessCaller(ctx.actor);
  if (isTokenAccess(access)) {
    const token = request.param('token') ?? '';
    const verifyViewerToken = authentication.tokenVerifiers[access.token];
    return makeKeylessCaller(
      await verifyViewerToken(ctx, token, async (tokenId) => void (await countRequest(ctx, facts, tokenId))),
    );
  }
  if (access === 'operator') {
    await authentication.authenticateOperator(ctx, request);
    return makeKeylessCaller({ kind: 'operator' });
  }
  const pendingCaller = authenticateCaller(requestToCheck);
  if (access !== 'optional' && access !== 'pending') return pendingCaller;
  return pendingCaller.catch((error) => {
    // Only a credential that is not good is as none; an outage is not.
    if (error instanceof Failure && error.kind === 'unauthenticated') return makeKeylessCaller(ctx.actor);
    throw error;
  });
}

/** Request of a principal that was checked before. */
type RequestToRecheck = Omit<RequestToCheck, 'facts' | 'readKeyedRequest'>;

/** Authenticates and authorizes again, in a new `ctx` with current data. @throws as `checkRequest` does */
export async function recheckRequest(
  requestToRecheck: RequestToRecheck,
): Promise<PrincipalContext | Context<OperatorActor>> {
  const { contract, surfaceCredential, authentication, ctx, request } = requestToRecheck;
  if (contract.access === 'operator') {
    await authentication.authenticateOperator(ctx, request);
    return { ...ctx, actor: { kind: 'operator' } };
  }
  const presentedCredential = await authentication.authenticators[contract.credential ?? surfaceCredential](
    ctx,
    request,
  );
  if ('actor' in presentedCredential) throw new Error('outsiders are checked once');
  const recheckedContext = { ...ctx, actor: await authenticateAgain(presentedCredential) };
  await authorize(contract, recheckedContext, (name) => request.param(name));
  authorizeQuery(contract, recheckedContext.actor, (name) => request.queries(name));
  return recheckedContext;
}

/** Authenticates a principal or an outsider by the credential. */
async function authenticateCaller(requestToCheck: RequestToCheck): Promise<CountedCaller> {
  const { contract, surfaceCredential, authentication, ctx, request, facts } = requestToCheck;
  const authenticate = authentication.authenticators[contract.credential ?? surfaceCredential];
  const presentedCredential = await authenticate(ctx, request);
  const keyedRequest = await requestToCheck.readKeyedRequest();
  const usableKey = keyedRequest instanceof Failure ? null : keyedRequest;
  const identifiedCaller =
    'actor' in presentedCredential
      ? countOutsider(ctx, presentedCredential.actor, facts, usableKey)
      : authenticatePrincipal(ctx, presentedCredential, facts.limitStates, usableKey);
  return keyedRequest instanceof Failure
    ? { ...(await identifiedCaller), idempotencyKey: keyedRequest }
    : identifiedCaller;
}

/** Counts a request of an outsider, and begins to use its idempotency key. */
async function countOutsider(
  ctx: Context,
  actor: OutsiderActor,
  facts: RequestFacts,
  keyedRequest: KeyedRequest | null,
): Promise<CountedCaller> {
  const use = keyedRequest && { ...keyedRequest, senderId: actor.id, requestId: ctx.correlationId };
  const state = await countRequest(ctx, facts, actor.id, use ?? undefined);
  if (use === null || state === null) return makeKeylessCaller(actor);
  const callLimiter = (callback: (limiter: DurableObjectStub<TokenLimiter>) => Promise<void>) =>
    callObject(ctx.bindings.TOKEN_LIMITER, actor.id, callback);
  const key = makeIdempotencyKey(state, use, callLimiter);
  return { actor, idempotencyKey: key, uncount: () => releaseKey(key) };
}

/** Returns true if the token in its path gives access to a route. */
export const isTokenAccess = (access: RouteAccess): access is { token: TokenKind } =>
  typeof access === 'object' && 'token' in access;

/** Counts a request against the limit of its token or outsider, which is apart from the limit of the company. */
async function countRequest(
  ctx: Context,
  facts: RequestFacts,
  tokenId: string,
  use?: KeyUse,
): Promise<KeyState | null> {
  const { limit, key } = await countByToken(ctx, tokenId, use);
  facts.limitStates.push(limit);
  if (!limit.allowed) throw makeRateLimitFailure(limit, ctx.now());
  return key;
}

/** Function that returns the value of a path parameter. */
type ReadParameter = (name: string) => string | undefined;

/** Checks that the caller may call a route on the resource that its path names. @throws if they may not */
export async function authorize(
  contract: Contract,
  ctx: PrincipalContext,
  readParameter: ReadParameter,
): Promise<void> {
  if (ctx.actor.client && !acceptsOAuthClients(contract)) throw clientsRefused(ctx.actor.client);
  const { unlessDenied } = contract;
  if (unlessDenied) requireNotDenied(ctx.actor, unlessDenied);
  await authorizeAccess(contract, ctx, readParameter);
  if (contract.only === 'administrators') requireAdministrator(ctx.actor);
  if (contract.only === 'people') requireUserWithoutClient(ctx.actor);
  if (contract.only === 'owner') requireOwner(ctx.actor);
}

/** Checks that the caller may send these parameters, before they are validated. @throws if they may not */
export function authorizeQuery(
  { administratorsWith: name }: Contract,
  actor: Principal,
  readParameter: (name: string) => unknown,
): void {
  if (name !== undefined && [readParameter(name)].flat().includes('true')) requireAdministrator(actor);
}

async function authorizeAccess(
  { access, resource, resourceIdParameter = 'id', path }: Contract,
  ctx: PrincipalContext,
  readParameter: ReadParameter,
): Promise<void> {
  const { actor } = ctx;
  if (access === 'administrator') return requireAdministrator(actor);
  if (typeof access === 'object' && 'anyOf' in access && access.anyOf) return requireAnyAction(actor, access.anyOf);
  const action = getAction(access);
  if (action === null) return;
  if (resource === 'none') return requireAction(actor, action, '*');
  if (typeof access !== 'object' || !('on' in access))
    return requireAction(actor, action, readParameter(resourceIdParameter) ?? '*', resource);
  // Most access is the same for all resources: then there is nothing to look up.
  const id = readParameter(listParameters(path)[0] ?? '');
  const needsLocation = id !== undefined && dependsOnResource(actor.access, action);
  requireActionOn(actor, action, needsLocation ? await access.on(ctx, id) : makeResourceArn(action, actor.companyId));
}

/**
 * Reads a part of a request. If the part is invalid, callers who may not do what the path says get the failure of `checkPath`,
 * unless it says that the resource does not exist; all others get the failure of `readPart`.
 * @throws as `checkPath` or `readPart` does
 */
export async function checkPathBeforeRefusal<T>(
  { checkPath }: Contract,
  ctx: PrincipalContext,
  params: Record<string, string>,
  readPart: () => Promise<T>,
): Promise<T> {
  try {
    return await readPart();
  } catch (error) {
    try {
      await checkPath?.(ctx, params);
    } catch (failure) {
      if (!(failure instanceof Failure) || failure.kind !== 'missing') throw failure;
    }
    throw error;
  }
}
