import { grantExceeds } from '../../access/failures.ts';
import type { PrincipalContext } from '../../context.ts';
import { quotaExceeded } from '../../db/failures.ts';
import { created, noContent, ok } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/directory.ts';
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
import {
  invalidFilter,
  invalidPath,
  invalidSyntax,
  invalidValue,
  readOnlyAttribute,
  targetNotFound,
} from './failures.ts';
import { listQuery, patchBody, resourceQuery, searchBody, userBody } from './fields.ts';
import { readUser, readUserPatch } from './input.ts';
import {
  type ListParameters,
  parseSearch,
  type RequestedAttributes,
  readListParameters,
  selectAttributes,
} from './list-parameters.ts';
import {
  changeDirectoryUser,
  createDirectoryUser,
  deleteUser,
  getUser,
  requireChangeableUser,
  searchUsers,
  USER_WRITE_PERMISSIONS,
} from './service.ts';
import { makeListResponse, makeListSchema, RESOURCE_VERSIONING, userView, viewUser } from './views.ts';

const selectRequestedAttributes = (fullView: object, query: unknown) =>
  selectAttributes(fullView, query as RequestedAttributes);

/** The failures of changing a user. */
const CHANGE_FAILURES = [
  userNotFound,
  emailTaken,
  externalIdTaken,
  userStillInvited,
  invitedEmailNotChangeable,
  ownerNotDeactivatable,
  ownerEmailNotChangeable,
  grantExceeds,
];

const CHANGE_CONTRACT = {
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
  const userViews = await Promise.all(userPage.records.map((user) => viewUser(ctx, user)));
  return makeListResponse(
    userViews.map((userView) => selectAttributes(userView, listParameters)),
    userPage,
    search,
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
    async ({ ctx, params }) => viewUser(ctx, await getUser(ctx, params.id)),
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
      ...CHANGE_CONTRACT,
      method: 'put',
      path: '/scim/v2/Users/{id}',
      operationId: 'replaceDirectoryUser',
      summary: 'Replace a user for a directory',
      description: 'What is not sent stays as it is. Nothing is written where nothing differs.',
      body: userBody,
      fails: [...CHANGE_FAILURES, invalidSyntax, invalidValue],
    },
    async ({ ctx, params, body }) => viewUser(ctx, await changeDirectoryUser(ctx, params.id, readUser(body))),
  ),
  endpoint(
    {
      ...CHANGE_CONTRACT,
      method: 'patch',
      path: '/scim/v2/Users/{id}',
      operationId: 'changeDirectoryUser',
      summary: 'Change a user for a directory',
      description: 'The operations are done together. Nothing is written where nothing differs.',
      body: patchBody,
      fails: [...CHANGE_FAILURES, invalidSyntax, invalidValue, invalidPath, targetNotFound, readOnlyAttribute],
    },
    async ({ ctx, params, body }) => viewUser(ctx, await changeDirectoryUser(ctx, params.id, readUserPatch(body))),
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
