import type { Context, UserContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { concurrentChange } from '../../db/concurrent-change.ts';
import { type FieldProblem, invalid } from '../../kernel/failure.ts';
import type { Page } from '../../kernel/page.ts';
import { policyProblems } from '../../kernel/sharing-terms.ts';
import { slugFrom } from '../../kernel/slug.ts';
import type { Versions } from '../dashboards/service.ts';
import { dimensionsOf, loadExhibit, requireSharingOf } from '../viewing/service.ts';
import { happened } from './events.ts';
import { shareContextNotFound, shareContextSlugTaken } from './failures.ts';
import { requireEither, requireSharing, typesNotShared } from './permission.ts';
import {
  deleteContext,
  type Grant,
  insertContext,
  readContext,
  readContexts,
  replaceGrants,
  type ShareContext,
  selectMembershipsOfEmail,
  updateContext,
} from './store.ts';

export { shareContextNotFound } from './failures.ts';
export type { Grant, ShareContext };
export { readContext };

const SLUG_IS_UNIQUE = { 'share_contexts.slug': shareContextSlugTaken };

/** A page of those contexts of which the caller may share everything, the newest first. */
export async function listContexts(
  ctx: UserContext,
  part: { page: number; perPage: number },
): Promise<Page<ShareContext>> {
  return readContexts(ctx.db, ctx.actor.companyId, { ...part, hidden: typesNotShared(ctx) });
}

export async function getContext(ctx: UserContext, id: string): Promise<ShareContext> {
  const context = await readContext(ctx.db, ctx.actor.companyId, id);
  // Who may share nothing at all does not learn which contexts there are.
  if (!context) requireEither(ctx);
  if (!context) throw shareContextNotFound();
  requireSharing(ctx, context.grants);
  return context;
}

export async function createContext(
  ctx: UserContext,
  input: { name: string; slug?: string; description: string; grants: Grant[] },
): Promise<ShareContext> {
  requireSharing(ctx, input.grants);
  const shown = await requireSound(ctx, input.grants);
  const now = ctx.now();
  const record = {
    id: ctx.newId(),
    companyId: ctx.actor.companyId,
    name: input.name,
    slug: input.slug ?? slugFrom(input.name, 'context'),
    description: input.description,
    version: 1,
    createdAt: now,
    updatedAt: now,
  };
  const suffix = input.slug === undefined ? `-${record.id.slice(-8)}` : undefined;
  const unit = {
    inserted: insertContext(ctx.db, record, suffix, shown),
    grants: replaceGrants(ctx.db, record, input.grants),
  };
  const [made] = (await commit(ctx.db, unit, SLUG_IS_UNIQUE)).inserted;
  if (!made) throw concurrentChange();
  const context: ShareContext = { ...record, ...made, grants: input.grants, memberCount: 0 };
  happened(ctx, 'context.created', context);
  return context;
}

/** Changes what is sent. */
export async function changeContext(
  ctx: UserContext,
  id: string,
  changed: Partial<Pick<ShareContext, 'name' | 'slug' | 'description'>>,
): Promise<ShareContext> {
  const context = await getContext(ctx, id);
  const next = { ...changed, updatedAt: ctx.now() };
  const { updated } = await commit(ctx.db, { updated: updateContext(ctx.db, context, next) }, SLUG_IS_UNIQUE);
  if (updated.length === 0) throw concurrentChange();
  happened(ctx, 'context.updated', context);
  return { ...context, ...next };
}

/** Puts these grants in the place of all there are. The caller must be allowed to share both. */
export async function replaceContextGrants(ctx: UserContext, id: string, grants: Grant[]): Promise<ShareContext> {
  const context = await getContext(ctx, id);
  if (grants.length > 0) requireSharing(ctx, grants);
  const shown = await requireSound(ctx, grants);
  const next = { version: context.version + 1, updatedAt: ctx.now() };
  const { updated } = await commit(ctx.db, {
    grants: replaceGrants(ctx.db, context, grants, shown),
    updated: updateContext(ctx.db, context, next, shown),
  });
  if (updated.length === 0) throw concurrentChange();
  const result = { ...context, ...next, grants };
  happened(ctx, 'context.grants_updated', result);
  return result;
}

/** Ends a context and its shares. */
export async function removeContext(ctx: UserContext, id: string): Promise<void> {
  const context = await getContext(ctx, id);
  const { deleted } = await commit(ctx.db, deleteContext(ctx.db, context, ctx.now()));
  if (deleted.length === 0) throw concurrentChange();
  happened(ctx, 'context.deleted', context);
}

/** Whether an address (lower-case) is a member of any context of the company. */
export const membershipsOfEmail = (db: Context['db'], companyId: string, email: string) =>
  selectMembershipsOfEmail(db, companyId, email);

/**
 * Targets must be the company's, and the caller's to share with all that stands on them; policies must fit them.
 * @returns the dashboards among them, as they were looked at
 */
async function requireSound(ctx: UserContext, grants: readonly Grant[]): Promise<Versions> {
  const seen = new Set<string>();
  const problems: FieldProblem[] = grants.flatMap(({ target_type, target_id }, index) => {
    const key = `${target_type}/${target_id}`;
    const repeated = seen.has(key);
    seen.add(key);
    return repeated ? [{ field: `grants.${index}.target_id`, message: 'is granted already' }] : [];
  });
  const exhibits = await Promise.all(grants.map((grant) => loadExhibit(ctx, grant.target_type, grant.target_id)));
  for (const exhibit of exhibits) requireSharingOf(ctx, exhibit);
  for (const [index, exhibit] of exhibits.entries()) {
    const { filter_policies } = grants[index] as Grant;
    problems.push(...policyProblems(dimensionsOf(exhibit), filter_policies, `grants.${index}.filter_policies`));
  }
  if (problems.length > 0) throw invalid(problems);
  return exhibits.flatMap((exhibit) => (exhibit.type === 'dashboard' ? [exhibit.dashboard] : []));
}
