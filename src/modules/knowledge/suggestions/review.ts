import type { z } from 'zod';
import { requireAction } from '../../../access/requirements.ts';
import type { PrincipalContext } from '../../../context.ts';
import { concurrentChange } from '../../../db/failures.ts';
import type { Content } from '../../../db/schema/knowledge-resources.ts';
import type { SuggestionStatus } from '../../../db/schema/knowledge-suggestions.ts';
import { Failure, invalid, MAX_PROBLEMS } from '../../../kernel/failure.ts';
import { UNKNOWN_FIELD, unknownMembers } from '../../../kernel/members.ts';
import { logError } from '../../../platform/log.ts';
import {
  type Acceptance,
  contentAtVersion,
  getResource,
  insertFirstVersion,
  type Resource,
  replaceVersion,
} from '../resources/service.ts';
import {
  acceptanceInterrupted,
  type Difference,
  dependencyPending,
  suggestionNotFound,
  suggestionNotPending,
  suggestionStale,
} from './failures.ts';
import { findAcceptedResourceIds } from './staging.ts';
import * as store from './store.ts';
import { deniedSuggestions, getTarget, listSuggestedReferences, requireTargetPermission } from './suggestion.ts';

export interface AcceptedSuggestion {
  suggestion: store.SuggestionRow;
  resource: Resource;
}

export interface FailedAcceptance {
  id: string;
  failure: Failure;
}

export async function getSuggestion(ctx: PrincipalContext, id: string): Promise<store.SuggestionRow> {
  const [row] = await store.selectSuggestion(ctx.db, ctx.actor.companyId, id, deniedSuggestions(ctx));
  if (!row) throw suggestionNotFound();
  return row;
}

/**
 * Accepts a suggestion, its payload changed by `override`: creates or updates its target, which needs that permission too.
 * Of several calls at once, one succeeds.
 */
export async function acceptSuggestion(
  ctx: PrincipalContext,
  id: string,
  override: Content = {},
): Promise<AcceptedSuggestion> {
  const suggestion = await getSuggestion(ctx, id);
  requireTargetPermission(ctx.actor, suggestion.targetType, suggestion.targetId);
  requirePending(suggestion);
  const { definition, creates } = getTarget(suggestion.targetType);
  const schema = creates ? definition.create : definition.changes;
  requireKnownMembers(schema, override, suggestion.payload);
  const payload = { ...(await mergePayload(ctx, suggestion, override)), ...override };
  const parsed = schema.safeParse(payload);
  if (!parsed.success) {
    throw invalid(
      parsed.error.issues.map(({ path, message }) => ({ field: ['override_payload', ...path].join('.'), message })),
    );
  }
  const acceptance = makeAcceptance(ctx, id);
  const resource = creates
    ? await insertFirstVersion(ctx, definition, parsed.data, acceptance)
    : await replaceVersion(ctx, definition, await requireUnchangedTarget(ctx, suggestion), parsed.data, acceptance);
  if (resource) return { suggestion: await getSuggestion(ctx, id), resource };

  // Somebody else changed the suggestion, its target, or what that refers to first.
  requirePending(await getSuggestion(ctx, id));
  if (!creates) await requireUnchangedTarget(ctx, suggestion);
  throw concurrentChange();
}

/** Rejects members that neither the target nor the suggestion has, which may be misspelt. */
function requireKnownMembers(schema: z.ZodType, override: Content, suggested: Content): void {
  const unknown = unknownMembers(schema, override, [suggested])
    .filter(({ within }) => within.length === 0)
    .take(MAX_PROBLEMS)
    .map(({ path }) => ({ field: ['override_payload', ...path].join('.'), message: UNKNOWN_FIELD }))
    .toArray();
  if (unknown.length > 0) throw invalid(unknown);
}

/**
 * Accepts several suggestions, those that others depend on first. One that fails does not stop the rest, unless the error
 * is internal.
 */
export async function acceptSuggestions(
  ctx: PrincipalContext,
  ids: string[],
): Promise<{ accepted: AcceptedSuggestion[]; failed: FailedAcceptance[] }> {
  const rows = await store.selectSuggestions(ctx.db, ctx.actor.companyId, ids);
  const known = new Map(rows.map((row) => [row.id, row]));
  const accepted: AcceptedSuggestion[] = [];
  const failed: FailedAcceptance[] = [];
  const order = sortByReferences(new Set(ids), known);
  for (const [index, id] of order.entries()) {
    try {
      // The route asks about all; one of them may be denied.
      requireAction(ctx.actor, 'knowledge_reviews:review', id);
      accepted.push(await acceptSuggestion(ctx, id));
    } catch (error) {
      if (error instanceof Failure) failed.push({ id, failure: error });
      else if (accepted.length === 0) throw error;
      else {
        // The caller must learn what was accepted before.
        logError('acceptance_interrupted', error, { suggestion_id: id });
        failed.push(...order.slice(index).map((rest) => ({ id: rest, failure: acceptanceInterrupted() })));
        break;
      }
    }
  }
  return { accepted, failed };
}

export async function rejectSuggestion(
  ctx: PrincipalContext,
  id: string,
  reviewNote: string | null,
): Promise<store.SuggestionRow> {
  requirePending(await getSuggestion(ctx, id));
  const review = { ...makeReview(ctx), reviewNote };
  const [rejected] = await store.markRejected(ctx.db, ctx.actor.companyId, id, review);
  if (rejected) return rejected;
  const suggestion = await getSuggestion(ctx, id);
  throw suggestionNotPending(suggestion.status as SuggestionStatus);
}

const makeReview = (ctx: PrincipalContext): store.Review => ({
  reviewNote: null,
  reviewedByUserId: ctx.actor.id,
  reviewedAt: ctx.now(),
});

const makeAcceptance = (ctx: PrincipalContext, id: string): Acceptance => ({
  suggestionId: id,
  condition: store.isPending(ctx.actor.companyId, id),
  after: (resourceId) => store.markAccepted(ctx.db, ctx.actor.companyId, id, resourceId, makeReview(ctx)),
});

function requirePending({ status }: store.SuggestionRow): void {
  if (status !== 'pending') throw suggestionNotPending(status as SuggestionStatus);
}

/** Sorts the ids of suggestions so that each follows those it refers to. */
function sortByReferences(ids: ReadonlySet<string>, known: ReadonlyMap<string, store.SuggestionRow>): string[] {
  const ordered = new Set<string>();
  const begun = new Set<string>();
  const add = (id: string): void => {
    if (begun.has(id)) return;
    begun.add(id);
    const suggestion = known.get(id);
    const needed = suggestion ? listSuggestedReferences(suggestion.payload).flatMap((reference) => reference.ids) : [];
    for (const each of needed) if (ids.has(each)) add(each);
    ordered.add(id);
  };
  for (const id of ids) add(id);
  return [...ordered];
}

/** The payload of a suggestion, where the suggestions it refers to are replaced by the resources made from them. */
async function mergePayload(
  ctx: PrincipalContext,
  { payload }: store.SuggestionRow,
  override: Content,
): Promise<Content> {
  const references = listSuggestedReferences(payload).filter(({ field }) => !(field in override));
  const ids = references.flatMap((reference) => reference.ids);
  const resourceById = await findAcceptedResourceIds(ctx, ids);
  const waitingFor = ids.filter((id) => !resourceById.has(id));
  if (waitingFor.length > 0) throw dependencyPending([...new Set(waitingFor)]);
  const found = references.map(({ field, ids: needed, isList }) => {
    const made = needed.map((id) => resourceById.get(id));
    return [field, isList ? [...((payload[field] as string[] | undefined) ?? []), ...made] : made[0]];
  });
  return { ...payload, ...Object.fromEntries(found) };
}

/** The target of a suggestion, if its version is still the one that the model read. */
async function requireUnchangedTarget(
  ctx: PrincipalContext,
  { targetType, targetId, targetVersion, payload }: store.SuggestionRow,
) {
  const { definition } = getTarget(targetType);
  const current = await getResource(ctx, definition, targetId as string);
  if (current.version === targetVersion) return current;
  const before = await contentAtVersion(ctx, current.id, targetVersion as number);
  throw suggestionStale(
    { suggestedFor: targetVersion as number, current: current.version },
    compareContents(before ?? {}, { ...current.content, status: current.status }, payload),
  );
}

function compareContents(before: Content, now: Content, suggested: Content): Difference[] {
  return Object.keys(now)
    .filter((field) => JSON.stringify(before[field]) !== JSON.stringify(now[field]))
    .map((field) => ({
      field,
      before: before[field],
      now: now[field],
      ...(field in suggested && { suggested: suggested[field] }),
    }));
}
