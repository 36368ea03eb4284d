import type { UserContext } from '../../context.ts';
import { type Happening, recordHappening } from '../share-activity/service.ts';
import type { ShareContext } from './store.ts';

/** Records what happened to a context. It is about the type of what the context shows, where that is one. */
export function happened(
  ctx: UserContext,
  type: Happening['type'],
  context: Pick<ShareContext, 'id' | 'name' | 'grants'>,
  details: Record<string, unknown> = {},
): void {
  const [first, ...others] = context.grants;
  const uniform = first && others.every(({ target_type }) => target_type === first.target_type);
  recordHappening(ctx, {
    type,
    shareContextId: context.id,
    ...(uniform && { target: { type: first.target_type, id: others.length === 0 ? first.target_id : null } }),
    details: { name: context.name, ...details },
  });
}
