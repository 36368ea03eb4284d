import { findReadDenials } from '../../access/denials.ts';
import type { PrincipalContext } from '../../context.ts';
import { makeDenialCheck } from '../../permissions/denials.ts';
import { findHiddenPolicies } from '../policies/service.ts';
import type { DeniedMembers, GroupWithCounts } from './store.ts';

/** Returns the members of groups that the organization API hides from the caller. */
export const findDeniedMembers = ({ actor }: PrincipalContext): DeniedMembers => ({
  user: findReadDenials(actor, 'organization_user'),
  service_account: findReadDenials(actor, 'service_account'),
});

/** Returns groups without the policies and permissions that the caller is denied. */
export async function hideAttachments(
  ctx: PrincipalContext,
  groups: readonly GroupWithCounts[],
): Promise<GroupWithCounts[]> {
  const hiddenPolicies = await findHiddenPolicies(
    ctx,
    groups.flatMap(({ policyIds }) => policyIds),
  );
  const isHiddenPermission = makeDenialCheck(findReadDenials(ctx.actor, 'permission'));
  return groups.map((group) => ({
    ...group,
    policyIds: group.policyIds.filter((id) => !hiddenPolicies.has(id)),
    permissionIds: group.permissionIds.filter((id) => !isHiddenPermission(id)),
  }));
}

/** Returns a group as the caller may see it. */
export async function hideGroupParts(ctx: PrincipalContext, group: GroupWithCounts): Promise<GroupWithCounts> {
  const [visible] = await hideAttachments(ctx, [group]);
  return visible as GroupWithCounts;
}
