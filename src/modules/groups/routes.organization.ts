import { z } from 'zod';
import { findListDenials } from '../../access/denials.ts';
import { grantExceeds } from '../../access/failures.ts';
import { created, declareVersion, noContent, ok } from '../../http/endpoint.ts';
import { INCLUDE_DELETED_OPTION, makeListQuery, toDeletionFilter, toPageRequest } from '../../http/list-query.ts';
import { endpoint, makeListSchema, viewList } from '../../http/surfaces/organization.ts';
import { toBodyFields } from '../../http/wire.ts';
import { description, displayNameSchema } from '../../kernel/fields.ts';
import { accountNotFound } from '../accounts/failures.ts';
import { policyLimitExceeded, policyNotFound } from '../policies/failures.ts';
import { serviceAccountNotFound } from '../service-accounts/failures.ts';
import { userNotFound } from '../users/failures.ts';
import { attachPolicyToGroup, detachPolicyFromGroup } from './attachments.ts';
import {
  bindingExists,
  bindingNotFound,
  globalGroupNotDeletable,
  globalGroupNotModifiable,
  groupAlreadyDeleted,
  groupNameTaken,
  groupNotFound,
  groupSlugTaken,
  policyNotAttached,
} from './failures.ts';
import { addMember, listMembers, removeMember } from './members.ts';
import { changeGroup, createGroup, deleteGroup, getGroup, listGroups } from './service.ts';
import { groupBindingView, organizationGroupView, viewGroupBinding, viewOrganizationGroup } from './views.ts';

const groupInput = z.object({ name: displayNameSchema, description: description.default('') });
const groupChanges = z.object({ name: displayNameSchema, description }).partial();

const idInput = z.string().max(100);

const bindingInput = z
  .object({ principal_type: z.enum(['user', 'service_account']), principal_id: idInput, account_id: idInput })
  .transform(toBodyFields);

const bindingListQuery = makeListQuery(['created_at']).extend({ account_id: idInput.optional() });

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
  endpoint(
    {
      method: 'post',
      path: '/groups/{id}/bindings',
      access: 'groups:AddMember',
      operationId: 'addGroupBinding',
      summary: 'Add a binding to a group',
      description:
        'A binding makes a user or service account a member of the group within an account; for a service account, that is its own account. Refused if the group allows more than the caller may do.',
      body: bindingInput,
      attachedIdField: 'principalId',
      dryRun: true,
      returns: created(groupBindingView),
      fails: [
        groupNotFound,
        userNotFound,
        serviceAccountNotFound,
        accountNotFound,
        bindingExists,
        policyLimitExceeded,
        grantExceeds,
      ],
    },
    async ({ ctx, params, body }) => viewGroupBinding(await addMember(ctx, params.id, body)),
  ),
  endpoint(
    {
      method: 'get',
      path: '/groups/{id}/bindings',
      access: 'groups:GetGroup',
      operationId: 'listGroupBindings',
      summary: "List a group's bindings",
      description: 'Which users and service accounts are members of the group, and in which account each of them is.',
      query: bindingListQuery,
      returns: ok(makeListSchema(groupBindingView)),
      fails: [groupNotFound],
    },
    async ({ ctx, params, query }) =>
      viewList(await listMembers(ctx, params.id, query.account_id, toPageRequest(query)), viewGroupBinding),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/groups/{id}/bindings/{binding_id}',
      access: 'groups:RemoveMember',
      operationId: 'removeGroupBinding',
      summary: 'Remove a binding from a group',
      description: 'Refused if the group denies something that the caller may not do: the member would gain it.',
      dryRun: true,
      returns: noContent,
      fails: [groupNotFound, bindingNotFound, grantExceeds],
    },
    ({ ctx, params }) => removeMember(ctx, params.id, params.binding_id),
  ),
  endpoint(
    {
      method: 'post',
      path: '/groups/{id}/policies/{policy_id}',
      access: 'groups:AttachPolicy',
      operationId: 'attachOrganizationGroupPolicy',
      summary: 'Attach a policy to a group',
      description:
        'The members are allowed and denied what the policy says, from the next request on. Attaching it twice changes nothing. Refused if the policy allows more than the caller may do.',
      alsoChanges: ['attached_policies'],
      dryRun: true,
      returns: noContent,
      fails: [groupNotFound, policyNotFound, policyLimitExceeded, grantExceeds],
    },
    ({ ctx, params }) => attachPolicyToGroup(ctx, params.id, params.policy_id),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/groups/{id}/policies/{policy_id}',
      access: 'groups:DetachPolicy',
      operationId: 'detachOrganizationGroupPolicy',
      summary: 'Detach a policy from a group',
      description:
        'Members lose what only this policy allowed them. Refused if the policy denies something that the caller may not do: the members would gain it.',
      dryRun: true,
      returns: noContent,
      fails: [groupNotFound, policyNotAttached, grantExceeds],
    },
    ({ ctx, params }) => detachPolicyFromGroup(ctx, params.id, params.policy_id),
  ),
];
