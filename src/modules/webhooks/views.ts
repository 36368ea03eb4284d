import { z } from 'zod';
import { DISABLED_REASONS, ENDPOINT_STATUSES } from '../../db/schema/webhooks.ts';
import { makeView } from '../../http/wire.ts';
import { formatIsoTimestamp, timestampSchema } from '../../kernel/fields.ts';
import { DELIVERY_STATUSES, type Delivery } from '../../objects/webhook-sender.ts';
import { ATTEMPT_ERRORS } from '../../platform/webhooks.ts';
import { EVENT_TYPE_NAMES, type EventType, makePayloadSchema } from './event-types.ts';

export const eventTypeNameField = z.enum(EVENT_TYPE_NAMES).meta({ id: 'WebhookEventType' });

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
  created_at: timestampSchema,
  updated_at: timestampSchema,
};

export const endpointView = z.object(fields).meta({ id: 'WebhookEndpoint' });
export const viewEndpoint = makeView(endpointView);

const secretField = z
  .string()
  .meta({ description: 'Shown in this answer only. `whsec_`, then the key of HMAC-SHA256 in Base64.' });

export const createdEndpointView = z.object({ ...fields, secret: secretField }).meta({ id: 'CreatedWebhookEndpoint' });

export const rotatedSecretView = z
  .object({
    secret: secretField,
    former_until: timestampSchema.meta({ description: 'Until then the secret before signs along.' }),
  })
  .meta({ id: 'RotatedWebhookSecret' });

const MAX_URL_LENGTH = 2000;
const MAX_DESCRIPTION_LENGTH = 500;

const endpointFields = {
  url: z
    .string()
    .min(1)
    .max(MAX_URL_LENGTH)
    .meta({
      description: 'https, at a public address. Redirects are not followed.',
      examples: ['https://example.com/hooks'],
    }),
  description: z.string().max(MAX_DESCRIPTION_LENGTH),
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

export const newEndpointInput = z.object({
  ...endpointFields,
  description: endpointFields.description.default(''),
  event_types: endpointFields.event_types.default(['*']),
  status: z.enum(['active', 'paused']).default('active'),
});

export const endpointChangesInput = z.object(endpointFields).partial();

const deliveryFields = {
  _id: z.string(),
  event_id: z.string().meta({ description: 'The `webhook-id` of each try.' }),
  event_type: z.string(),
  status: z.enum(DELIVERY_STATUSES),
  attempts: z
    .array(
      z.object({
        at: timestampSchema,
        status: z.int().nullable().meta({ description: 'The status of the answer; null where none came.' }),
        duration_ms: z.int(),
        error: z.enum(ATTEMPT_ERRORS).nullable().meta({
          description: '`interim_answer`: a status below 200 came first, and what follows it cannot be read.',
        }),
      }),
    )
    .meta({ description: 'The latest 50.' }),
  next_attempt_at: timestampSchema.nullable(),
};

export const deliveryView = z.object(deliveryFields).meta({ id: 'WebhookDelivery' });

const viewDeliveryRecord = makeView(deliveryView);
export const viewDelivery = ({ attempts, ...delivery }: Delivery) =>
  viewDeliveryRecord({
    ...delivery,
    attempts: attempts.map(({ at, ...attempt }) => ({ at: formatIsoTimestamp(at), ...attempt })),
  });

export const deliveryWithBodyView = z
  .object({ ...deliveryFields, body: z.string().meta({ description: 'As it is sent, byte for byte.' }) })
  .meta({ id: 'WholeWebhookDelivery' });

export const eventTypeView = z.object({
  type: eventTypeNameField,
  description: z.string(),
  schema: z
    .record(z.string(), z.unknown())
    .meta({ description: 'JSON Schema of what is sent: `{ type, timestamp, data }`.' }),
});

const viewEventTypeRecord = makeView(eventTypeView);
export const viewEventType = (eventType: EventType) =>
  viewEventTypeRecord({ ...eventType, schema: makeBodySchema(eventType) });

/** Makes the JSON Schema of the sent body, without a `$ref`, which linters would resolve in the document around it. */
function makeBodySchema(eventType: EventType): Record<string, unknown> {
  const { $defs, ...schema } = z.toJSONSchema(makePayloadSchema(eventType), { unrepresentable: 'any' });
  const inlineReferences = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inlineReferences);
    if (typeof value !== 'object' || value === null) return value;
    const { $ref, ...members } = value as Record<string, unknown>;
    // The name of a schema, which is no longer one that is referred to; a property of that name is an object.
    if (typeof members.id === 'string') delete members.id;
    // The format says what a time is; zod's pattern for it is not read alike by all languages.
    if (members.format === 'date-time' || members.format === 'date') delete members.pattern;
    const referencedSchema = typeof $ref === 'string' ? $defs?.[$ref.slice('#/$defs/'.length)] : undefined;
    return {
      ...(referencedSchema && (inlineReferences(referencedSchema) as object)),
      ...Object.fromEntries(Object.entries(members).map(([name, member]) => [name, inlineReferences(member)])),
    };
  };
  return inlineReferences(schema) as Record<string, unknown>;
}
