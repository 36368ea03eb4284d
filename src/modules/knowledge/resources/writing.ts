import type { CompanyContext, UserContext } from '../../../context.ts';
import { type ConstraintFailures, commit, type Statement } from '../../../db/client.ts';
import type { Change, Content, Status, ValidationError } from '../../../db/schema/knowledge-resources.ts';
import { type FieldProblem, invalid } from '../../../kernel/failure.ts';
import { type Check, type Definition, searchable } from './definition.ts';
import { archived, duplicate, overtaken, resourceNotFound } from './failures.ts';
import { getResource, keyOf, type Resource } from './reading.ts';
import { idsIn, requireSound } from './soundness.ts';
import * as store from './store.ts';

/** A write that belongs to accepting a suggestion: all in one batch, or nothing. */
export interface Acceptance {
  suggestionId: string;
  /** Holds while the suggestion can be accepted. */
  condition: store.WriteCondition;
  /** What follows when the write took place. */
  after(resourceId: string): Statement;
}

/** Writes that others overtook are tried so often. */
const TRIES = 5;

/** What a caller sends of a resource. */
type Input<C extends Content> = Partial<C> & { status?: Status };

/** Makes a resource. @throws Failure `{noun}.duplicate`, or invalid naming the members at fault */
export async function createResource<C extends Content>(
  ctx: UserContext,
  definition: Definition<C>,
  input: Input<C>,
): Promise<Resource<C>> {
  return (await insertFirstVersion(ctx, definition, input)) as Resource<C>;
}

/**
 * Writes the first version of a new resource.
 * @returns undefined when the acceptance's condition does not hold
 * @throws Failure `{noun}.duplicate`, or invalid naming the members at fault
 */
export async function insertFirstVersion<C extends Content>(
  ctx: UserContext,
  definition: Definition<C>,
  input: Input<C>,
  acceptance?: Acceptance,
): Promise<Resource<C> | undefined> {
  const { status = 'draft', ...members } = input;
  const content = { ...definition.defaults, ...members } as unknown as C;
  const id = ctx.newId();
  await requireSound(ctx, definition, content);
  const check = await definition.check?.(ctx, content);
  const now = ctx.now();
  const row: store.ResourceRow = {
    ...derived(definition, content),
    ...keyOf(ctx, definition, id),
    status,
    validationErrors: check?.errors ?? [],
    version: 1,
    suggestionId: acceptance?.suggestionId ?? null,
    createdByUserId: ctx.actor.id,
    updatedByUserId: ctx.actor.id,
    createdAt: now,
    updatedAt: now,
  };
  const insert = store.insertResource(ctx.db, row, acceptance?.condition);
  const written = await write(ctx, definition, insert, row, 'created', acceptance);
  return written && settled(ctx, definition, written, check);
}

/**
 * Changes what is sent; what is as it was sent already stays the version it is. An archived resource comes back when
 * another status is sent with the change.
 * @throws Failure `{noun}.not_found`, `{noun}.archived`, `{noun}.duplicate`, `access.denied` for archiving without the
 *   permission to delete, or invalid naming the members at fault
 */
export async function changeResource<C extends Content>(
  ctx: UserContext,
  definition: Definition<C>,
  id: string,
  changes: Input<C>,
): Promise<Resource<C>> {
  if (changes.status === 'archived') definition.permissions.requireDelete(ctx.actor, id);
  for (let tries = 0; tries < TRIES; tries += 1) {
    const current = await getResource(ctx, definition, id);
    const stays = (changes.status ?? current.status) === current.status;
    if (current.status === 'archived' && stays) throw archived(definition);
    if (changesNothing(current, changes)) return current;
    const changed = await replaceVersion(ctx, definition, current, changes);
    if (changed) return changed;
  }
  throw overtaken(definition);
}

/**
 * Writes the version after `current`.
 * @returns undefined when `current` is no more the present version, or the acceptance's condition does not hold
 * @throws Failure `{noun}.duplicate`, or invalid naming the members at fault
 */
export async function replaceVersion<C extends Content>(
  ctx: UserContext,
  definition: Definition<C>,
  current: Resource<C>,
  changes: Input<C>,
  acceptance?: Acceptance,
): Promise<Resource<C> | undefined> {
  const { status = current.status, ...members } = changes;
  const content: C = { ...current.content, ...members };
  await requireSound(ctx, definition, content, current.content);
  const key = keyOf(ctx, definition, current.id);
  const check = await definition.check?.(ctx, content);
  const row: store.ResourceRow = {
    ...current,
    ...derived(definition, content),
    status,
    validationErrors: check?.errors ?? [],
    version: current.version + 1,
    suggestionId: acceptance?.suggestionId ?? null,
    updatedByUserId: ctx.actor.id,
    updatedAt: ctx.now(),
  };
  const { acyclic } = definition;
  const named = acyclic.flatMap((member) => idsIn(content[member]));
  const conditions = named.length > 0 ? [store.formsNoCycle(key, acyclic, named)] : [];
  const replace = store.replaceResource(ctx.db, row, acceptance ? [...conditions, acceptance.condition] : conditions);
  const changed = await write(ctx, definition, replace, row, changeOf(current.status, status), acceptance);
  if (changed) return settled(ctx, definition, changed, check);
  const problems: FieldProblem[] = [];
  for (const member of acyclic) {
    const [state] = await store.selectFormsNoCycle(ctx.db, key, acyclic, idsIn(content[member]));
    if (!state?.holds) problems.push({ field: member, message: 'would make a cycle' });
  }
  if (problems.length > 0) throw invalid(problems);
  return undefined;
}

function changeOf(before: Status, after: Status): Change {
  if (before === 'archived') return 'restored';
  return after === 'archived' ? 'archived' : 'updated';
}

/** Takes a resource out of the lists; what refers to it keeps doing so. @throws Failure `{noun}.not_found` */
export async function archiveResource<C extends Content>(
  ctx: UserContext,
  definition: Definition<C>,
  id: string,
): Promise<void> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const current = await getResource(ctx, definition, id);
    if (current.status === 'archived') throw resourceNotFound(definition);
    const row: store.ResourceRow = {
      ...current,
      status: 'archived',
      version: current.version + 1,
      suggestionId: null,
      updatedByUserId: ctx.actor.id,
      updatedAt: ctx.now(),
    };
    if (await write(ctx, definition, store.replaceResource(ctx.db, row, []), row, 'archived')) return;
  }
  throw overtaken(definition);
}

/**
 * Checks this version of a resource and notes what was found, again until it is about the tables as they still are: of
 * several checks that overlap with changes of the tables, whichever notes last notes what is so. A version that came
 * meanwhile had its own check.
 * @returns what was noted last
 */
export async function noteCheck(
  ctx: CompanyContext,
  resource: Resource,
  check: () => Promise<Check>,
): Promise<ValidationError[]> {
  for (let tries = 1; ; tries += 1) {
    const { errors, holds } = await check();
    await store.setValidationErrors(ctx.db, resource, errors);
    if (tries === TRIES || (await holds())) return errors;
  }
}

/** A resource as it was just written, checked again if a table was changed between its check and the write. */
async function settled<C extends Content>(
  ctx: CompanyContext,
  definition: Definition<C>,
  resource: Resource<C>,
  check: Check | undefined,
): Promise<Resource<C>> {
  if (!definition.check || !check || (await check.holds())) return resource;
  const again = definition.check;
  return { ...resource, validationErrors: await noteCheck(ctx, resource, () => again(ctx, resource.content)) };
}

/** Whether everything that is sent is so already. */
function changesNothing<C extends Content>(current: Resource<C>, { status, ...members }: Input<C>): boolean {
  if (status !== undefined && status !== current.status) return false;
  return Object.entries(members).every(
    ([member, value]) => JSON.stringify(value) === JSON.stringify(current.content[member]),
  );
}

async function write<C extends Content>(
  ctx: UserContext,
  definition: Definition<C>,
  statement: ReturnType<typeof store.insertResource> | ReturnType<typeof store.replaceResource>,
  row: store.ResourceRow,
  change: Change,
  acceptance?: Acceptance,
): Promise<Resource<C> | undefined> {
  const version = store.insertVersion(ctx.db, {
    id: ctx.newId(),
    companyId: row.companyId,
    resourceId: row.id,
    version: row.version,
    change,
    status: row.status,
    content: row.content,
    changedByUserId: ctx.actor.id,
    suggestionId: row.suggestionId,
    changedAt: row.updatedAt,
  });
  const after = acceptance ? [acceptance.after(row.id)] : [];
  const [written] = await commit(ctx.db, [statement, version, ...after], uniqueKey(definition, row.content as C));
  return written[0] as Resource<C> | undefined;
}

const uniqueKey = <C extends Content>(definition: Definition<C>, content: C): ConstraintFailures => ({
  'knowledge_resources.unique_key': () => duplicate(definition, definition.nameOf(content)),
});

/** What is stored beside the content, so that it can be searched and kept unique. */
function derived<C extends Content>(definition: Definition<C>, content: C) {
  const ends = definition.endsOf?.(content);
  return {
    content,
    uniqueKey: definition.keyOf(content),
    facet: definition.facetOf(content),
    subjectId: ends?.subjectId ?? null,
    objectId: ends?.objectId ?? null,
    searchText: searchable(definition.textsOf(content).join('\n')),
  };
}
