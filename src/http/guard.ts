import type { HonoRequest } from 'hono';
import type { Actor, AnonymousActor, Context, Principal, PrincipalContext } from '../context.ts';
import type { Action, ResourceType } from '../kernel/actions.ts';
import { resourceArn } from '../kernel/arn.ts';
import { Failure } from '../kernel/failure.ts';
import type { LimitState } from '../kernel/fixed-window.ts';
import { decide, dependsOnResource, isAdministrator } from '../kernel/policy.ts';
import type { Admission } from '../objects/organization-gate.ts';
import { type Access, actionOf, type Contract } from './endpoint.ts';
import { countByIp, countByPrincipal, rateLimited } from './rate-limits.ts';
import type { Credential } from './surface.ts';

/** Who a credential proved to be, and the nonce that must not come again. */
export interface Authenticated {
  actor: Principal;
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
  resourceId: string | null;
}

/** Finds out who is calling from the credential the request carries. One batch to the control database. */
export type Authenticate = (ctx: Context<AnonymousActor>, request: HonoRequest) => Promise<Authenticated>;

/** How each credential is checked; given by the modules that own them. */
export type Authenticators = Record<Credential, Authenticate>;

/** Passes when the request carries the operator's token. */
export type AuthenticateOperator = (ctx: Context<AnonymousActor>, request: HonoRequest) => Promise<void>;

export interface Doors {
  authenticators: Authenticators;
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
    authenticate(contract.access, credential, doors, ctx, request),
  ]);
  if (byIp.status === 'rejected') throw byIp.reason;
  seen.limits.push(byIp.value);
  if (!byIp.value.allowed) throw rateLimited(byIp.value, ctx.now());
  if (authenticated.status === 'rejected') throw authenticated.reason;
  const { actor, nonce } = authenticated.value;
  seen.actor = actor;
  if (!isPrincipal(actor)) return actor;

  const states = await countByPrincipal(ctx, actor, nonce);
  seen.limits.push(...states);
  const exceeded = states.find((state) => !state.allowed);
  if (exceeded) throw rateLimited(exceeded, ctx.now());
  await authorize(contract, { ...ctx, actor }, request.param('id'));
  return actor;
}

async function authenticate(
  access: Access,
  credential: Credential,
  doors: Doors,
  ctx: Context<AnonymousActor>,
  request: HonoRequest,
): Promise<{ actor: Actor; nonce?: Admission['nonce'] }> {
  if (access === 'public') return { actor: ctx.actor };
  if (access === 'optional') return doors.authenticators[credential](ctx, request).catch(() => ({ actor: ctx.actor }));
  if (access === 'operator') {
    await doors.operator(ctx, request);
    return { actor: { kind: 'operator' } };
  }
  return doors.authenticators[credential](ctx, request);
}

async function authorize({ access, resource }: Contract, ctx: PrincipalContext, id: string | undefined): Promise<void> {
  const { actor } = ctx;
  if (access === 'administrator') return requireAdministrator(actor);
  const action = actionOf(access);
  if (action === null) return;
  if (resource === 'none') return requireAction(actor, action, '*');
  if (typeof access !== 'object' || !('on' in access)) return requireAction(actor, action, id ?? '*', resource);
  // Most access is the same for all resources: then there is nothing to look up.
  const isLocated = id !== undefined && dependsOnResource(actor.access, action);
  requireActionOn(actor, action, isLocated ? await access.on(ctx, id) : resourceArn(action, actor.companyId));
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
