import { requireAction } from '../../../access/requirements.ts';
import type { PrincipalContext } from '../../../context.ts';
import { retryOnConcurrentChange } from '../../../db/failures.ts';
import type { Content } from '../../../db/schema/knowledge-resources.ts';
import { findChangedFields, type ResourceDefinition } from './definition.ts';
import { getResource, type Resource } from './reading.ts';
import { insertArchivedVersion, insertFirstVersion, type ResourceInput, replaceVersion } from './versions.ts';

/** Creates a resource in its first version, and checks it against the current tables where its type has such a check. */
export async function createResource<C extends Content>(
  ctx: PrincipalContext,
  definition: ResourceDefinition<C>,
  input: ResourceInput<C>,
): Promise<Resource<C>> {
  return retryOnConcurrentChange(() => insertFirstVersion(ctx, definition, input));
}

/**
 * Changes the fields that are sent. A change without effect creates no version. An archived resource is restored when another
 * status is sent with the change.
 */
export async function changeResource<C extends Content>(
  ctx: PrincipalContext,
  definition: ResourceDefinition<C>,
  id: string,
  changes: ResourceInput<C>,
): Promise<Resource<C>> {
  if (changes.status === 'archived') requireAction(ctx.actor, definition.actions.archive, id, definition.arnType);
  return retryOnConcurrentChange(async () => {
    const storedResource = await getResource(ctx, definition, id);
    const { status = storedResource.status, ...fields } = changes;
    const isSameStatus = status === storedResource.status;
    if (storedResource.status === 'archived' && isSameStatus) throw definition.failures.archived();
    const isUnchanged = isSameStatus && Object.keys(findChangedFields(storedResource.content, fields)).length === 0;
    return isUnchanged ? storedResource : replaceVersion(ctx, definition, storedResource, changes);
  });
}

/** Archives a resource. Other resources that refer to it keep their references. */
export async function archiveResource<C extends Content>(
  ctx: PrincipalContext,
  definition: ResourceDefinition<C>,
  id: string,
): Promise<void> {
  await retryOnConcurrentChange(async () => {
    const storedResource = await getResource(ctx, definition, id);
    if (storedResource.status === 'archived') throw definition.failures.notFound();
    return insertArchivedVersion(ctx, definition, storedResource);
  });
}
