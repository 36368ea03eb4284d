import { z } from 'zod';
import type { PrincipalContext } from '../../context.ts';
import { concurrentChange } from '../../db/failures.ts';
import { created, declareVersion, noContent, ok } from '../../http/endpoint.ts';
import { makeSortedListQuery, toSortedRequest } from '../../http/list-query.ts';
import { endpoint, makeListSchema, viewList } from '../../http/surfaces/sharing.ts';
import { makeView } from '../../http/wire.ts';
import { description, displayNameSchema, email, slugSchema, timestampSchema } from '../../kernel/fields.ts';
import { TARGET_TYPES } from '../../sharing/share-event.ts';
import { dashboardNotFound } from '../dashboards/failures.ts';
import { groupNotFound } from '../groups/failures.ts';
import { userNotFound } from '../users/failures.ts';
import { filterPoliciesField, viewerAttributesField } from '../viewing/views.ts';
import { visualizationNotFound } from '../visualizations/failures.ts';
import { memberExists, memberNotFound, shareContextNotFound, shareContextSlugTaken } from './failures.ts';
import {
  addMember,
  getMemberId,
  listMembers,
  removeMember,
  requireContextToAddMember,
  type ShareMember,
} from './members.ts';
import {
  changeContext,
  createContext,
  deleteContext,
  getContext,
  listContexts,
  replaceContextGrants,
  requireMayShareSomeType,
  requireSharableContext,
} from './service.ts';

const MAX_GRANTS = 100;

const grantInput = z
  .object({
    target_type: z.enum(TARGET_TYPES),
    target_id: z.string().min(1).max(64),
    filter_policies: filterPoliciesField.default([]),
  })
  .meta({ id: 'ShareGrant' });

const grantsInput = z.array(grantInput).max(MAX_GRANTS);

const contextView = z
  .object({
    id: z.string(),
    name: z.string(),
    slug: z.string(),
    description: z.string(),
    grants: grantsInput,
    member_count: z.int(),
    created_at: timestampSchema,
    updated_at: timestampSchema,
  })
  .meta({ id: 'ShareContext' });

const viewContext = makeView(contextView);

const memberView = z
  .object({
    id: z.string(),
    member_type: z.enum(['internal_user', 'group', 'external_email']),
    member_id: z.string().nullable().meta({ description: 'The id of the user or group; null for an outsider.' }),
    name: z.string().optional().meta({ description: 'The name of the user or group; left out for an outsider.' }),
    email: z.string().nullable().meta({ description: 'The email address of the user or outsider; null for a group.' }),
    attributes: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: 'Attributes that decide what the member sees; left out if there are none.' }),
    created_at: timestampSchema,
  })
  .meta({ id: 'ShareMember' });

const viewMemberRecord = makeView(memberView);
const viewMember = (member: ShareMember) =>
  viewMemberRecord({
    ...member,
    memberId: getMemberId(member),
    name: member.name ?? undefined,
    attributes: member.attributes ?? undefined,
  });

const memberIdField = z.string().min(1).max(64);
const attributesField = viewerAttributesField.default({});
const newMemberInput = z
  .discriminatedUnion('member_type', [
    z.object({ member_type: z.literal('external_email'), email, attributes: attributesField }),
    z.object({ member_type: z.literal('internal_user'), member_id: memberIdField, attributes: attributesField }),
    z.object({ member_type: z.literal('group'), member_id: memberIdField, attributes: attributesField }),
  ])
  .transform(({ member_type: memberType, attributes, ...body }) => ({
    memberType,
    subject: 'email' in body ? body.email : body.member_id,
    attributes,
  }));

const CONTEXT_ACCESS = {
  decidedBy: 'the share permission of every target type granted; either of them without grants',
  anyOf: ['dashboards:share', 'visualizations:share'],
} as const;
/** The access for reading or changing a context: for callers who may share all of its targets and are denied seeing none. */
const VISIBLE_CONTEXT = {
  access: CONTEXT_ACCESS,
  checkPath: (ctx: PrincipalContext, { id = '' }: Record<string, string>) => getContext(ctx, id),
} as const;
/**
 * The access for deleting a context or removing a member from it: also for a caller who is denied seeing one of its targets, the
 * dashboards and visualizations that it shares.
 */
const REVOCABLE_CONTEXT = {
  access: CONTEXT_ACCESS,
  checkPath: (ctx: PrincipalContext, { id = '' }: Record<string, string>) => requireSharableContext(ctx, id),
} as const;
const path = '/api/v1/share-contexts';

export const shareContextEndpoints = [
  endpoint(
    {
      method: 'get',
      path,
      access: CONTEXT_ACCESS,
      checkPath: requireMayShareSomeType,
      operationId: 'listShareContexts',
      summary: 'List share contexts',
      description:
        'Contexts of which the caller may share everything. The newest first, unless `sort_by` says otherwise.',
      query: makeSortedListQuery({
        searchedField: 'the name',
        fields: ['name', 'created_at'],
        defaultOrdering: '-created_at',
      }),
      returns: ok(makeListSchema(contextView)),
      fails: [],
    },
    async ({ ctx, query }) => viewList(await listContexts(ctx, toSortedRequest(query)), viewContext),
  ),
  endpoint(
    {
      method: 'post',
      path,
      access: CONTEXT_ACCESS,
      operationId: 'createShareContext',
      summary: 'Create a share context',
      description:
        'A circle of people of the company and outsiders, with the dashboards and visualizations that they may see in the portal. Nobody grants what they may not share themselves.',
      body: z.object({
        name: displayNameSchema,
        slug: slugSchema.optional(),
        description: description.default(''),
        grants: grantsInput.default([]),
      }),
      returns: created(contextView),
      fails: [shareContextSlugTaken, dashboardNotFound, visualizationNotFound, concurrentChange],
    },
    async ({ ctx, body }) => viewContext(await createContext(ctx, body)),
  ),
  endpoint(
    {
      ...VISIBLE_CONTEXT,
      method: 'get',
      path: `${path}/{id}`,
      operationId: 'getShareContext',
      summary: 'Get a share context',
      description: 'With its grants and the number of its members, who have a list of their own.',
      returns: ok(contextView),
      versionDeclaration: declareVersion('member_count'),
      fails: [shareContextNotFound],
    },
    async ({ ctx, params }) => viewContext(await getContext(ctx, params.id)),
  ),
  endpoint(
    {
      ...VISIBLE_CONTEXT,
      method: 'put',
      path: `${path}/{id}`,
      operationId: 'updateShareContext',
      summary: 'Update a share context',
      description:
        'Changes only what is sent of its name, slug and description. Grants and members have routes of their own.',
      body: z.object({ name: displayNameSchema, slug: slugSchema, description }).partial(),
      returns: ok(contextView),
      fails: [shareContextNotFound, shareContextSlugTaken, concurrentChange],
    },
    async ({ ctx, params, body }) => viewContext(await changeContext(ctx, params.id, body)),
  ),
  endpoint(
    {
      ...VISIBLE_CONTEXT,
      method: 'put',
      path: `${path}/{id}/grants`,
      operationId: 'replaceShareContextGrants',
      summary: 'Replace the grants of a share context',
      description:
        'All grants at once: members no longer see what is left out. `If-Match` takes the version of the context.',
      body: z.object({ grants: grantsInput }),
      returns: ok(contextView),
      versionPath: `${path}/{id}`,
      fails: [shareContextNotFound, dashboardNotFound, visualizationNotFound, concurrentChange],
    },
    async ({ ctx, params, body }) => viewContext(await replaceContextGrants(ctx, params.id, body.grants)),
  ),
  endpoint(
    {
      ...REVOCABLE_CONTEXT,
      method: 'delete',
      path: `${path}/{id}`,
      operationId: 'deleteShareContext',
      summary: 'Delete a share context',
      description: 'Its shares are revoked.',
      returns: noContent,
      fails: [shareContextNotFound, concurrentChange],
    },
    ({ ctx, params }) => deleteContext(ctx, params.id),
  ),
  endpoint(
    {
      ...VISIBLE_CONTEXT,
      method: 'get',
      path: `${path}/{id}/members`,
      operationId: 'listShareContextMembers',
      summary: 'List the members of a share context',
      description: 'In the order in which they were added, unless `sort_by` says otherwise.',
      query: makeSortedListQuery({
        searchedField: 'the name or email address',
        fields: ['name', 'created_at'],
        defaultOrdering: 'created_at',
      }),
      returns: ok(makeListSchema(memberView)),
      fails: [shareContextNotFound],
    },
    async ({ ctx, params, query }) => viewList(await listMembers(ctx, params.id, toSortedRequest(query)), viewMember),
  ),
  endpoint(
    {
      method: 'post',
      path: `${path}/{id}/members`,
      access: CONTEXT_ACCESS,
      operationId: 'addShareContextMember',
      summary: 'Add a member to a share context',
      description: 'A user or group of the company, or the email address of an outsider.',
      body: newMemberInput,
      exactNumbers: 'text',
      attachedIdField: 'subject',
      checkPath: (ctx, { id = '' }) => requireContextToAddMember(ctx, id),
      returns: created(memberView),
      fails: [shareContextNotFound, userNotFound, groupNotFound, memberExists, concurrentChange],
    },
    async ({ ctx, params, body }) => viewMember(await addMember(ctx, params.id, body)),
  ),
  endpoint(
    {
      ...REVOCABLE_CONTEXT,
      method: 'delete',
      path: `${path}/{id}/members/{memberId}`,
      operationId: 'removeShareContextMember',
      summary: 'Remove a member from a share context',
      description: 'The member sees nothing of the context from the next request on.',
      returns: noContent,
      fails: [shareContextNotFound, memberNotFound],
    },
    ({ ctx, params }) => removeMember(ctx, params.id, params.memberId),
  ),
];
