import type { UserContext } from '../../../context.ts';
import type { Content } from '../../../db/schema/knowledge-resources.ts';
import { Failure, invalid } from '../../../kernel/failure.ts';
import { logError } from '../../../platform/log.ts';
import {
  type Acceptance,
  getResource,
  insertFirstVersion,
  membersAt,
  type Resource,
  replaceVersion,
} from '../resources/service.ts';
import {
  acceptanceBrokeOff,
  type Difference,
  dependencyPending,
  notPending,
  stale,
  suggestionNotFound,
} from './failures.ts';
import * as store from './store.ts';
import { aimOf, type Payload, relationEnds, requireTarget, type SuggestionStatus } from './suggestion.ts';

/** What came of an acceptance. */
export interface Accepted {
  suggestion: store.SuggestionRow;
  resource: Resource;
}

/** One that could not be accepted, and why. */
export interface NotAccepted {
  id: string;
  failure: Failure;
}

/** @throws Failure `suggestion.not_found` */
export async function getSuggestion(ctx: UserContext, id: string): Promise<store.SuggestionRow> {
  const [row] = await store.selectSuggestion(ctx.db, ctx.actor.companyId, id);
  if (!row) throw suggestionNotFound();
  return row;
}

/**
 * Applies a suggestion, as changed by `override`: of several who do so at once, one does. Whoever accepts must also be
 * allowed to make or change the target.
 * @throws Failure `suggestion.not_found`, `.not_pending`, `.dependency_pending`, `.stale`, `access.denied`, what making or
 *   changing the target throws
 */
export async function acceptSuggestion(ctx: UserContext, id: string, override: Payload = {}): Promise<Accepted> {
  const suggestion = await getSuggestion(ctx, id);
  requireTarget(ctx.actor, suggestion.targetType, suggestion.targetId);
  requirePending(suggestion);
  const { definition, makes } = aimOf(suggestion.targetType);
  const payload = { ...(await payloadOf(ctx, suggestion, override)), ...override };
  const schema = makes ? definition.create : definition.changes;
  const parsed = schema.safeParse(payload);
  if (!parsed.success) {
    throw invalid(
      parsed.error.issues.map(({ path, message }) => ({ field: ['override_payload', ...path].join('.'), message })),
    );
  }
  const acceptance = acceptanceOf(ctx, id);
  const resource = makes
    ? await insertFirstVersion(ctx, definition, parsed.data, acceptance)
    : await replaceVersion(ctx, definition, await freshTarget(ctx, suggestion), parsed.data, acceptance);
  if (resource) return { suggestion: await getSuggestion(ctx, id), resource };

  // Somebody came first: either to the suggestion or to its target.
  requirePending(await getSuggestion(ctx, id));
  await freshTarget(ctx, suggestion);
  throw new Failure('conflict', 'knowledge.overtaken', { message: 'Somebody else came first. Try again.' });
}

/**
 * Accepts several, what others depend on first. What cannot be accepted does not hold up the rest; where something of ours
 * breaks, the rest is not tried.
 * @returns both in the order in which they were tried
 */
export async function acceptSuggestions(
  ctx: UserContext,
  ids: string[],
): Promise<{ accepted: Accepted[]; failed: NotAccepted[] }> {
  const rows = await store.selectSuggestions(ctx.db, ctx.actor.companyId, ids);
  const known = new Map(rows.map((row) => [row.id, row]));
  const orderOf = (id: string): number => (known.get(id)?.targetType.endsWith('_relation_create') ? 1 : 0);
  const accepted: Accepted[] = [];
  const failed: NotAccepted[] = [];
  const order = [...new Set(ids)].toSorted((a, b) => orderOf(a) - orderOf(b));
  for (const [place, id] of order.entries()) {
    try {
      accepted.push(await acceptSuggestion(ctx, id));
    } catch (error) {
      if (error instanceof Failure) failed.push({ id, failure: error });
      else if (accepted.length === 0) throw error;
      else {
        // What was accepted stays so, and must be told.
        logError('acceptance_broke_off', error, { suggestion_id: id });
        failed.push(...order.slice(place).map((rest) => ({ id: rest, failure: acceptanceBrokeOff() })));
        break;
      }
    }
  }
  return { accepted, failed };
}

/** Turns a pending suggestion down. @throws Failure `suggestion.not_found`, `suggestion.not_pending` */
export async function rejectSuggestion(
  ctx: UserContext,
  id: string,
  reviewNote: string | null,
): Promise<store.SuggestionRow> {
  const review = { ...reviewBy(ctx), reviewNote };
  const [rejected] = await store.markRejected(ctx.db, ctx.actor.companyId, id, review);
  if (rejected) return rejected;
  const suggestion = await getSuggestion(ctx, id);
  throw notPending(suggestion.status as SuggestionStatus);
}

const reviewBy = (ctx: UserContext): store.Review => ({
  reviewNote: null,
  reviewedByUserId: ctx.actor.id,
  reviewedAt: ctx.now(),
});

const acceptanceOf = (ctx: UserContext, id: string): Acceptance => ({
  suggestionId: id,
  condition: store.isPending(ctx.actor.companyId, id),
  after: (resourceId) => store.markAccepted(ctx.db, ctx.actor.companyId, id, resourceId, reviewBy(ctx)),
});

function requirePending({ status }: store.SuggestionRow): void {
  if (status !== 'pending') throw notPending(status as SuggestionStatus);
}

/** The payload with nodes that were only suggested replaced by what came of them. */
async function payloadOf(ctx: UserContext, suggestion: store.SuggestionRow, override: Payload): Promise<Payload> {
  const { payload } = suggestion;
  if (suggestion.targetType !== 'ontology_relation_create') return payload;
  const { subject_suggestion_id, object_suggestion_id } = relationEnds.parse(payload);
  const ends = [
    { member: 'subject_node_id', suggestionId: subject_suggestion_id },
    { member: 'object_node_id', suggestionId: object_suggestion_id },
  ].filter(
    (end): end is { member: string; suggestionId: string } => end.suggestionId !== null && !(end.member in override),
  );
  const rows = await store.selectSuggestions(
    ctx.db,
    ctx.actor.companyId,
    ends.map((end) => end.suggestionId),
  );
  const resourceOf = (id: string) => rows.find((row) => row.id === id)?.resourceId ?? null;
  const waitingFor = ends.map((end) => end.suggestionId).filter((id) => resourceOf(id) === null);
  if (waitingFor.length > 0) throw dependencyPending([...new Set(waitingFor)]);
  return { ...payload, ...Object.fromEntries(ends.map((end) => [end.member, resourceOf(end.suggestionId)])) };
}

/**
 * The target of a suggestion, which is still what the model saw.
 * @throws Failure `suggestion.stale` with what has changed
 */
async function freshTarget(ctx: UserContext, { targetType, targetId, targetVersion, payload }: store.SuggestionRow) {
  const { definition } = aimOf(targetType);
  const current = await getResource(ctx, definition, targetId as string);
  if (current.version === targetVersion) return current;
  const then = await membersAt(ctx, current.id, targetVersion as number);
  throw stale(
    { suggested_for: targetVersion as number, current: current.version },
    differenceOf(then ?? {}, { ...current.content, status: current.status }, payload),
  );
}

function differenceOf(then: Content, now: Content, suggested: Content): Difference[] {
  return Object.keys(now)
    .filter((field) => JSON.stringify(then[field]) !== JSON.stringify(now[field]))
    .map((field) => ({
      field,
      before: then[field],
      now: now[field],
      ...(field in suggested && { suggested: suggested[field] }),
    }));
}
