import type { HonoRequest } from 'hono';
import type { Actor, AnonymousActor, OperatorActor, OutsiderActor, Principal } from '../access/actors.ts';
import { dependsOnResource } from '../access/evaluation.ts';
import { clientsRefused } from '../access/failures.ts';
import {
  requireAction,
  requireActionOn,
  requireAdministrator,
  requireAnyOf,
  requireNotDenied,
  requireOwner,
  requireUserWithoutClient,
} from '../access/requirements.ts';
import type {
  Authenticate,
  AuthenticateOperator,
  Context,
  OpenToken,
  PrincipalContext,
  RequestOwner,
} from '../context.ts';
import { Failure } from '../kernel/failure.ts';
import type { LimitState } from '../kernel/fixed-window.ts';
import type { Meter } from '../kernel/meter.ts';
import type { KeyedRequest, KeyState, KeyUse } from '../objects/idempotency-keys.ts';
import type { TokenLimiter } from '../objects/token-limiter.ts';
import type { Action } from '../permissions/actions.ts';
import { resourceArn } from '../permissions/arn.ts';
import { callObject } from '../platform/objects.ts';
import { authenticateAgain, authenticatePrincipal, isPrincipal } from './authentication.ts';
import { acceptsOAuthClients, type Contract, getAction, type RouteAccess, type TokenKind } from './endpoint.ts';
import { giveUpKey, openHeldKey, type RequestKey } from './idempotency.ts';
import { listParameters } from './paths.ts';
import { countByIp, countByToken, makeRateLimitFailure } from './rate-limits.ts';
import type { Credential } from './surface.ts';

/** Facts about a request, for the limits' headers, the log and the audit trail, wherever it ends. */
export interface RequestFacts {
  /** The limits counted for it; they become headers of the answer. */
  limits: LimitState[];
  /** The route it took. */
  contract: Contract | null;
  /** The sender, once authenticated. */
  actor: Actor | null;
  /** The company that it belongs to, where it came without a credential. */
  owner: RequestOwner | null;
  /** The ids of its path, or of the resource it made where the path names none; then those that its body attaches. */
  resourceIds: string[];
  /** The route that this request performed (`Perform`), and the status that it would have returned. */
  performed: { contract: Contract; status: number } | null;
  /** The action that its handler recorded it as, and the ids of others that it is about. */
  recordedAs?: { action: Action; ids: readonly string[] };
  /** Set once it may have changed what its sender may do. */
  changedOwnAccess?: true;
  /** Set for a dry run, which reports what its route would change and changes nothing. */
  isDryRun?: true;
  /** Counts its use of resources. */
  meter: Meter;
}

/** The check of each kind of credential; given by the modules that own them. */
export type Authenticators = Record<Credential, Authenticate>;

export interface Authentication {
  authenticators: Authenticators;
  tokens: Record<TokenKind, OpenToken>;
  operator: AuthenticateOperator;
}

/** The caller of a request and its idempotency key. */
export interface CheckedRequest {
  actor: Actor;
  key: RequestKey;
}

/** A request before its checks. */
export interface RequestToCheck {
  contract: Contract;
  /** The kind of credential that callers of the surface send. */
  surfaceCredential: Credential;
  authentication: Authentication;
  ctx: Context<AnonymousActor>;
  request: HonoRequest;
  /** Filled on the way, so that a refused request too answers with the limits' headers and leaves a record of who sent it. */
  facts: RequestFacts;
  /** Reads the request's idempotency key. */
  readKeyedRequest(): Promise<KeyedRequest | Failure | null>;
}

/** Rate limits, authentication, authorization, in this order. A refused request leaves its idempotency key alone. */
export async function checkRequest(asked: RequestToCheck): Promise<CheckedRequest> {
  const { contract, ctx, request, facts } = asked;
  // The address is counted beside the rest, not before it; its refusal comes first all the same.
  const [byIp, identified] = await Promise.allSettled([countByIp(ctx), authenticateAndCount(asked)]);
  const isAddressIn = byIp.status === 'fulfilled' && byIp.value.allowed;
  if (!isAddressIn && identified.status === 'fulfilled') await identified.value.uncount();
  if (byIp.status === 'rejected') throw byIp.reason;
  if (!byIp.value.allowed) {
    facts.limits = [byIp.value];
    throw makeRateLimitFailure(byIp.value, ctx.now());
  }
  facts.limits.unshift(byIp.value);
  if (identified.status === 'rejected') throw identified.reason;
  const { actor, key } = identified.value;
  facts.actor = actor;
  try {
    if (isPrincipal(actor)) {
      await authorize(contract, { ...ctx, actor }, (name) => request.param(name));
      authorizeQuery(contract, actor, (name) => request.queries(name));
    }
  } catch (error) {
    await giveUpKey(key);
    throw error;
  }
  return { actor, key };
}

/** The caller of a request that was counted. `uncount` takes back its count, and the use of its idempotency key. */
interface CountedCaller extends CheckedRequest {
  uncount(): Promise<void>;
}

const removeKey = (actor: Actor): CountedCaller => ({ actor, key: null, uncount: async () => {} });

/** Finds out who is calling, and counts the request by that. */
async function authenticateAndCount(asked: RequestToCheck): Promise<CountedCaller> {
  const { contract, authentication, ctx, request, facts } = asked;
  const { access } = contract;
  if (access === 'public') return removeKey(ctx.actor);
  if (isTokenAccess(access)) {
    const token = request.param('token') ?? '';
    const open = authentication.tokens[access.token];
    return removeKey(await open(ctx, token, async (tokenId) => void (await countRequest(ctx, facts, tokenId))));
  }
  if (access === 'operator') {
    await authentication.operator(ctx, request);
    return removeKey({ kind: 'operator' });
  }
  const authenticated = authenticateCaller(asked);
  if (access !== 'optional' && access !== 'pending') return authenticated;
  return authenticated.catch((error) => {
    // Only a credential that is not good is as none; an outage is not.
    if (error instanceof Failure && error.kind === 'unauthenticated') return removeKey(ctx.actor);
    throw error;
  });
}

/** A principal's request that was checked before. */
type RequestToRecheck = Omit<RequestToCheck, 'facts' | 'readKeyedRequest'>;

/** Authenticates and authorizes again, over a new `ctx` with present data. @throws as `checkRequest` does */
export async function recheckRequest(returning: RequestToRecheck): Promise<PrincipalContext | Context<OperatorActor>> {
  const { contract, surfaceCredential, authentication, ctx, request } = returning;
  if (contract.access === 'operator') {
    await authentication.operator(ctx, request);
    return { ...ctx, actor: { kind: 'operator' } };
  }
  const presented = await authentication.authenticators[contract.credential ?? surfaceCredential](ctx, request);
  if ('actor' in presented) throw new Error('outsiders are checked once');
  const checked = { ...ctx, actor: await authenticateAgain(presented) };
  await authorize(contract, checked, (name) => request.param(name));
  authorizeQuery(contract, checked.actor, (name) => request.queries(name));
  return checked;
}

/** Checks the credential of a principal or an outsider. */
async function authenticateCaller(asked: RequestToCheck): Promise<CountedCaller> {
  const { contract, surfaceCredential, authentication, ctx, request, facts } = asked;
  const authenticate = authentication.authenticators[contract.credential ?? surfaceCredential];
  const presented = await authenticate(ctx, request);
  const keyed = await asked.readKeyedRequest();
  const once = keyed instanceof Failure ? null : keyed;
  const identified =
    'actor' in presented
      ? countOutsider(ctx, presented.actor, facts, once)
      : authenticatePrincipal(ctx, presented, facts.limits, once);
  return keyed instanceof Failure ? { ...(await identified), key: keyed } : identified;
}

/** Counts a request of an outsider, and begins to use its idempotency key. */
async function countOutsider(
  ctx: Context,
  actor: OutsiderActor,
  facts: RequestFacts,
  once: KeyedRequest | null,
): Promise<CountedCaller> {
  const use = once && { ...once, senderId: actor.id, requestId: ctx.correlationId };
  const state = await countRequest(ctx, facts, actor.id, use ?? undefined);
  if (use === null || state === null) return removeKey(actor);
  const call = (ask: (limiter: DurableObjectStub<TokenLimiter>) => Promise<void>) =>
    callObject(ctx.bindings.TOKEN_LIMITER, actor.id, ask);
  const key = openHeldKey(state, use, call);
  return { actor, key, uncount: () => giveUpKey(key) };
}

/** Whether a route is opened by the token in its path. */
export const isTokenAccess = (access: RouteAccess): access is { token: TokenKind } =>
  typeof access === 'object' && 'token' in access;

/** Counts a request of a token or of an outsider. They have a limit of their own, so that none uses up the company's. */
async function countRequest(
  ctx: Context,
  facts: RequestFacts,
  tokenId: string,
  use?: KeyUse,
): Promise<KeyState | null> {
  const { limit, key } = await countByToken(ctx, tokenId, use);
  facts.limits.push(limit);
  if (!limit.allowed) throw makeRateLimitFailure(limit, ctx.now());
  return key;
}

/** The value of a parameter of the path. */
type Parameter = (name: string) => string | undefined;

/** Checks that the caller may call a route on the resource that its path names. @throws where they may not */
export async function authorize(contract: Contract, ctx: PrincipalContext, parameter: Parameter): Promise<void> {
  if (ctx.actor.client && !acceptsOAuthClients(contract)) throw clientsRefused(ctx.actor.client);
  const { unlessDenied } = contract;
  if (unlessDenied) requireNotDenied(ctx.actor, unlessDenied);
  await authorizeAccess(contract, ctx, parameter);
  if (contract.only === 'administrators') requireAdministrator(ctx.actor);
  if (contract.only === 'people') requireUserWithoutClient(ctx.actor);
  if (contract.only === 'owner') requireOwner(ctx.actor);
}

/** Checks that the caller may send these parameters, before they are validated. @throws where they may not */
export function authorizeQuery(
  { administratorsWith: name }: Contract,
  actor: Principal,
  sent: (name: string) => unknown,
): void {
  if (name !== undefined && [sent(name)].flat().includes('true')) requireAdministrator(actor);
}

async function authorizeAccess(
  { access, resource, resourceIdParameter = 'id', path }: Contract,
  ctx: PrincipalContext,
  parameter: Parameter,
): Promise<void> {
  const { actor } = ctx;
  if (access === 'administrator') return requireAdministrator(actor);
  if (typeof access === 'object' && 'anyOf' in access && access.anyOf) return requireAnyOf(actor, access.anyOf);
  const action = getAction(access);
  if (action === null) return;
  if (resource === 'none') return requireAction(actor, action, '*');
  if (typeof access !== 'object' || !('on' in access))
    return requireAction(actor, action, parameter(resourceIdParameter) ?? '*', resource);
  // Most access is the same for all resources: then there is nothing to look up.
  const id = parameter(listParameters(path)[0] ?? '');
  const isLocated = id !== undefined && dependsOnResource(actor.access, action);
  requireActionOn(actor, action, isLocated ? await access.on(ctx, id) : resourceArn(action, actor.companyId));
}
