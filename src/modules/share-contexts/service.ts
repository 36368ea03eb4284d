import { findReadDenials } from '../../access/denials.ts';
import { isAllowed, requireAction } from '../../access/requirements.ts';
import type { PrincipalContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { concurrentChange } from '../../db/failures.ts';
import type { Page } from '../../db/page.ts';
import { HAS_CHANGED_ROWS } from '../../db/statements.ts';
import { type FieldProblem, invalidInput } from '../../kernel/failure.ts';
import { makeSlug } from '../../kernel/text.ts';
import { findPolicyProblems } from '../../sharing/filter-policy.ts';
import { TARGET_TYPES, type TargetType } from '../../sharing/share-event.ts';
import type { DashboardVersions } from '../dashboards/service.ts';
import { type NewShareEvent, prepareRevocations, prepareShareEvent } from '../share-activity/service.ts';
import { listInputs, loadSharedItem, requireMayShareItem } from '../viewing/service.ts';
import { requireNotDenied } from '../visualizations/service.ts';
import { shareContextNotFound, shareContextSlugTaken } from './failures.ts';
import {
  type ContextSearch,
  type Grant,
  insertContext,
  prepareDeletion,
  readContext,
  readContexts,
  replaceGrants,
  type ShareContext,
  updateContext,
} from './store.ts';

export { shareContextNotFound } from './failures.ts';
export { selectMembershipOfEmail } from './store.ts';
export type { ShareContext };

const UNIQUE_FAILURES = { 'share_contexts.slug': shareContextSlugTaken };

const mayShareType = ({ actor }: PrincipalContext, type: TargetType): boolean =>
  isAllowed(actor, `${type}s:share`, '*');

export function requireMayShareSomeType(ctx: PrincipalContext): void {
  if (!TARGET_TYPES.some((type) => mayShareType(ctx, type))) requireAction(ctx.actor, 'dashboards:share', '*');
}

function requireMayShareTargets(ctx: PrincipalContext, grants: readonly Grant[]): void {
  if (grants.length === 0) requireMayShareSomeType(ctx);
  for (const { target_type, target_id } of grants) requireAction(ctx.actor, `${target_type}s:share`, target_id);
}

/** Finds the users and groups whom the caller may not see among members. */
export const findDeniedMembers = ({ actor }: PrincipalContext) => ({
  internal_user: findReadDenials(actor, 'user'),
  group: findReadDenials(actor, 'group'),
});

/** Lists a page of the contexts of which the caller may share everything. */
export async function listContexts(ctx: PrincipalContext, contextSearch: ContextSearch): Promise<Page<ShareContext>> {
  requireMayShareSomeType(ctx);
  return readContexts(ctx.db, ctx.actor.companyId, {
    ...contextSearch,
    hiddenTypes: TARGET_TYPES.filter((type) => !mayShareType(ctx, type)),
    denialsByType: {
      dashboard: findReadDenials(ctx.actor, 'shared_dashboard'),
      visualization: findReadDenials(ctx.actor, 'shared_visualization'),
    },
    deniedMembers: findDeniedMembers(ctx),
  });
}

/** Returns a context if the caller may share all of its targets and is denied none of them. */
export async function getContext(ctx: PrincipalContext, id: string): Promise<ShareContext> {
  const context = await requireSharableContext(ctx, id);
  for (const { target_type, target_id } of context.grants) requireNotDenied(ctx, [target_id], [`${target_type}s:get`]);
  return context;
}

/** Finds a context of the company; undefined if there is none. */
export const findContext = (ctx: PrincipalContext, id: string): Promise<ShareContext | undefined> =>
  readContext(ctx.db, ctx.actor.companyId, id, findDeniedMembers(ctx));

/** Returns a context if the caller may share all its targets. Who is denied seeing one may still revoke access to it. */
export async function requireSharableContext(ctx: PrincipalContext, id: string): Promise<ShareContext> {
  const context = await findContext(ctx, id);
  if (!context) {
    // Who may share nothing at all does not learn which contexts there are.
    requireMayShareSomeType(ctx);
    throw shareContextNotFound();
  }
  requireMayShareTargets(ctx, context.grants);
  return context;
}

export async function createContext(
  ctx: PrincipalContext,
  input: { name: string; slug?: string; description: string; grants: Grant[] },
): Promise<ShareContext> {
  requireMayShareTargets(ctx, input.grants);
  const dashboards = await validateGrants(ctx, input.grants);
  const now = ctx.now();
  const record = {
    id: ctx.newId(),
    companyId: ctx.actor.companyId,
    name: input.name,
    slug: input.slug ?? makeSlug(input.name, 'context'),
    description: input.description,
    version: 1,
    createdAt: now,
    updatedAt: now,
  };
  const event = makeContextEvent(ctx, 'context.created', { ...record, grants: input.grants });
  const unit = {
    inserted: insertContext(ctx.db, record, { canChangeSlug: input.slug === undefined, dashboards }),
    told: event.statement,
    grants: replaceGrants(ctx.db, record, input.grants),
  };
  const {
    inserted: [createdContext],
    told,
  } = await commit(ctx.db, unit, UNIQUE_FAILURES);
  if (!createdContext) throw concurrentChange();
  event.send(told);
  return { ...record, ...createdContext, grants: input.grants, memberCount: 0 };
}

/** Changes the fields that are sent. */
export async function changeContext(
  ctx: PrincipalContext,
  id: string,
  changes: Partial<Pick<ShareContext, 'name' | 'slug' | 'description'>>,
): Promise<ShareContext> {
  const context = await getContext(ctx, id);
  const changedFields = { ...changes, updatedAt: ctx.now() };
  const event = makeContextEvent(ctx, 'context.updated', { ...context, ...changedFields });
  const unit = { updated: updateContext(ctx.db, context, changedFields), told: event.statement };
  const { updated, told } = await commit(ctx.db, unit, UNIQUE_FAILURES);
  if (updated.length === 0) throw concurrentChange();
  event.send(told);
  return { ...context, ...changedFields };
}

/** Replaces the grants of a context. The caller must be allowed to share the old and the new targets. */
export async function replaceContextGrants(ctx: PrincipalContext, id: string, grants: Grant[]): Promise<ShareContext> {
  const context = await getContext(ctx, id);
  if (grants.length > 0) requireMayShareTargets(ctx, grants);
  const dashboards = await validateGrants(ctx, grants);
  const changedFields = { version: context.version + 1, updatedAt: ctx.now() };
  const result = { ...context, ...changedFields, grants };
  const event = makeContextEvent(ctx, 'context.grants_updated', result);
  const { updated, told } = await commit(ctx.db, {
    grants: replaceGrants(ctx.db, context, grants, dashboards),
    updated: updateContext(ctx.db, context, changedFields, dashboards),
    told: event.statement,
  });
  if (updated.length === 0) throw concurrentChange();
  event.send(told);
  return result;
}

/** Deletes a context and revokes its shares. */
export async function deleteContext(ctx: PrincipalContext, id: string): Promise<void> {
  const context = await requireSharableContext(ctx, id);
  const event = makeContextEvent(ctx, 'context.deleted', context);
  const revocations = prepareRevocations(ctx, { shareContextId: id }, HAS_CHANGED_ROWS);
  const { deleted: deletion, ...rest } = prepareDeletion(ctx.db, context, ctx.now());
  const { deleted, told, revoked } = await commit(ctx.db, {
    deleted: deletion,
    told: event.statement,
    revoked: revocations.statement,
    ...rest,
  });
  if (deleted.length === 0) throw concurrentChange();
  event.send(told);
  revocations.send(revoked);
}

/**
 * Checks grants: targets must be the company's, and the caller must be allowed to share them with the visualizations on them.
 * Policies must fit the targets. @returns the granted dashboards, in the versions that were read
 */
async function validateGrants(ctx: PrincipalContext, grants: readonly Grant[]): Promise<DashboardVersions> {
  const seenTargets = new Set<string>();
  const problems: FieldProblem[] = grants.flatMap(({ target_type, target_id }, index) => {
    const key = `${target_type}/${target_id}`;
    const isRepeated = seenTargets.has(key);
    seenTargets.add(key);
    return isRepeated ? [{ field: `grants.${index}.target_id`, message: 'is granted already' }] : [];
  });
  const items = await Promise.all(grants.map((grant) => loadSharedItem(ctx, grant.target_type, grant.target_id)));
  for (const item of items) requireMayShareItem(ctx, item);
  for (const [index, item] of items.entries()) {
    const { filter_policies } = grants[index] as Grant;
    problems.push(...findPolicyProblems(listInputs(item), filter_policies, `grants.${index}.filter_policies`));
  }
  if (problems.length > 0) throw invalidInput(problems);
  return items.flatMap((item) => (item.type === 'dashboard' ? [item.dashboard] : []));
}

/**
 * Prepares the event of a change of a context. The event's target is that of the context's only grant; with several
 * grants of one type, the target has only the type.
 */
export function makeContextEvent(
  ctx: PrincipalContext,
  type: NewShareEvent['type'],
  context: Pick<ShareContext, 'id' | 'name' | 'grants'>,
  details: Record<string, unknown> = {},
) {
  const [first, ...others] = context.grants;
  const isOneType = first && others.every(({ target_type }) => target_type === first.target_type);
  return prepareShareEvent(ctx, {
    type,
    shareContextId: context.id,
    ...(isOneType && { target: { type: first.target_type, id: others.length === 0 ? first.target_id : null } }),
    details: { name: context.name, ...details },
  });
}
