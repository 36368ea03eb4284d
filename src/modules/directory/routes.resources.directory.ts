import { grantExceeds } from '../../access/failures.ts';
import type { PrincipalContext } from '../../context.ts';
import { concurrentChange, quotaExceeded } from '../../db/failures.ts';
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
import { deleteGroup } from '../groups/service.ts';
import { policyLimitExceeded } from '../policies/failures.ts';
import {
  emailTaken,
  externalIdTaken,
  invitedEmailNotChangeable,
  ownerEmailNotChangeable,
  ownerNotDeactivatable,
  ownerNotDeletable,
  userAlreadyDeleted,
  userNotFound,
  userStillInvited,
} from '../users/failures.ts';
import { deleteUser, findUserWithGroups } from '../users/service.ts';
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
import { groupBody, listQuery, patchBody, resourceQuery, searchBody, userBody } from './fields.ts';
import { readGroup, readGroupPatch, readUser, readUserPatch } from './input.ts';
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
  changeDirectoryUser,
  createDirectoryGroup,
  createDirectoryUser,
  getGroupWithMembers,
  requireChangeableUser,
  searchGroups,
  searchUsers,
  USER_WRITE_PERMISSIONS,
} from './service.ts';
import {
  groupView,
  makeListResponse,
  makeListSchema,
  RESOURCE_VERSIONING,
  userView,
  viewGroup,
  viewUser,
} from './views.ts';

const selectRequestedAttributes = (fullView: object, query: unknown) =>
  selectAttributes(fullView, query as RequestedAttributes);

const USER_CHANGE_FAILURES = [
  userNotFound,
  emailTaken,
  externalIdTaken,
  userStillInvited,
  invitedEmailNotChangeable,
  ownerNotDeactivatable,
  ownerEmailNotChangeable,
  grantExceeds,
];

const USER_CHANGE = {
  access: { decidedBy: 'users:update; for active users:activate or users:deactivate', anyOf: USER_WRITE_PERMISSIONS },
  checkPath: (ctx: PrincipalContext, { id = '' }: Record<string, string>) => requireChangeableUser(ctx, id),
  recordedAs: 'users:update',
  query: resourceQuery,
  narrowAnswer: selectRequestedAttributes,
  returns: ok(userView),
} as const;

async function listUserViews(ctx: PrincipalContext, listParameters: ListParameters) {
  const search = parseSearch(listParameters);
  const userPage = await searchUsers(ctx, search);
  return makeListResponse(
    userPage,
    search,
    listParameters,
    await Promise.all(userPage.records.map((user) => viewUser(ctx, user))),
  );
}

export const directoryUserEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/scim/v2/Users',
      access: 'users:list',
      operationId: 'listDirectoryUsers',
      summary: 'List users for a directory',
      description: 'Those of which `filter` holds. The oldest first, unless `sortBy` says otherwise.',
      query: listQuery,
      returns: ok(makeListSchema(userView)),
      fails: [invalidFilter, invalidValue],
    },
    ({ ctx, query }) => listUserViews(ctx, query),
  ),
  endpoint(
    {
      method: 'post',
      path: '/scim/v2/Users/.search',
      safe: true,
      access: 'users:list',
      operationId: 'queryDirectoryUsers',
      summary: 'Query users for a directory',
      description: 'The list, asked for by a body.',
      body: searchBody,
      bodyLimit: 64 * 1024,
      returns: ok(makeListSchema(userView)),
      fails: [invalidFilter, invalidSyntax, invalidValue],
    },
    ({ ctx, body }) => listUserViews(ctx, readListParameters(body)),
  ),
  endpoint(
    {
      method: 'get',
      path: '/scim/v2/Users/{id}',
      access: 'users:get',
      operationId: 'getDirectoryUser',
      summary: 'Get a user for a directory',
      description: 'With the groups that the user is in. Somebody who is only invited is found too, and not active.',
      query: resourceQuery,
      narrowAnswer: selectRequestedAttributes,
      returns: ok(userView),
      versionDeclaration: RESOURCE_VERSIONING,
      fails: [userNotFound],
    },
    async ({ ctx, params }) => viewUser(ctx, await findUserWithGroups(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/scim/v2/Users',
      access: 'users:invite',
      operationId: 'createDirectoryUser',
      summary: 'Create a user for a directory',
      description:
        'The user has no password, is in no group, and can sign in at once by single sign-on or a mailed code, unless `active` is false.',
      query: resourceQuery,
      body: userBody,
      narrowAnswer: selectRequestedAttributes,
      returns: created(userView),
      fails: [invalidSyntax, invalidValue, emailTaken, externalIdTaken, quotaExceeded],
    },
    async ({ ctx, body }) => viewUser(ctx, await createDirectoryUser(ctx, readUser(body))),
  ),
  endpoint(
    {
      ...USER_CHANGE,
      method: 'put',
      path: '/scim/v2/Users/{id}',
      operationId: 'replaceDirectoryUser',
      summary: 'Replace a user for a directory',
      description: 'What is not sent stays as it is. Nothing is written where nothing differs.',
      body: userBody,
      fails: [...USER_CHANGE_FAILURES, invalidSyntax, invalidValue],
    },
    async ({ ctx, params, body }) =>
      viewUser(ctx, await changeDirectoryUser(ctx, params.id, readUser(body), { isWhole: true })),
  ),
  endpoint(
    {
      ...USER_CHANGE,
      method: 'patch',
      path: '/scim/v2/Users/{id}',
      operationId: 'changeDirectoryUser',
      summary: 'Change a user for a directory',
      description: 'The operations are done together. Nothing is written where nothing differs.',
      body: patchBody,
      fails: [...USER_CHANGE_FAILURES, invalidSyntax, invalidValue, invalidPath, targetNotFound, readOnlyAttribute],
    },
    async ({ ctx, params, body }) =>
      viewUser(ctx, await changeDirectoryUser(ctx, params.id, readUserPatch(body), { isWhole: false })),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/scim/v2/Users/{id}',
      access: 'users:delete',
      operationId: 'deleteDirectoryUser',
      summary: 'Delete a user for a directory',
      description: 'Memberships are removed, and sessions end. The email address can be given to another user.',
      returns: noContent,
      fails: [userNotFound, userAlreadyDeleted, ownerNotDeletable],
    },
    ({ ctx, params }) => deleteUser(ctx, params.id),
  ),
];

/** The maximum number of bytes of a body: enough for the maximum number of members, with names and addresses. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;

const GROUP_CHANGE_FAILURES = [
  groupNameTaken,
  groupSlugTaken,
  groupExternalIdTaken,
  membersUnknown,
  policyLimitExceeded,
  grantExceeds,
  invalidSyntax,
  invalidValue,
];

const GROUP_CHANGE = {
  access: 'groups:update',
  query: resourceQuery,
  bodyLimit: MAX_BODY_BYTES,
  narrowAnswer: selectRequestedAttributes,
  returns: ok(groupView),
} as const;

async function listGroupViews(ctx: PrincipalContext, listParameters: ListParameters) {
  const search = parseSearch(listParameters);
  const groupPage = await searchGroups(ctx, search, isAttributeRequested(listParameters, 'members'));
  return makeListResponse(
    groupPage,
    search,
    listParameters,
    await Promise.all(groupPage.records.map((group) => viewGroup(ctx, group))),
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
      fails: GROUP_CHANGE_FAILURES,
    },
    async ({ ctx, body }) => viewGroup(ctx, await createDirectoryGroup(ctx, readGroup(body))),
  ),
  endpoint(
    {
      ...GROUP_CHANGE,
      method: 'put',
      path: '/scim/v2/Groups/{id}',
      operationId: 'replaceDirectoryGroup',
      summary: 'Replace a group for a directory',
      description:
        'Members that are sent replace all users in it; what is not sent stays. Nothing is written where nothing differs. Refused if the group allows, or denies, more than the caller may do.',
      body: groupBody,
      fails: [...GROUP_CHANGE_FAILURES, groupNotFound, globalGroupReadOnly, concurrentChange],
    },
    async ({ ctx, params, body }) => viewGroup(ctx, await changeDirectoryGroup(ctx, params.id, readGroup(body))),
  ),
  endpoint(
    {
      ...GROUP_CHANGE,
      method: 'patch',
      path: '/scim/v2/Groups/{id}',
      operationId: 'changeDirectoryGroup',
      summary: 'Change a group for a directory',
      description:
        'The operations are done one after the other, and stored together. Members by a value path too: `members[value eq "…"]`.',
      body: patchBody,
      fails: [
        ...GROUP_CHANGE_FAILURES,
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
