import { commitAccess, makeAffectedEverybody } from '../../access/commit-access.ts';
import { requireMayGrant, toDenialGrants } from '../../access/grants.ts';
import type { PrincipalContext } from '../../context.ts';
import { readTogether } from '../../db/client.ts';
import { findManagedPolicyById } from '../../permissions/managed-policies.ts';
import type { PolicyDocument } from '../../permissions/policy-document.ts';
import { isHiddenPolicy, policyNotFound, selectPolicy, toOwnPolicy } from '../policies/service.ts';
import { groupNotFound, policyNotAttached } from './failures.ts';
import { attachPolicy, detachPolicy, selectAttachment, selectGroup } from './store.ts';

/** Attaches a managed policy, or a policy of the company, to a group. Attaching it twice changes nothing. */
export async function attachPolicyToGroup(ctx: PrincipalContext, groupId: string, policyId: string): Promise<void> {
  const { companyId } = ctx.actor;
  const { group, document } = await readGroupAndPolicy(ctx, groupId, policyId);
  if (!group) throw groupNotFound();
  if (!document) throw policyNotFound('policy_id');
  requireMayGrant(ctx.actor, listPolicyGrants(companyId, groupId, policyId, document));
  const attachment = { companyId, groupId, policyId };
  const { attachments } = await commitAccess(ctx, makeAffectedEverybody(companyId), {
    attached: attachPolicy(ctx.db, attachment, findManagedPolicyById(policyId) !== undefined),
    attachments: selectAttachment(ctx.db, companyId, groupId, policyId),
  });
  if (attachments.length > 0) return;
  // One of them was deleted in between: say which.
  const { group: currentGroup } = await readGroupAndPolicy(ctx, groupId, policyId);
  throw currentGroup ? policyNotFound('policy_id') : groupNotFound();
}

/** Detaches a policy from a group. Nobody may thereby gain permissions that the caller lacks. */
export async function detachPolicyFromGroup(ctx: PrincipalContext, groupId: string, policyId: string): Promise<void> {
  const { companyId } = ctx.actor;
  const { group, document } = await readGroupAndPolicy(ctx, groupId, policyId);
  if (!group) throw groupNotFound();
  if (!document) throw policyNotAttached();
  requireMayGrant(ctx.actor, toDenialGrants(listPolicyGrants(companyId, groupId, policyId, document)));
  const { detached } = await commitAccess(ctx, makeAffectedEverybody(companyId), {
    detached: detachPolicy(ctx.db, companyId, groupId, policyId),
  });
  if (detached.length === 0) throw policyNotAttached();
}

async function readGroupAndPolicy(ctx: PrincipalContext, groupId: string, policyId: string) {
  const { companyId } = ctx.actor;
  const {
    group: [group],
    own: [own],
  } = await readTogether(ctx.db, {
    group: selectGroup(ctx.db, companyId, groupId),
    own: selectPolicy(ctx.db, companyId, policyId),
  });
  const policy = own ? toOwnPolicy(own) : findManagedPolicyById(policyId);
  return { group, document: policy && !isHiddenPolicy(ctx, policy.arn) ? policy.document : undefined };
}

const listPolicyGrants = (companyId: string, groupId: string, id: string, document: PolicyDocument) => ({
  companyId,
  groups: [{ id: groupId, policies: [{ id, document }], roles: [], permissions: [] }],
});
