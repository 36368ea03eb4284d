import type { PrincipalContext } from '../../../context.ts';
import { type ConstraintFailures, commit, type Statement } from '../../../db/client.ts';
import type { Change, Content, Status } from '../../../db/schema/knowledge-resources.ts';
import { invalid } from '../../../kernel/failure.ts';
import { prepareMessage } from '../../outbox/service.ts';
import { recheckIfOutdated } from './checks.ts';
import { type Check, type Definition, toSearchText } from './definition.ts';
import { type Resource, resourceKey } from './reading.ts';
import * as store from './store.ts';
import { validateContent } from './validation.ts';

/** The suggestion that a write accepts, with its condition and statement in the batch of the write. */
export interface Acceptance {
  suggestionId: string;
  /** SQL condition, true while the suggestion can be accepted. */
  condition: store.WriteCondition;
  /** A statement that follows the write. */
  after(resourceId: string): Statement;
}

/** The fields that a caller sends. */
export type Input<C extends Content> = Partial<C> & { status?: Status };

/**
 * Writes the first version of a new resource; undefined when the acceptance's condition does not hold, or a resource that it
 * refers to has changed meanwhile.
 */
export async function insertFirstVersion<C extends Content>(
  ctx: PrincipalContext,
  definition: Definition<C>,
  input: Input<C>,
  acceptance?: Acceptance,
): Promise<Resource<C> | undefined> {
  const { status = 'draft', ...fields } = input;
  const content = { ...definition.defaults, ...fields } as unknown as C;
  const conditions = await validateContent(ctx, definition, content);
  const check = await definition.check?.(ctx, content);
  const now = ctx.now();
  const row: store.ResourceRow = {
    ...toColumns(definition, content),
    ...resourceKey(ctx, definition, ctx.newId()),
    status,
    validationErrors: check?.errors ?? [],
    version: 1,
    suggestionId: acceptance?.suggestionId ?? null,
    createdByUserId: ctx.actor.id,
    updatedByUserId: ctx.actor.id,
    createdAt: now,
    updatedAt: now,
  };
  const insert = store.insertResource(ctx.db, row, [...conditions, ...(acceptance ? [acceptance.condition] : [])]);
  const inserted = await commitVersion(ctx, definition, { write: insert, row, change: 'created', check, acceptance });
  return inserted && recheckIfOutdated(ctx, definition, inserted, check);
}

/**
 * Writes the version after `current`; undefined when `current` is no longer the present version, the acceptance's condition
 * does not hold, or a resource that it refers to, or that refers to it, has changed meanwhile.
 */
export async function replaceVersion<C extends Content>(
  ctx: PrincipalContext,
  definition: Definition<C>,
  current: Resource<C>,
  changes: Input<C>,
  acceptance?: Acceptance,
): Promise<Resource<C> | undefined> {
  const { status = current.status, ...fields } = changes;
  const content: C = { ...current.content, ...fields };
  // What an archived one refers to may have changed since.
  const before = current.status === 'archived' ? undefined : current.content;
  const conditions = await validateContent(ctx, definition, content, before);
  const others = await definition.beforeChange?.(ctx, current, content);
  if (others) conditions.push(others);
  const check = await definition.check?.(ctx, content);
  const row: store.ResourceRow = {
    ...current,
    ...toColumns(definition, content),
    status,
    validationErrors: check?.errors ?? [],
    version: current.version + 1,
    suggestionId: acceptance?.suggestionId ?? null,
    updatedByUserId: ctx.actor.id,
    updatedAt: ctx.now(),
  };
  const { acyclic } = definition;
  const ids = acyclic.flatMap((field) => idsIn(content[field]));
  const key = resourceKey(ctx, definition, current.id);
  if (ids.length > 0) conditions.push(store.formsNoCycle(key, acyclic, ids));
  if (acceptance) conditions.push(acceptance.condition);
  const replace = store.replaceResource(ctx.db, row, conditions);
  const change = describeChange(current.status, status);
  const changed = await commitVersion(ctx, definition, { write: replace, row, change, check, acceptance });
  if (changed) return recheckIfOutdated(ctx, definition, changed, check);
  await requireNoCycle(ctx, definition, key, content);
  return undefined;
}

/** Writes an archived version after `current`; undefined when `current` is no longer the present version. */
export function insertArchivedVersion<C extends Content>(
  ctx: PrincipalContext,
  definition: Definition<C>,
  current: Resource<C>,
): Promise<Resource<C> | undefined> {
  const row: store.ResourceRow = {
    ...current,
    status: 'archived',
    version: current.version + 1,
    suggestionId: null,
    updatedByUserId: ctx.actor.id,
    updatedAt: ctx.now(),
  };
  const write = store.replaceResource(ctx.db, row, []);
  return commitVersion(ctx, definition, { write, row, change: 'archived' });
}

async function requireNoCycle<C extends Content>(
  ctx: PrincipalContext,
  { acyclic }: Definition<C>,
  key: store.ResourceKey,
  content: C,
): Promise<void> {
  const cyclic: string[] = [];
  for (const field of acyclic) {
    const [state] = await store.selectFormsNoCycle(ctx.db, key, acyclic, idsIn(content[field]));
    if (!state?.holds) cyclic.push(field);
  }
  if (cyclic.length > 0) throw invalid(cyclic.map((field) => ({ field, message: 'would make a cycle' })));
}

/** The ids in the value of a field: one, several, or none. */
const idsIn = (value: unknown): string[] => {
  const values = Array.isArray(value) ? value : [value];
  return values.filter((id): id is string => typeof id === 'string');
};

function describeChange(before: Status, after: Status): Change {
  if (before === 'archived') return 'restored';
  return after === 'archived' ? 'archived' : 'updated';
}

/** A version with the statement that writes it, and its check and acceptance. */
interface NewVersion {
  write: ReturnType<typeof store.insertResource> | ReturnType<typeof store.replaceResource>;
  row: store.ResourceRow;
  change: Change;
  check?: Check | undefined;
  acceptance?: Acceptance | undefined;
}

async function commitVersion<C extends Content>(
  ctx: PrincipalContext,
  definition: Definition<C>,
  { write, row, change, check, acceptance }: NewVersion,
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
  const recheck = definition.recheck?.(row.companyId, check);
  const message = recheck && prepareMessage(ctx, recheck.message, recheck);
  const { resource, stored } = await commit(
    ctx.db,
    { resource: write, version, after, stored: message ? [message.statement] : [] },
    uniqueKeyFailure(definition, row.content as C),
  );
  message?.send(stored.flat());
  return resource[0] as Resource<C> | undefined;
}

const uniqueKeyFailure = <C extends Content>(definition: Definition<C>, content: C): ConstraintFailures => ({
  'knowledge_resources.unique_key': () => definition.failures.duplicate(definition.getName(content)),
});

/** The content, and the columns that make it searchable and unique. */
function toColumns<C extends Content>(definition: Definition<C>, content: C) {
  const ends = definition.getEnds?.(content);
  return {
    content,
    uniqueKey: definition.makeUniqueKey(content),
    facet: definition.getFacet(content),
    subjectId: ends?.subjectId ?? null,
    objectId: ends?.objectId ?? null,
    searchText: toSearchText(definition.listTexts(content).join('\n')),
  };
}
