import { z } from 'zod';
import { DISABLED_REASONS, ENDPOINT_STATUSES } from '../../db/schema/webhooks.ts';
import { viewBy } from '../../http/wire.ts';
import { isoTimestamp, isoTimestampOrNull, timestamp } from '../../kernel/fields.ts';
import { DELIVERY_STATUSES, type Delivery } from '../../objects/webhook-sender.ts';
import { TRY_ERRORS } from '../../platform/webhooks.ts';
import { EVENT_TYPE_NAMES, type EventType, payloadSchema } from './event-types.ts';

export const eventTypeName = z.enum(EVENT_TYPE_NAMES).meta({ id: 'WebhookEventType' });

const status = z.enum(ENDPOINT_STATUSES);

const fields = {
  _id: z.string(),
  url: z.string(),
  description: z.string(),
  event_types: z.array(z.string()),
  status: status.meta({ description: '`disabled`: by its answers. Setting it to `active` ends that.' }),
  disabled_reason: z.enum(DISABLED_REASONS).nullable().meta({
    description: '`gone`: it answered 410. `failing`: for five days nothing but failures came.',
  }),
  created_at: timestamp,
  updated_at: timestamp,
};

export const endpointView = z.object(fields).meta({ id: 'WebhookEndpoint' });
export const viewEndpoint = viewBy(endpointView);

const secret = z
  .string()
  .meta({ description: 'Shown in this answer only. `whsec_`, then the key of HMAC-SHA256 in Base64.' });

export const createdEndpointView = z.object({ ...fields, secret }).meta({ id: 'CreatedWebhookEndpoint' });

export const rotatedSecretView = z
  .object({
    secret,
    former_until: timestamp.meta({ description: 'Until then the secret before signs along.' }),
  })
  .meta({ id: 'RotatedWebhookSecret' });

const ADDRESS_LENGTH = 2000;
const DESCRIPTION_LENGTH = 500;

const inputs = {
  url: z
    .string()
    .min(1)
    .max(ADDRESS_LENGTH)
    .meta({
      description: 'https, at a public address. Redirects are not followed.',
      examples: ['https://example.com/hooks'],
    }),
  description: z.string().max(DESCRIPTION_LENGTH),
  event_types: z
    .array(z.enum(['*', ...EVENT_TYPE_NAMES]))
    .min(1)
    .max(EVENT_TYPE_NAMES.length + 1)
    .meta({
      description:
        '`*` is all but `audit.records`, `….executed` and `….resolved`, which only those get that name them: see GET /v1/webhook-event-types.',
    }),
  status: status.meta({
    description:
      'Events of a pause are not kept for the endpoint. `disabled` cannot be set; a disabled one may keep it.',
  }),
};

export const newEndpoint = z.object({
  ...inputs,
  description: inputs.description.default(''),
  event_types: inputs.event_types.default(['*']),
  status: z.enum(['active', 'paused']).default('active'),
});

export const endpointChanges = z.object(inputs).partial();

const deliveryFields = {
  _id: z.string(),
  event_id: z.string().meta({ description: 'The `webhook-id` of each try.' }),
  event_type: z.string(),
  status: z.enum(DELIVERY_STATUSES),
  attempts: z
    .array(
      z.object({
        at: timestamp,
        status: z.int().nullable().meta({ description: 'The status of the answer; null where none came.' }),
        duration_ms: z.int(),
        error: z.enum(TRY_ERRORS).nullable(),
      }),
    )
    .meta({ description: 'The latest 50.' }),
  next_attempt_at: timestamp.nullable(),
};

export const deliveryView = z.object(deliveryFields).meta({ id: 'WebhookDelivery' });

export const viewDelivery = ({
  id,
  eventId,
  eventType,
  status: state,
  attempts,
  nextAttemptAt,
}: Delivery): z.input<typeof deliveryView> => ({
  _id: id,
  event_id: eventId,
  event_type: eventType,
  status: state,
  attempts: attempts.map(({ at, ...attempt }) => ({ at: isoTimestamp(at), ...attempt })),
  next_attempt_at: isoTimestampOrNull(nextAttemptAt),
});

export const wholeDeliveryView = z
  .object({ ...deliveryFields, body: z.string().meta({ description: 'As it is sent, byte for byte.' }) })
  .meta({ id: 'WholeWebhookDelivery' });

export const eventTypeView = z.object({
  type: eventTypeName,
  description: z.string(),
  schema: z
    .record(z.string(), z.unknown())
    .meta({ description: 'JSON Schema of what is sent: `{ type, timestamp, data }`.' }),
});

export const viewEventType = (each: EventType): z.input<typeof eventTypeView> => ({
  type: each.type,
  description: each.description,
  schema: toSchema(each),
});

/**
 * The body that is sent, as a JSON Schema that needs no other: linters and generators take a `$ref` for one to the document
 * around it.
 */
function toSchema(each: EventType): Record<string, unknown> {
  const { $defs, ...schema } = z.toJSONSchema(payloadSchema(each), { unrepresentable: 'any' });
  const whole = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(whole);
    if (typeof value !== 'object' || value === null) return value;
    const { $ref, ...members } = value as Record<string, unknown>;
    // The name of a schema, which is no longer one that is referred to; a property of that name is an object.
    if (typeof members.id === 'string') delete members.id;
    // The format says what a time is; zod's pattern for it is not read alike by all languages.
    if (members.format === 'date-time' || members.format === 'date') delete members.pattern;
    const named = typeof $ref === 'string' ? $defs?.[$ref.slice('#/$defs/'.length)] : undefined;
    return {
      ...(named && (whole(named) as object)),
      ...Object.fromEntries(Object.entries(members).map(([name, member]) => [name, whole(member)])),
    };
  };
  return whole(schema) as Record<string, unknown>;
}
