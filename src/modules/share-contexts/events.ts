import type { UserContext } from '../../context.ts';
import { type NewShareEvent, recordShareEvent } from '../share-activity/service.ts';
import type { ShareContext } from './store.ts';

/** Records an event of a context. Its target is what the context shows, as far as that is of one type. */
export function recordContextEvent(
  ctx: UserContext,
  type: NewShareEvent['type'],
  context: Pick<ShareContext, 'id' | 'name' | 'grants'>,
  details: Record<string, unknown> = {},
): void {
  const [first, ...others] = context.grants;
  const uniform = first && others.every(({ target_type }) => target_type === first.target_type);
  recordShareEvent(ctx, {
    type,
    shareContextId: context.id,
    ...(uniform && { target: { type: first.target_type, id: others.length === 0 ? first.target_id : null } }),
    details: { name: context.name, ...details },
  });
}
