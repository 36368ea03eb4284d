import type { PrincipalContext } from '../../../context.ts';
import { commit, type Statement } from '../../../db/client.ts';
import type { Change, Content, Status } from '../../../db/schema/knowledge-resources.ts';
import { invalidInput } from '../../../kernel/failure.ts';
import { prepareMessage } from '../../outbox/service.ts';
import { recheckIfOutdated } from './checks.ts';
import { type CheckResult, type ResourceDefinition, toSearchText } from './definition.ts';
import { makeResourceKey, type Resource } from './reading.ts';
import * as store from './store.ts';
import { validateContent } from './validation.ts';

/** The acceptance of a suggestion by a write, with its condition and statement in the batch of the write. */
export interface SuggestionAcceptance {
  suggestionId: string;
  /** SQL condition that the suggestion can be accepted. */
  writeCondition: store.WriteCondition;
  /** Makes a statement that follows the write. */
  makeNextStatement(resourceId: string): Statement;
}

/** The fields that a caller sends. */
export type ResourceInput<C extends Content> = Partial<C> & { status?: Status };

/**
 * Writes the first version of a new resource; undefined when the acceptance's condition does not hold, or a referenced resource
 * has changed meanwhile.
 */
export async function insertFirstVersion<C extends Content>(
  ctx: PrincipalContext,
  definition: ResourceDefinition<C>,
  input: ResourceInput<C>,
  acceptance?: SuggestionAcceptance,
): Promise<Resource<C> | undefined> {
  const { status = 'draft', ...fields } = input;
  const content = { ...definition.defaults, ...fields } as unknown as C;
  const conditions = await validateContent(ctx, definition, content);
  const checkResult = await definition.check?.(ctx, content);
  const now = ctx.now();
  const row: store.ResourceRow = {
    ...toColumns(definition, content),
    ...makeResourceKey(ctx, definition, ctx.newId()),
    status,
    validationErrors: checkResult?.errors ?? [],
    version: 1,
    suggestionId: acceptance?.suggestionId ?? null,
    createdByUserId: ctx.actor.id,
    updatedByUserId: ctx.actor.id,
    createdAt: now,
    updatedAt: now,
  };
  if (acceptance) conditions.push(acceptance.writeCondition);
  const writeStatement = store.insertResource(ctx.db, row, conditions);
  const resource = await commitVersion(ctx, definition, {
    writeStatement,
    row,
    change: 'created',
    checkResult,
    acceptance,
  });
  return resource && recheckIfOutdated(ctx, definition, resource, checkResult);
}

/**
 * Writes the version after `currentResource`; undefined when `currentResource` is no longer the current version, the acceptance's condition does
 * not hold, or a resource that it refers to, or that refers to it, has changed meanwhile.
 */
export async function replaceVersion<C extends Content>(
  ctx: PrincipalContext,
  definition: ResourceDefinition<C>,
  currentResource: Resource<C>,
  changes: ResourceInput<C>,
  acceptance?: SuggestionAcceptance,
): Promise<Resource<C> | undefined> {
  const { status = currentResource.status, ...fields } = changes;
  const content: C = { ...currentResource.content, ...fields };
  // What an archived one refers to may have changed since.
  const previousContent = currentResource.status === 'archived' ? undefined : currentResource.content;
  const conditions = await validateContent(ctx, definition, content, previousContent);
  const changeCondition = await definition.beforeChange?.(ctx, currentResource, content);
  if (changeCondition) conditions.push(changeCondition);
  const checkResult = await definition.check?.(ctx, content);
  const row: store.ResourceRow = {
    ...currentResource,
    ...toColumns(definition, content),
    status,
    validationErrors: checkResult?.errors ?? [],
    version: currentResource.version + 1,
    suggestionId: acceptance?.suggestionId ?? null,
    updatedByUserId: ctx.actor.id,
    updatedAt: ctx.now(),
  };
  const { acyclicFields } = definition;
  const ids = acyclicFields.flatMap((field) => listIds(content[field]));
  const key = makeResourceKey(ctx, definition, currentResource.id);
  if (ids.length > 0) conditions.push(store.formsNoCycle(key, acyclicFields, ids));
  if (acceptance) conditions.push(acceptance.writeCondition);
  const writeStatement = store.replaceResource(ctx.db, row, conditions);
  const change = describeChange(currentResource.status, status);
  const resource = await commitVersion(ctx, definition, { writeStatement, row, change, checkResult, acceptance });
  if (resource) return recheckIfOutdated(ctx, definition, resource, checkResult);
  await requireNoCycle(ctx, definition, key, content);
  return undefined;
}

/** Writes an archived version after `currentResource`; undefined when `currentResource` is no longer the current version. */
export function insertArchivedVersion<C extends Content>(
  ctx: PrincipalContext,
  definition: ResourceDefinition<C>,
  currentResource: Resource<C>,
): Promise<Resource<C> | undefined> {
  const row: store.ResourceRow = {
    ...currentResource,
    status: 'archived',
    version: currentResource.version + 1,
    suggestionId: null,
    updatedByUserId: ctx.actor.id,
    updatedAt: ctx.now(),
  };
  const writeStatement = store.replaceResource(ctx.db, row, []);
  return commitVersion(ctx, definition, { writeStatement, row, change: 'archived' });
}

async function requireNoCycle<C extends Content>(
  ctx: PrincipalContext,
  { acyclicFields }: ResourceDefinition<C>,
  key: store.ResourceKey,
  content: C,
): Promise<void> {
  const cyclicFields: string[] = [];
  for (const field of acyclicFields) {
    const [state] = await store.selectFormsNoCycle(ctx.db, key, acyclicFields, listIds(content[field]));
    if (!state?.holds) cyclicFields.push(field);
  }
  if (cyclicFields.length > 0)
    throw invalidInput(cyclicFields.map((field) => ({ field, message: 'would make a cycle' })));
}

/** Returns the ids in the value of a field: one, several, or none. */
const listIds = (value: unknown): string[] => [value].flat().filter((id) => typeof id === 'string');

function describeChange(previousStatus: Status, nextStatus: Status): Change {
  if (previousStatus === 'archived') return 'restored';
  return nextStatus === 'archived' ? 'archived' : 'updated';
}

/** A new version with the statement that writes it, and its check and acceptance. */
interface NewVersion {
  writeStatement: ReturnType<typeof store.insertResource> | ReturnType<typeof store.replaceResource>;
  row: store.ResourceRow;
  change: Change;
  checkResult?: CheckResult | undefined;
  acceptance?: SuggestionAcceptance | undefined;
}

async function commitVersion<C extends Content>(
  ctx: PrincipalContext,
  definition: ResourceDefinition<C>,
  { writeStatement, row, change, checkResult, acceptance }: NewVersion,
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
  const nextStatements = acceptance ? [acceptance.makeNextStatement(row.id)] : [];
  const recheckMessage = definition.recheck?.(row.companyId, checkResult);
  const message = recheckMessage && prepareMessage(ctx, recheckMessage.message, recheckMessage);
  const { resource, stored } = await commit(
    ctx.db,
    { resource: writeStatement, version, after: nextStatements, stored: message ? [message.statement] : [] },
    { 'knowledge_resources.unique_key': () => definition.failures.duplicate(definition.getName(row.content as C)) },
  );
  message?.send(stored.flat());
  return resource[0] as Resource<C> | undefined;
}

/** Returns the content, and the columns that make it searchable and unique. */
function toColumns<C extends Content>(definition: ResourceDefinition<C>, content: C) {
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
