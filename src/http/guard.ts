import type { HonoRequest } from 'hono';
import type { Actor, AnonymousActor, Principal } from '../access/actors.ts';
import { dependsOnResource } from '../access/evaluation.ts';
import { requireAction, requireActionOn, requireAdministrator, requireAnyOf } from '../access/requirements.ts';
import type {
  Authenticate,
  AuthenticateOperator,
  Context,
  OpenToken,
  PrincipalContext,
  RequestOwner,
} from '../context.ts';
import { resourceArn } from '../kernel/arn.ts';
import { Failure } from '../kernel/failure.ts';
import type { LimitState } from '../kernel/fixed-window.ts';
import type { Admission } from '../objects/organization-gate.ts';
import { type Access, actionOf, type Contract, type TokenKind } from './endpoint.ts';
import { countByIp, countByPrincipal, countByToken, rateLimited } from './rate-limits.ts';
import type { Credential } from './surface.ts';

/** What has become known of a request, wherever it ends. */
export interface RequestFacts {
  /** The limits counted for it; they become headers of the answer. */
  limits: LimitState[];
  /** The route it took. */
  contract: Contract | null;
  /** Who sent it, once that is proved. */
  actor: Actor | null;
  /** Whose it is, where it came without a credential. */
  owner: RequestOwner | null;
  /** The ids of its path, in order, or what it made where it names none; then those of its body that it attaches. */
  resourceIds: string[];
}

/** How each credential is checked; given by the modules that own them. */
export type Authenticators = Record<Credential, Authenticate>;

export interface Authentication {
  authenticators: Authenticators;
  tokens: Record<TokenKind, OpenToken>;
  operator: AuthenticateOperator;
}

/**
 * Rate limits, authentication and authorization of one request, in this order. `facts` is filled on the way, so that a
 * refused request too answers with the limits' headers and leaves a record of who sent it.
 * @returns who is calling
 */
export async function guard(
  contract: Contract,
  credential: Credential,
  authentication: Authentication,
  ctx: Context<AnonymousActor>,
  request: HonoRequest,
  facts: RequestFacts,
): Promise<Actor> {
  // The address is counted beside the look-ups, not before them; its refusal comes first all the same.
  const [byIp, authenticated] = await Promise.allSettled([
    countByIp(ctx),
    authenticate(contract, credential, authentication, ctx, request, facts),
  ]);
  if (byIp.status === 'rejected') throw byIp.reason;
  facts.limits.push(byIp.value);
  if (!byIp.value.allowed) throw rateLimited(byIp.value, ctx.now());
  if (authenticated.status === 'rejected') throw authenticated.reason;
  const { actor, nonce } = authenticated.value;
  facts.actor = actor;
  if (actor.kind === 'outsider') await count(ctx, facts, actor.id);
  if (!isPrincipal(actor)) return actor;

  const states = await countByPrincipal(ctx, actor, nonce);
  facts.limits.push(...states);
  const exceeded = states.find((state) => !state.allowed);
  if (exceeded) throw rateLimited(exceeded, ctx.now());
  await authorize(contract, { ...ctx, actor }, request.param('id'));
  return actor;
}

async function authenticate(
  { access, credential: own }: Contract,
  surfaces: Credential,
  authentication: Authentication,
  ctx: Context<AnonymousActor>,
  request: HonoRequest,
  facts: RequestFacts,
): Promise<{ actor: Actor; nonce?: Admission['nonce'] }> {
  const credential = own ?? surfaces;
  if (access === 'public') return { actor: ctx.actor };
  if (access === 'optional' || access === 'pending') {
    return authentication.authenticators[credential](ctx, request).catch((error) => {
      // Only a credential that is not good is as none; an outage is not.
      if (error instanceof Failure && error.kind === 'unauthenticated') return { actor: ctx.actor };
      throw error;
    });
  }
  if (isTokenAccess(access)) {
    const token = request.param('token') ?? '';
    return { actor: await authentication.tokens[access.token](ctx, token, (tokenId) => count(ctx, facts, tokenId)) };
  }
  if (access === 'operator') {
    await authentication.operator(ctx, request);
    return { actor: { kind: 'operator' } };
  }
  return authentication.authenticators[credential](ctx, request);
}

/** Whether a route is opened by the token in its path. */
export function isTokenAccess(access: Access): access is { token: TokenKind } {
  return typeof access === 'object' && 'token' in access;
}

/** Counts a request of a token or of an outsider. They have a limit of their own, so that none uses up the company's. */
async function count(ctx: Context, facts: RequestFacts, tokenId: string): Promise<void> {
  const state = await countByToken(ctx, tokenId);
  facts.limits.push(state);
  if (!state.allowed) throw rateLimited(state, ctx.now());
}

async function authorize(contract: Contract, ctx: PrincipalContext, id: string | undefined): Promise<void> {
  await authorizeAccess(contract, ctx, id);
  if (contract.only === 'administrators') requireAdministrator(ctx.actor);
}

async function authorizeAccess(
  { access, resource }: Contract,
  ctx: PrincipalContext,
  id: string | undefined,
): Promise<void> {
  const { actor } = ctx;
  if (access === 'administrator') return requireAdministrator(actor);
  if (typeof access === 'object' && 'anyOf' in access && access.anyOf) return requireAnyOf(actor, access.anyOf);
  const action = actionOf(access);
  if (action === null) return;
  if (resource === 'none') return requireAction(actor, action, '*');
  if (typeof access !== 'object' || !('on' in access)) return requireAction(actor, action, id ?? '*', resource);
  // Most access is the same for all resources: then there is nothing to look up.
  const isLocated = id !== undefined && dependsOnResource(actor.access, action);
  requireActionOn(actor, action, isLocated ? await access.on(ctx, id) : resourceArn(action, actor.companyId));
}

function isPrincipal(actor: Actor): actor is Principal {
  return actor.kind === 'user' || actor.kind === 'service_account';
}
