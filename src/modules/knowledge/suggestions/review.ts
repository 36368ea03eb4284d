import type { z } from 'zod';
import { mayGetRecord } from '../../../access/denials.ts';
import { requireAction } from '../../../access/requirements.ts';
import type { CompanyContext, PrincipalContext } from '../../../context.ts';
import { concurrentChange } from '../../../db/failures.ts';
import type { Content } from '../../../db/schema/knowledge-resources.ts';
import type { SuggestionStatus } from '../../../db/schema/knowledge-suggestions.ts';
import { Failure, type FieldProblem, invalidInput, MAX_PROBLEMS } from '../../../kernel/failure.ts';
import { findUnknownMembers, UNKNOWN_FIELD_MESSAGE } from '../../../kernel/members.ts';
import { logError } from '../../../platform/log.ts';
import { getContentAtVersion, getResource, type Resource } from '../resources/reading.ts';
import { insertFirstVersion, replaceVersion, type SuggestionAcceptance } from '../resources/versions.ts';
import {
  acceptanceInterrupted,
  type Difference,
  dependencyPending,
  suggestionNotFound,
  suggestionNotPending,
  suggestionStale,
} from './failures.ts';
import * as store from './store.ts';
import {
  getDeniedSuggestions,
  getTargetDefinition,
  listSuggestedReferences,
  requireTargetPermission,
} from './suggestion.ts';

export interface AcceptedSuggestion {
  suggestion: store.SuggestionRow;
  resource: Resource;
}

export interface FailedAcceptance {
  id: string;
  failure: Failure;
}

export async function getSuggestion(ctx: PrincipalContext, id: string): Promise<store.SuggestionRow> {
  const [row] = await store.selectSuggestion(ctx.db, ctx.actor.companyId, id, getDeniedSuggestions(ctx));
  if (!row) throw suggestionNotFound();
  return row;
}

/** Returns a suggestion if the caller may create or update its target. */
export async function requireAcceptableSuggestion(ctx: PrincipalContext, id: string): Promise<store.SuggestionRow> {
  const suggestion = await getSuggestion(ctx, id);
  requireTargetPermission(ctx.actor, suggestion.targetType, suggestion.targetId);
  return suggestion;
}

/**
 * Accepts a suggestion with its payload changed by `override`: creates or updates the target of the suggestion, for
 * which the caller also needs permission. Of several concurrent calls, one succeeds.
 */
export async function acceptSuggestion(
  ctx: PrincipalContext,
  id: string,
  overridePayload: Content = {},
): Promise<AcceptedSuggestion> {
  const suggestion = await requireAcceptableSuggestion(ctx, id);
  requirePendingSuggestion(suggestion);
  const { definition, isCreation } = getTargetDefinition(suggestion.targetType);
  const schema = isCreation ? definition.createSchema : definition.changesSchema;
  requireKnownMembers(schema, overridePayload, suggestion.payload);
  const payload = { ...(await mergePayload(ctx, suggestion, overridePayload)), ...overridePayload };
  const parsedPayload = schema.safeParse(payload);
  if (!parsedPayload.success) {
    throw invalidInput(parsedPayload.error.issues.map(({ path, message }) => makeOverrideProblem(path, message)));
  }
  const review = makeReview(ctx);
  const acceptance = makeAcceptance(ctx, id, review);
  const resource = isCreation
    ? await insertFirstVersion(ctx, definition, parsedPayload.data, acceptance)
    : await replaceVersion(
        ctx,
        definition,
        await requireUnchangedTarget(ctx, suggestion),
        parsedPayload.data,
        acceptance,
      );
  // Not read again: it is hidden from a caller who may not get what it has created.
  if (resource) return { suggestion: { ...suggestion, ...store.makeAcceptedColumns(resource.id, review) }, resource };

  // Somebody else changed the suggestion, its target, or what that refers to first.
  requirePendingSuggestion(await getSuggestion(ctx, id));
  if (!isCreation) await requireUnchangedTarget(ctx, suggestion);
  throw concurrentChange();
}

const makeOverrideProblem = (path: readonly PropertyKey[], message: string): FieldProblem => ({
  field: ['override_payload', ...path].join('.'),
  message,
});

/** Throws for members that neither the target nor the suggestion has, which may be misspelt. */
function requireKnownMembers(schema: z.ZodType, overridePayload: Content, suggestedContent: Content): void {
  const unknownProblems = findUnknownMembers(schema, overridePayload, [suggestedContent])
    .filter(({ counterpartObjects }) => counterpartObjects.length === 0)
    .take(MAX_PROBLEMS)
    .map(({ path }) => makeOverrideProblem(path, UNKNOWN_FIELD_MESSAGE))
    .toArray();
  if (unknownProblems.length > 0) throw invalidInput(unknownProblems);
}

/**
 * Accepts several suggestions, in the order of their dependencies. A failing suggestion does not stop the rest, unless the error
 * is internal.
 */
export async function acceptSuggestions(
  ctx: PrincipalContext,
  ids: string[],
): Promise<{ acceptedSuggestions: AcceptedSuggestion[]; failedAcceptances: FailedAcceptance[] }> {
  const rows = await store.selectSuggestions(ctx.db, ctx.actor.companyId, ids);
  const suggestionsById = new Map(rows.map((row) => [row.id, row]));
  const acceptedSuggestions: AcceptedSuggestion[] = [];
  const failedAcceptances: FailedAcceptance[] = [];
  const orderedIds = sortByReferences(new Set(ids), suggestionsById);
  for (const [index, id] of orderedIds.entries()) {
    try {
      // The route asks about all; one of them may be denied.
      requireAction(ctx.actor, 'knowledge_reviews:review', id);
      acceptedSuggestions.push(await acceptSuggestion(ctx, id));
    } catch (error) {
      if (error instanceof Failure) failedAcceptances.push({ id, failure: error });
      else if (acceptedSuggestions.length === 0) throw error;
      else {
        // The caller must learn what was accepted before.
        logError('acceptance_interrupted', error, { suggestion_id: id });
        failedAcceptances.push(
          ...orderedIds.slice(index).map((remainingId) => ({ id: remainingId, failure: acceptanceInterrupted() })),
        );
        break;
      }
    }
  }
  return { acceptedSuggestions, failedAcceptances };
}

export async function rejectSuggestion(
  ctx: PrincipalContext,
  id: string,
  reviewNote: string | null,
): Promise<store.SuggestionRow> {
  requirePendingSuggestion(await getSuggestion(ctx, id));
  const review = { ...makeReview(ctx), reviewNote };
  const [rejected] = await store.markRejected(ctx.db, ctx.actor.companyId, id, review);
  if (rejected) return rejected;
  throw suggestionNotPending((await getSuggestion(ctx, id)).status as SuggestionStatus);
}

const makeReview = (ctx: PrincipalContext): store.Review => ({
  reviewNote: null,
  reviewedByUserId: ctx.actor.id,
  reviewedAt: ctx.now(),
});

const makeAcceptance = (ctx: PrincipalContext, id: string, review: store.Review): SuggestionAcceptance => ({
  suggestionId: id,
  writeCondition: store.isSuggestionPending(ctx.actor.companyId, id),
  makeNextStatement: (resourceId) => store.markAccepted(ctx.db, ctx.actor.companyId, id, resourceId, review),
});

function requirePendingSuggestion({ status }: store.SuggestionRow): void {
  if (status !== 'pending') throw suggestionNotPending(status as SuggestionStatus);
}

/** Sorts the ids of suggestions so that each follows the suggestions it refers to. */
function sortByReferences(
  ids: ReadonlySet<string>,
  suggestionsById: ReadonlyMap<string, store.SuggestionRow>,
): string[] {
  const orderedIds = new Set<string>();
  const visitedIds = new Set<string>();
  const addIdWithReferences = (id: string): void => {
    if (visitedIds.has(id)) return;
    visitedIds.add(id);
    const suggestion = suggestionsById.get(id);
    const neededIds = suggestion
      ? listSuggestedReferences(suggestion.payload).flatMap((reference) => reference.ids)
      : [];
    for (const referencedId of neededIds) if (ids.has(referencedId)) addIdWithReferences(referencedId);
    orderedIds.add(id);
  };
  for (const id of ids) addIdWithReferences(id);
  return [...orderedIds];
}

/** Returns the payload of a suggestion with the referenced suggestions replaced by the resources made from them. */
async function mergePayload(
  ctx: PrincipalContext,
  { payload }: store.SuggestionRow,
  overridePayload: Content,
): Promise<Content> {
  const references = listSuggestedReferences(payload).filter(({ field }) => !(field in overridePayload));
  const ids = references.flatMap((reference) => reference.ids);
  const resourceIdBySuggestion = await findAcceptedResourceIds(ctx, ids);
  const pendingIds = ids.filter((id) => !resourceIdBySuggestion.has(id));
  if (pendingIds.length > 0) throw dependencyPending([...new Set(pendingIds)]);
  const resolvedReferences = references.map(({ field, ids: neededIds, isList }) => {
    const createdIds = neededIds.map((id) => resourceIdBySuggestion.get(id));
    return [field, isList ? [...((payload[field] as string[] | undefined) ?? []), ...createdIds] : createdIds[0]];
  });
  return { ...payload, ...Object.fromEntries(resolvedReferences) };
}

/** Finds the ids of the resources that were made from accepted suggestions, by the ids of the suggestions. */
export async function findAcceptedResourceIds(ctx: CompanyContext, ids: string[]): Promise<Map<string, string>> {
  const rows = ids.length > 0 ? await store.selectCreatedResources(ctx.db, ctx.actor.companyId, ids) : [];
  return new Map(rows.map(({ id, resourceId }) => [id, resourceId]));
}

/**
 * Returns the target of a suggestion, if its version is still the one that the model read. The failure shows the differences to
 * callers who may get the target.
 */
async function requireUnchangedTarget(
  ctx: PrincipalContext,
  { targetType, targetId, targetVersion, payload }: store.SuggestionRow,
) {
  const { definition } = getTargetDefinition(targetType);
  const currentTarget = await getResource(ctx, definition, targetId as string);
  if (currentTarget.version === targetVersion) return currentTarget;
  const versions = { suggestedForVersion: targetVersion as number, currentVersion: currentTarget.version };
  if (!mayGetRecord(ctx.actor, currentTarget.resourceType, currentTarget.id)) throw suggestionStale(versions, []);
  const previousContent = await getContentAtVersion(ctx, currentTarget.id, targetVersion as number);
  throw suggestionStale(
    versions,
    compareContents(previousContent ?? {}, { ...currentTarget.content, status: currentTarget.status }, payload),
  );
}

function compareContents(previousContent: Content, now: Content, suggestedContent: Content): Difference[] {
  return Object.keys(now)
    .filter((field) => JSON.stringify(previousContent[field]) !== JSON.stringify(now[field]))
    .map((field) => ({
      field,
      before: previousContent[field],
      now: now[field],
      ...(field in suggestedContent && { suggested: suggestedContent[field] }),
    }));
}
