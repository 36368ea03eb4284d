import { z } from 'zod';
import { created, noContent, ok } from '../../http/endpoint.ts';
import { listQuery, pageRequest } from '../../http/list-query.ts';
import { endpoint, list, listOf } from '../../http/surfaces/organization.ts';
import { attachPolicyToGroup, detachPolicyFromGroup } from './attachments.ts';
import { addMember, listMembers, removeMember } from './members.ts';
import { groupBindingView, viewGroupBinding } from './views.ts';

const anId = z.string().max(100);

const bindingInput = z
  .object({ principal_type: z.enum(['user', 'service_account']), principal_id: anId, account_id: anId })
  .transform(({ principal_type, principal_id, account_id }) => ({
    principalType: principal_type,
    principalId: principal_id,
    accountId: account_id,
  }));

const bindingListQuery = listQuery(['created_at']).extend({ account_id: anId.optional() });

export const groupMemberEndpoints = [
  endpoint(
    {
      method: 'post',
      path: '/groups/{id}/bindings',
      access: 'groups:AddMember',
      summary: 'Put a user or service account into a group, within an account',
      description:
        'A service account is bound within its own account. 403 when the group may do more than the caller; 409 when the principal is bound so already.',
      body: bindingInput,
      attaches: 'principalId',
      returns: created(groupBindingView),
    },
    async ({ ctx, params, body }) => viewGroupBinding(await addMember(ctx, params.id, body)),
  ),
  endpoint(
    {
      method: 'get',
      path: '/groups/{id}/bindings',
      access: 'groups:GetGroup',
      summary: 'List the bindings of a group',
      query: bindingListQuery,
      returns: ok(listOf(groupBindingView)),
    },
    async ({ ctx, params, query }) =>
      list(await listMembers(ctx, params.id, query.account_id, pageRequest(query)), viewGroupBinding),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/groups/{id}/bindings/{binding_id}',
      access: 'groups:RemoveMember',
      summary: 'Remove a binding from a group',
      description: '403 when the group denies what the caller may not do: the member would gain that.',
      returns: noContent,
    },
    ({ ctx, params }) => removeMember(ctx, params.id, params.binding_id),
  ),
  endpoint(
    {
      method: 'post',
      path: '/groups/{id}/policies/{policy_id}',
      access: 'groups:AttachPolicy',
      summary: 'Attach a policy to a group',
      description: 'Attaching twice changes nothing. 403 when the policy allows more than the caller may.',
      returns: noContent,
    },
    ({ ctx, params }) => attachPolicyToGroup(ctx, params.id, params.policy_id),
  ),
  endpoint(
    {
      method: 'delete',
      path: '/groups/{id}/policies/{policy_id}',
      access: 'groups:DetachPolicy',
      summary: 'Detach a policy from a group',
      description: '403 when the policy denies what the caller may not do: the members would gain that.',
      returns: noContent,
    },
    ({ ctx, params }) => detachPolicyFromGroup(ctx, params.id, params.policy_id),
  ),
];
