import type { PrincipalContext } from '../../../context.ts';
import { retryOnConcurrentChange } from '../../../db/failures.ts';
import type { Content } from '../../../db/schema/knowledge-resources.ts';
import { type Definition, findChangedFields } from './definition.ts';
import { getResource, type Resource } from './reading.ts';
import { type Input, insertArchivedVersion, insertFirstVersion, replaceVersion } from './versions.ts';

/** Creates a resource. */
export async function createResource<C extends Content>(
  ctx: PrincipalContext,
  definition: Definition<C>,
  input: Input<C>,
): Promise<Resource<C>> {
  return retryOnConcurrentChange(() => insertFirstVersion(ctx, definition, input));
}

/**
 * Changes the fields that are sent. A change that changes nothing makes no version. An archived resource is restored when
 * another status is sent with the change.
 */
export async function changeResource<C extends Content>(
  ctx: PrincipalContext,
  definition: Definition<C>,
  id: string,
  changes: Input<C>,
): Promise<Resource<C>> {
  if (changes.status === 'archived') definition.permissions.requireDelete(ctx.actor, id);
  return retryOnConcurrentChange(async () => {
    const current = await getResource(ctx, definition, id);
    const keepsStatus = (changes.status ?? current.status) === current.status;
    if (current.status === 'archived' && keepsStatus) throw definition.failures.archived();
    return changesNothing(current, changes) ? current : replaceVersion(ctx, definition, current, changes);
  });
}

/** Archives a resource. Others that refer to it keep their references. */
export async function archiveResource<C extends Content>(
  ctx: PrincipalContext,
  definition: Definition<C>,
  id: string,
): Promise<void> {
  await retryOnConcurrentChange(async () => {
    const current = await getResource(ctx, definition, id);
    if (current.status === 'archived') throw definition.failures.notFound();
    return insertArchivedVersion(ctx, definition, current);
  });
}

function changesNothing<C extends Content>(current: Resource<C>, { status, ...fields }: Input<C>): boolean {
  if (status !== undefined && status !== current.status) return false;
  return Object.keys(findChangedFields(current.content, fields)).length === 0;
}
