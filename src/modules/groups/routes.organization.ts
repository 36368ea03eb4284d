import { z } from 'zod';
import { findListDenials } from '../../access/denials.ts';
import { grantExceeds } from '../../access/failures.ts';
import { created, declareVersion, noContent, ok } from '../../http/endpoint.ts';
import { INCLUDE_DELETED_OPTION, makeListQuery, toDeletionFilter, toPageRequest } from '../../http/list-query.ts';
import { endpoint, makeListSchema, viewList } from '../../http/surfaces/organization.ts';
import { description, displayNameSchema } from '../../kernel/fields.ts';
import { createGroup } from './create.ts';
import {
  globalGroupNotDeletable,
  globalGroupNotModifiable,
  groupAlreadyDeleted,
  groupNameTaken,
  groupNotFound,
  groupSlugTaken,
} from './failures.ts';
import { changeGroup, deleteGroup, getGroup, listGroups } from './service.ts';
import { organizationGroupView, viewOrganizationGroup } from './views.ts';

const groupInput = z.object({ name: displayNameSchema, description: description.default('') });
const groupChanges = z.object({ name: displayNameSchema, description }).partial();

export const organizationGroupEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/groups',
      access: 'groups:ListGroups',
      operationId: 'listOrganizationGroups',
      summary: 'List groups',
      description: 'Lists deleted groups too with `include_deleted=true`, which only administrators may send.',
      query: makeListQuery(['created_at', 'updated_at', 'name']).extend(INCLUDE_DELETED_OPTION.query),
      returns: ok(makeListSchema(organizationGroupView)),
      ...INCLUDE_DELETED_OPTION.contract,
      fails: [],
    },
    async ({ ctx, query }) =>
      viewList(
        await listGroups(
          ctx,
          {
            deletionFilter: toDeletionFilter(query),
            denials: findListDenials(ctx.actor, 'organization_group'),
          },
          toPageRequest(query),
        ),
        viewOrganizationGroup,
      ),
  ),
  endpoint(
    {
      method: 'get',
      path: '/groups/{id}',
      access: 'groups:GetGroup',
      operationId: 'getOrganizationGroup',
      summary: 'Get a group',
      description:
        'With the ids of its attached policies and the number of its members, who are listed by its bindings.',
      returns: ok(organizationGroupView),
      versionDeclaration: declareVersion('member_count'),
      fails: [groupNotFound],
    },
    async ({ ctx, params }) => viewOrganizationGroup(await getGroup(ctx, params.id)),
  ),
  endpoint(
    {
      method: 'post',
      path: '/groups',
      access: 'groups:CreateGroup',
      operationId: 'createOrganizationGroup',
      summary: 'Create a group',
      description: 'On the console it has a slug made from its name, and no roles.',
      body: groupInput,
      dryRun: true,
      returns: created(organizationGroupView),
      fails: [groupNameTaken, groupSlugTaken],
    },
    async ({ ctx, body }) => viewOrganizationGroup(await createGroup(ctx, body)),
  ),
  endpoint(
    {
      method: 'patch',
      path: '/groups/{id}',
      access: 'groups:UpdateGroup',
      operationId: 'updateOrganizationGroup',
      summary: 'Update a group',
      description: 'A global group keeps its name and description.',
      body: groupChanges,
      returns: ok(organizationGroupView),
      fails: [groupNotFound, groupNameTaken, groupSlugTaken, globalGroupNotModifiable],
    },
    async ({ ctx, params, body }) => viewOrganizationGroup(await changeGroup(ctx, params.id, body)),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/groups/{id}',
      access: 'groups:DeleteGroup',
      operationId: 'deleteOrganizationGroup',
      summary: 'Delete a group',
      description:
        'Its memberships and attachments are removed; its members and policies stay. Refused if the group denies something that the caller may not do: its members would gain it.',
      dryRun: true,
      returns: noContent,
      fails: [groupNotFound, groupAlreadyDeleted, globalGroupNotDeletable, grantExceeds],
    },
    ({ ctx, params }) => deleteGroup(ctx, params.id),
  ),
];
