import { z } from 'zod';
import { grantExceeds } from '../../access/failures.ts';
import { created, noContent, ok } from '../../http/endpoint.ts';
import { makeListQuery, toPageRequest } from '../../http/list-query.ts';
import { endpoint, makeListSchema, viewList } from '../../http/surfaces/organization.ts';
import { toBodyFields } from '../../http/wire.ts';
import { accountNotFound } from '../accounts/failures.ts';
import { policyLimitExceeded, policyNotFound } from '../policies/failures.ts';
import { serviceAccountNotFound } from '../service-accounts/failures.ts';
import { userNotFound } from '../users/failures.ts';
import { attachPolicyToGroup, detachPolicyFromGroup } from './attachments.ts';
import { bindingExists, bindingNotFound, groupNotFound, policyNotAttached } from './failures.ts';
import { addMember, listMembers, removeMember } from './members.ts';
import { groupBindingView, viewGroupBinding } from './views.ts';

const idInput = z.string().max(100);

const bindingInput = z
  .object({ principal_type: z.enum(['user', 'service_account']), principal_id: idInput, account_id: idInput })
  .transform(toBodyFields);

const bindingListQuery = makeListQuery(['created_at']).extend({ account_id: idInput.optional() });

export const groupMemberEndpoints = [
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
