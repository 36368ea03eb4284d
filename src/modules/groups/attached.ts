import { findDeniedEverywhere } from '../../access/denials.ts';
import type { PrincipalContext } from '../../context.ts';
import { deniedBy } from '../../permissions/denials.ts';
import { findHiddenPolicies } from '../policies/service.ts';
import type { DeniedMembers, GroupWithCounts } from './store.ts';

/** The members of groups whom the organization API hides from the caller. */
export const findDeniedMembers = ({ actor }: PrincipalContext): DeniedMembers => ({
  user: findDeniedEverywhere(actor, 'organization_user'),
  service_account: findDeniedEverywhere(actor, 'service_account'),
});

/** Groups without those of their policies and permissions that the caller is denied. */
export async function hideAttachments(
  ctx: PrincipalContext,
  groups: readonly GroupWithCounts[],
): Promise<GroupWithCounts[]> {
  const hidden = await findHiddenPolicies(
    ctx,
    groups.flatMap(({ policyIds }) => policyIds),
  );
  const isHiddenPermission = deniedBy(findDeniedEverywhere(ctx.actor, 'permission'));
  return groups.map((group) => ({
    ...group,
    policyIds: group.policyIds.filter((id) => !hidden.has(id)),
    permissionIds: group.permissionIds.filter((id) => !isHiddenPermission(id)),
  }));
}

/** A group as the caller may see it. */
export async function hideGroupParts(ctx: PrincipalContext, group: GroupWithCounts): Promise<GroupWithCounts> {
  const [visible] = await hideAttachments(ctx, [group]);
  return visible as GroupWithCounts;
}
