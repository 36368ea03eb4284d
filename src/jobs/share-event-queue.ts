import { z } from 'zod';
import type { Bindings } from '../config.ts';
import { SHARE_ACTOR_KINDS, SHARE_EVENT_TYPES, type ShareEvent, TARGET_TYPES } from '../sharing/share-event.ts';
import { keepBatch } from './keep-batch.ts';

/** An event as it goes through the queue. */
export const shareEventMessage = z.object({
  id: z.string(),
  companyId: z.string(),
  type: z.enum(SHARE_EVENT_TYPES),
  occurredAt: z.int(),
  actorKind: z.enum(SHARE_ACTOR_KINDS),
  actorId: z.string().nullable(),
  actorEmail: z.string().nullable(),
  targetType: z.enum(TARGET_TYPES).nullable(),
  targetId: z.string().nullable(),
  shareId: z.string().nullable(),
  shareContextId: z.string().nullable(),
  ipCountry: z.string().nullable(),
  userAgent: z.string().nullable(),
  origin: z.string().nullable(),
  correlationId: z.string(),
  viewer: z.string(),
  details: z.record(z.string(), z.unknown()),
}) satisfies z.ZodType<ShareEvent>;

/** Keeps events that their log did not take at once, those of each company by themselves. */
export const consumeShareEvents = (batch: MessageBatch, env: Bindings): Promise<void> =>
  keepBatch('share', batch, shareEventMessage, env);
