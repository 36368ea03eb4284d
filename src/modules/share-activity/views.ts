import { z } from 'zod';
import { makeView } from '../../http/wire.ts';
import { timestampSchema } from '../../kernel/fields.ts';
import { SHARE_ACTOR_KINDS, SHARE_EVENT_TYPES, type ShareEvent, TARGET_TYPES } from '../../sharing/share-event.ts';

/** An event of a share, context or embed. */
export const shareEventView = z
  .object({
    id: z.string(),
    type: z.enum(SHARE_EVENT_TYPES),
    occurred_at: timestampSchema,
    actor: z.object({ kind: z.enum(SHARE_ACTOR_KINDS), id: z.string().nullable(), email: z.string().nullable() }),
    target_type: z.enum(TARGET_TYPES).nullable(),
    target_id: z.string().nullable(),
    share_id: z.string().nullable(),
    share_context_id: z.string().nullable(),
    ip_country: z.string().nullable(),
    user_agent: z.string().nullable(),
    origin: z.string().nullable(),
    correlation_id: z.string().meta({ description: 'The `x-correlation-id` of the answer.' }),
    details: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'ShareEvent' });

const viewShareEventRecord = makeView(shareEventView);

export const viewShareEvent = (event: ShareEvent) =>
  viewShareEventRecord({ ...event, actor: { kind: event.actorKind, id: event.actorId, email: event.actorEmail } });
