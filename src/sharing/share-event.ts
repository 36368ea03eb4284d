import { z } from 'zod';

/** The events of shares, contexts, outsiders and embeds. */
export const SHARE_EVENT_TYPES = [
  'share.created',
  'share.updated',
  'share.revoked',
  'share.resolved',
  'share.executed',
  'share.downloaded',
  'share.denied',
  'context.created',
  'context.updated',
  'context.deleted',
  'context.grants_updated',
  'member.added',
  'member.removed',
  'auth.code_requested',
  'auth.verified',
  'auth.failed',
  'embed.generated',
  'embed.executed',
  'embed.downloaded',
  'embed.denied',
  'embed.revoked',
  'embed.key_rotated',
  'embed.signing_key_created',
  'embed.signing_key_deleted',
] as const;

export type ShareEventType = (typeof SHARE_EVENT_TYPES)[number];

/** The types of items that can be shared. */
export const TARGET_TYPES = ['dashboard', 'visualization'] as const;

export type TargetType = (typeof TARGET_TYPES)[number];

/**
 * The kinds of actors that cause an event: the company's `user` or `service_account`, an `external` person, or a token's
 * `viewer`.
 */
export const SHARE_ACTOR_KINDS = ['user', 'service_account', 'external', 'viewer', 'anonymous'] as const;

export type ShareActorKind = (typeof SHARE_ACTOR_KINDS)[number];

/** The schema of a stored event. It never holds a token, a code or a value of a parameter. */
export const shareEventSchema = z.object({
  /** The id, generated with the event: an event that is delivered twice is stored once. */
  id: z.string(),
  companyId: z.string(),
  type: z.enum(SHARE_EVENT_TYPES),
  /** The time of the event in milliseconds since the epoch. */
  occurredAt: z.int(),
  actorKind: z.enum(SHARE_ACTOR_KINDS),
  actorId: z.string().nullable(),
  actorEmail: z.string().nullable(),
  targetType: z.enum(TARGET_TYPES).nullable(),
  targetId: z.string().nullable(),
  shareId: z.string().nullable(),
  shareContextId: z.string().nullable(),
  /** The country, as an ISO 3166 code. */
  ipCountry: z.string().nullable(),
  userAgent: z.string().nullable(),
  origin: z.string().nullable(),
  correlationId: z.string(),
  /** An id that is the same for all events of one person, as far as persons can be distinguished; not shown. */
  viewer: z.string(),
  details: z.record(z.string(), z.unknown()),
});
export type ShareEvent = z.output<typeof shareEventSchema>;
