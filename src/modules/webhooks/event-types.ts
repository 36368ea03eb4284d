import { z } from 'zod';
import { timestampSchema } from '../../kernel/fields.ts';
import { SHARE_EVENT_TYPES, type ShareEventType } from '../../sharing/share-event.ts';
import { CONCEPTS, type EventConcept } from './events/views.ts';

/** The event type of batches of the audit trail. */
export const AUDIT_RECORDS_TYPE = 'audit.records';

const OWN_EVENT_TYPES = {
  'user.created': ['user', 'A user was made who needed no invitation, such as one who came by single sign-on.'],
  'user.invited': ['user', 'A user was invited, or invited again.'],
  'user.updated': ['user', 'The name, address or teams of a user were changed.'],
  'user.activated': ['user', 'A user who was deactivated may sign in again.'],
  'user.deactivated': ['user', 'A user may not sign in any more.'],
  'user.deleted': ['user', 'A user was deleted, or an invitation taken back.'],
  'invitation.accepted': ['user', 'An invited user joined.'],
  'group.created': ['group', 'A group was made.'],
  'group.updated': ['group', 'A group was changed, or the permissions of the former model that it lists.'],
  'group.deleted': ['group', 'A group was deleted.'],
  'group.member_added': ['membership', 'A user or service account became a member of a group.'],
  'group.member_removed': ['membership', 'A user or service account is no member of a group any more.'],
  'policy.created': ['policy', 'A policy was made.'],
  'policy.updated': ['policy', 'A policy was changed.'],
  'policy.deleted': ['policy', 'A policy was deleted.'],
  'policy.attached': ['attachment', 'A policy was attached to a group.'],
  'policy.detached': ['attachment', 'A policy was detached from a group.'],
  'service_account.created': ['serviceAccount', 'A service account was made.'],
  'service_account.updated': ['serviceAccount', 'A service account was changed.'],
  'service_account.deleted': ['serviceAccount', 'A service account was deleted.'],
  'api_key.issued': ['apiKey', 'A key was made for a service account.'],
  'api_key.revoked': ['apiKey', 'A key does not work any more.'],
  'company.updated': ['company', 'The name, settings, branding or ways of signing in of the company were changed.'],
  'table.created': ['table', 'A table was made.'],
  'table.updated': ['table', 'The name or columns of a table were changed.'],
  'table.deleted': ['table', 'A table was deleted.'],
  'table.restored': ['table', 'A deleted table is back.'],
  'table.truncated': ['table', 'All rows of a table were removed.'],
  'upload.waiting_confirm': ['upload', 'The files of an upload were read: it waits for its confirmation.'],
  'upload.done': ['upload', 'The rows of an upload are in their table.'],
  'upload.failed': ['upload', 'An upload failed, was cancelled, or waited too long for its confirmation.'],
  'upload.undone': ['upload', 'An upload was taken back.'],
  'data_job.done': ['dataJob', 'The result of a job of the Data API can be downloaded.'],
  'data_job.failed': ['dataJob', 'A job of the Data API failed.'],
  'schedule.sent': ['schedule', 'A schedule sent its mails.'],
  'schedule.failed': ['schedule', 'A schedule was due, and could send nothing.'],
  'schedule.paused': ['schedule', 'A schedule was paused, by somebody or after it failed three times.'],
  'suggestion.created': ['suggestion', 'A change of domain knowledge was suggested.'],
  'suggestion.accepted': ['suggestion', 'A suggestion was accepted.'],
  'suggestion.rejected': ['suggestion', 'A suggestion was rejected.'],
  'suggestion.superseded': ['suggestion', 'A suggestion was replaced by a newer one.'],
  'knowledge_job.done': ['knowledgeJob', 'A job that generates domain knowledge ended.'],
  'knowledge_job.failed': ['knowledgeJob', 'A job that generates domain knowledge failed.'],
  'knowledge_job.cancelled': ['knowledgeJob', 'A job that generates domain knowledge was cancelled.'],
  [AUDIT_RECORDS_TYPE]: [
    'auditRecords',
    'Records of the audit trail, in batches. Only endpoints that name it get them.',
  ],
} as const satisfies Record<string, readonly [keyof typeof CONCEPTS, string]>;

const ONLY_NAMED_NOTE = 'Only endpoints that name it get it.';

/** The descriptions of the events of shares and embeds, the same as in the list of share events. */
const SHARE_EVENT_DESCRIPTIONS: Record<ShareEventType, string> = {
  'share.created': 'A dashboard was shared.',
  'share.updated': 'A share was changed.',
  'share.revoked': 'A share was ended.',
  'share.resolved': `A share was opened. ${ONLY_NAMED_NOTE}`,
  'share.executed': `A shared dashboard was executed. ${ONLY_NAMED_NOTE}`,
  'share.downloaded': 'The data of a shared dashboard was downloaded.',
  'share.denied': 'A viewer of a share was refused.',
  'context.created': 'A share context was made.',
  'context.updated': 'A share context was changed.',
  'context.deleted': 'A share context was deleted.',
  'context.grants_updated': 'What a share context shows was changed.',
  'member.added': 'A member was added to a share context.',
  'member.removed': 'A member was taken off a share context.',
  'auth.code_requested': 'A person from outside asked for a code for the portal.',
  'auth.verified': 'A person from outside signed in to the portal.',
  'auth.failed': 'A code for the portal was wrong.',
  'embed.generated': 'An embed token was made.',
  'embed.executed': `Something embedded was executed. ${ONLY_NAMED_NOTE}`,
  'embed.downloaded': 'The data of something embedded was downloaded.',
  'embed.denied': 'A viewer of something embedded was refused.',
  'embed.revoked': 'Embed tokens were ended.',
  'embed.key_rotated': 'All embed tokens were ended.',
  'embed.signing_key_created': 'A key that signs embed tokens was made.',
  'embed.signing_key_deleted': 'A key that signs embed tokens was deleted.',
};

/** The event types that `*` does not include, as such events are many: an endpoint must name them. */
const EXCLUDED_TYPES_PATTERN = /^audit\.|\.(?:executed|resolved)$/;

export type OwnEventType = keyof typeof OWN_EVENT_TYPES;
export type EventTypeName = OwnEventType | ShareEventType;

/** A type of event, with its description. */
export interface EventType extends EventConcept {
  type: EventTypeName;
  description: string;
}

/** All types of events. The list, OpenAPI's `webhooks`, the client's types and the tests are generated from this. */
export const EVENT_TYPES: readonly EventType[] = [
  ...Object.entries(OWN_EVENT_TYPES).map(([type, [concept, description]]) => ({
    ...CONCEPTS[concept],
    type: type as OwnEventType,
    description,
  })),
  ...SHARE_EVENT_TYPES.map((type) => ({
    ...CONCEPTS.shareEvent,
    example: { ...CONCEPTS.shareEvent.example, type },
    type,
    description: SHARE_EVENT_DESCRIPTIONS[type],
  })),
].sort((a, b) => (a.type < b.type ? -1 : 1));

export const EVENT_TYPE_NAMES = EVENT_TYPES.map(({ type }) => type) as [EventTypeName, ...EventTypeName[]];

const EVENT_TYPES_BY_NAME = new Map<string, EventType>(EVENT_TYPES.map((eventType) => [eventType.type, eventType]));

/** Finds an event type by its name. @throws if the type is unknown: another version of the program stored the event */
export function findEventType(name: string): EventType {
  const eventType = EVENT_TYPES_BY_NAME.get(name);
  if (!eventType) throw new Error(`There is no event type ${name}.`);
  return eventType;
}

/** Tells whether an endpoint with these types gets events of a type. */
export const isWantedType = (eventTypes: readonly string[], type: string): boolean =>
  eventTypes.includes(type) || (eventTypes.includes('*') && !EXCLUDED_TYPES_PATTERN.test(type));

/** Tells whether a type is that of a share event, which the company's log stores. */
export const isShareEventType = (type: string): boolean => (SHARE_EVENT_TYPES as readonly string[]).includes(type);

/** Makes the schema of the body that is sent to an endpoint. */
export const makePayloadSchema = ({ type, data }: EventType) =>
  z.object({ type: z.literal(type), timestamp: timestampSchema, data });
