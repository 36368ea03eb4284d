import type { HonoRequest } from 'hono';
import type {
  Actor,
  AnonymousActor,
  Context,
  OutsiderActor,
  Principal,
  PrincipalContext,
  RequestOwner,
  ViewerActor,
} from '../context.ts';
import type { Action, ResourceType } from '../kernel/actions.ts';
import { resourceArn } from '../kernel/arn.ts';
import { Failure } from '../kernel/failure.ts';
import type { LimitState } from '../kernel/fixed-window.ts';
import { decide, dependsOnResource, isAdministrator, rulesFor } from '../kernel/policy.ts';
import type { Admission } from '../objects/organization-gate.ts';
import { type Access, actionOf, type Contract, type TokenKind } from './endpoint.ts';
import { countByIp, countByPrincipal, countByToken, rateLimited } from './rate-limits.ts';
import type { Credential } from './surface.ts';

/** Who a credential proved to be, and the nonce that must not come again. */
export interface Authenticated {
  actor: Principal | OutsiderActor;
  nonce?: Admission['nonce'];
}

/** What has become known of a request, wherever it ends. */
export interface Seen {
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

/** Finds out who is calling from the credential the request carries. One batch to the control database. */
export type Authenticate = (ctx: Context<AnonymousActor>, request: HonoRequest) => Promise<Authenticated>;

/** How each credential is checked; given by the modules that own them. */
export type Authenticators = Record<Credential, Authenticate>;

/** Passes when the request carries the operator's token. */
export type AuthenticateOperator = (ctx: Context<AnonymousActor>, request: HonoRequest) => Promise<void>;

/**
 * Finds out what the token of a path opens.
 * @param count counts the request as one of this token (an id of it, never itself), as soon as it is known to be real; it
 *   throws when there were too many. Null for what is not counted, and leaves no trace: a preflight
 * @throws Failure of kind unauthenticated or forbidden
 */
export type OpenToken = (
  ctx: Context<AnonymousActor>,
  token: string,
  count: ((tokenId: string) => Promise<void>) | null,
) => Promise<ViewerActor>;

export interface Doors {
  authenticators: Authenticators;
  tokens: Record<TokenKind, OpenToken>;
  operator: AuthenticateOperator;
}

/**
 * Rate limits, authentication and authorization of one request, in this order. `seen` is filled on the way, so that a
 * refused request too answers with the limits' headers and leaves a record of who sent it.
 * @returns who is calling
 * @throws Failure of kind too_many, unauthenticated or forbidden
 */
export async function guard(
  contract: Contract,
  credential: Credential,
  doors: Doors,
  ctx: Context<AnonymousActor>,
  request: HonoRequest,
  seen: Seen,
): Promise<Actor> {
  // The address is counted beside the look-ups, not before them; its refusal comes first all the same.
  const [byIp, authenticated] = await Promise.allSettled([
    countByIp(ctx),
    authenticate(contract, credential, doors, ctx, request, seen),
  ]);
  if (byIp.status === 'rejected') throw byIp.reason;
  seen.limits.push(byIp.value);
  if (!byIp.value.allowed) throw rateLimited(byIp.value, ctx.now());
  if (authenticated.status === 'rejected') throw authenticated.reason;
  const { actor, nonce } = authenticated.value;
  seen.actor = actor;
  if (actor.kind === 'outsider') await count(ctx, seen, actor.id);
  if (!isPrincipal(actor)) return actor;

  const states = await countByPrincipal(ctx, actor, nonce);
  seen.limits.push(...states);
  const exceeded = states.find((state) => !state.allowed);
  if (exceeded) throw rateLimited(exceeded, ctx.now());
  await authorize(contract, { ...ctx, actor }, request.param('id'));
  return actor;
}

async function authenticate(
  { access, credential: own }: Contract,
  surfaces: Credential,
  doors: Doors,
  ctx: Context<AnonymousActor>,
  request: HonoRequest,
  seen: Seen,
): Promise<{ actor: Actor; nonce?: Admission['nonce'] }> {
  const credential = own ?? surfaces;
  if (access === 'public') return { actor: ctx.actor };
  if (access === 'optional' || access === 'pending') {
    return doors.authenticators[credential](ctx, request).catch((error) => {
      // Only a credential that is not good is as none; an outage is not.
      if (error instanceof Failure && error.kind === 'unauthenticated') return { actor: ctx.actor };
      throw error;
    });
  }
  if (isTokenAccess(access)) {
    const token = request.param('token') ?? '';
    return { actor: await doors.tokens[access.token](ctx, token, (tokenId) => count(ctx, seen, tokenId)) };
  }
  if (access === 'operator') {
    await doors.operator(ctx, request);
    return { actor: { kind: 'operator' } };
  }
  return doors.authenticators[credential](ctx, request);
}

/** Whether a route is opened by the token in its path. */
export function isTokenAccess(access: Access): access is { token: TokenKind } {
  return typeof access === 'object' && 'token' in access;
}

/** Counts a request of a token or of an outsider. They have a limit of their own, so that none uses up the company's. */
async function count(ctx: Context, seen: Seen, tokenId: string): Promise<void> {
  const state = await countByToken(ctx, tokenId);
  seen.limits.push(state);
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

/** Refuses those to whom nothing at all allows any of the actions, before anything is told of the request itself. */
function requireAnyOf(actor: Principal, actions: readonly Action[]): void {
  if (actor.access.isOwner) return;
  const [first] = actions;
  const rules = actions.map((action) => rulesFor(actor.access, action));
  if (first && rules.every(({ allow, legacy }) => allow.length + legacy.length === 0)) requireAction(actor, first, '*');
}

/** @throws Failure `access.administrators_only` */
export function requireAdministrator(actor: Principal): void {
  if (isAdministrator(actor.access)) return;
  throw new Failure('forbidden', 'access.administrators_only', { message: 'Only administrators may do this.' });
}

/**
 * The check behind every route that names an action, for services whose requirement depends on the data.
 * @param resourceId id of the resource, or `*` for listing and creating
 * @param type where the service has several types of resources and its first is not meant
 * @throws Failure `access.denied` that names the missing action
 */
export function requireAction(actor: Principal, action: Action, resourceId: string, type?: ResourceType): void {
  requireActionOn(actor, action, resourceArn(action, actor.companyId, resourceId, type));
}

/** The same for a resource whose ARN is known. @throws Failure `access.denied` */
export function requireActionOn(actor: Principal, action: Action, resource: string): void {
  if (decide(actor.access, action, resource).allowed) return;
  throw new Failure('forbidden', 'access.denied', {
    message: `This needs the permission ${action}.`,
    action,
    resource,
  });
}

function isPrincipal(actor: Actor): actor is Principal {
  return actor.kind === 'user' || actor.kind === 'service_account';
}
