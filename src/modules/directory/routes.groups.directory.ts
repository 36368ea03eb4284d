import { grantExceeds } from '../../access/failures.ts';
import type { PrincipalContext } from '../../context.ts';
import { concurrentChange } from '../../db/failures.ts';
import { created, noContent, ok } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/directory.ts';
import {
  globalGroupNotDeletable,
  groupAlreadyDeleted,
  groupExternalIdTaken,
  groupNameTaken,
  groupNotFound,
  groupSlugTaken,
  membersUnknown,
} from '../groups/failures.ts';
import { policyLimitExceeded } from '../policies/failures.ts';
import {
  globalGroupReadOnly,
  invalidFilter,
  invalidPath,
  invalidSyntax,
  invalidValue,
  readOnlyAttribute,
  targetNotFound,
  tooManyMembers,
} from './failures.ts';
import { groupBody, listQuery, patchBody, resourceQuery, searchBody } from './fields.ts';
import { readGroup, readGroupPatch } from './input.ts';
import {
  isAttributeRequested,
  type ListParameters,
  parseSearch,
  type RequestedAttributes,
  readListParameters,
  selectAttributes,
} from './list-parameters.ts';
import {
  changeDirectoryGroup,
  createDirectoryGroup,
  deleteGroup,
  getGroupWithMembers,
  searchGroups,
} from './service.ts';
import { groupView, makeListResponse, makeListSchema, RESOURCE_VERSIONING, viewGroup } from './views.ts';

const selectRequestedAttributes = (fullView: object, query: unknown) =>
  selectAttributes(fullView, query as RequestedAttributes);

/** The maximum number of bytes of a body: enough for the maximum number of members, with names and addresses. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;

const CHANGE_FAILURES = [
  groupNameTaken,
  groupSlugTaken,
  groupExternalIdTaken,
  membersUnknown,
  policyLimitExceeded,
  grantExceeds,
  invalidSyntax,
  invalidValue,
];

const CHANGE_CONTRACT = {
  access: 'groups:update',
  query: resourceQuery,
  bodyLimit: MAX_BODY_BYTES,
  narrowAnswer: selectRequestedAttributes,
  returns: ok(groupView),
} as const;

async function listGroupViews(ctx: PrincipalContext, listParameters: ListParameters) {
  const search = parseSearch(listParameters);
  const groupPage = await searchGroups(ctx, search, isAttributeRequested(listParameters, 'members'));
  const groupViews = await Promise.all(groupPage.records.map((group) => viewGroup(ctx, group)));
  return makeListResponse(
    groupViews.map((groupView) => selectAttributes(groupView, listParameters)),
    groupPage,
    search,
  );
}

export const directoryGroupEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/scim/v2/Groups',
      access: 'groups:list',
      operationId: 'listDirectoryGroups',
      summary: 'List groups for a directory',
      description:
        'Those of which `filter` holds, with the users in them. Many members make it slow: `excludedAttributes=members` leaves them out.',
      query: listQuery,
      returns: ok(makeListSchema(groupView)),
      fails: [invalidFilter, invalidValue, tooManyMembers],
    },
    ({ ctx, query }) => listGroupViews(ctx, query),
  ),
  endpoint(
    {
      method: 'post',
      path: '/scim/v2/Groups/.search',
      safe: true,
      access: 'groups:list',
      operationId: 'queryDirectoryGroups',
      summary: 'Query groups for a directory',
      description: 'The list of groups, asked for by a body.',
      body: searchBody,
      bodyLimit: 64 * 1024,
      returns: ok(makeListSchema(groupView)),
      fails: [invalidFilter, invalidSyntax, invalidValue, tooManyMembers],
    },
    ({ ctx, body }) => listGroupViews(ctx, readListParameters(body)),
  ),
  endpoint(
    {
      method: 'get',
      path: '/scim/v2/Groups/{id}',
      access: 'groups:get',
      operationId: 'getDirectoryGroup',
      summary: 'Get a group for a directory',
      description: 'With the users who are in it on the console. Service accounts in it are not shown.',
      query: resourceQuery,
      narrowAnswer: selectRequestedAttributes,
      returns: ok(groupView),
      versionDeclaration: RESOURCE_VERSIONING,
      fails: [groupNotFound, tooManyMembers],
    },
    async ({ ctx, params, query }) =>
      viewGroup(ctx, await getGroupWithMembers(ctx, params.id, !isAttributeRequested(query, 'members'))),
  ),
  endpoint(
    {
      method: 'post',
      path: '/scim/v2/Groups',
      access: 'groups:create',
      operationId: 'createDirectoryGroup',
      summary: 'Create a group for a directory',
      description: 'It allows nothing before a policy is attached to it. At most 20,000 members.',
      query: resourceQuery,
      body: groupBody,
      bodyLimit: MAX_BODY_BYTES,
      narrowAnswer: selectRequestedAttributes,
      returns: created(groupView),
      fails: CHANGE_FAILURES,
    },
    async ({ ctx, body }) => viewGroup(ctx, await createDirectoryGroup(ctx, readGroup(body))),
  ),
  endpoint(
    {
      ...CHANGE_CONTRACT,
      method: 'put',
      path: '/scim/v2/Groups/{id}',
      operationId: 'replaceDirectoryGroup',
      summary: 'Replace a group for a directory',
      description:
        'Members that are sent replace all users in it; what is not sent stays. Nothing is written where nothing differs. Refused if the group allows, or denies, more than the caller may do.',
      body: groupBody,
      fails: [...CHANGE_FAILURES, groupNotFound, globalGroupReadOnly, concurrentChange],
    },
    async ({ ctx, params, body }) => viewGroup(ctx, await changeDirectoryGroup(ctx, params.id, readGroup(body))),
  ),
  endpoint(
    {
      ...CHANGE_CONTRACT,
      method: 'patch',
      path: '/scim/v2/Groups/{id}',
      operationId: 'changeDirectoryGroup',
      summary: 'Change a group for a directory',
      description:
        'The operations are done one after the other, and stored together. Members by a value path too: `members[value eq "…"]`.',
      body: patchBody,
      fails: [
        ...CHANGE_FAILURES,
        groupNotFound,
        globalGroupReadOnly,
        concurrentChange,
        invalidPath,
        invalidFilter,
        targetNotFound,
        readOnlyAttribute,
      ],
    },
    async ({ ctx, params, body }) => viewGroup(ctx, await changeDirectoryGroup(ctx, params.id, readGroupPatch(body))),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/scim/v2/Groups/{id}',
      access: 'groups:delete',
      operationId: 'deleteDirectoryGroup',
      summary: 'Delete a group for a directory',
      description: 'Its members stay. Refused if it denies something that the caller may not do: they would gain it.',
      returns: noContent,
      fails: [groupNotFound, groupAlreadyDeleted, globalGroupNotDeletable, grantExceeds],
    },
    ({ ctx, params }) => deleteGroup(ctx, params.id),
  ),
];
