import { deniedEverywhere } from '../../access/denials.ts';
import type { PrincipalContext } from '../../context.ts';
import { deniedBy } from '../../permissions/denials.ts';
import { findHiddenPolicies } from '../policies/service.ts';
import type { DeniedMembers, GroupWithCounts } from './store.ts';

/** The members of groups whom the organization API hides from the caller. */
export const findDeniedMembers = ({ actor }: PrincipalContext): DeniedMembers => ({
  user: deniedEverywhere(actor, 'organization_user'),
  service_account: deniedEverywhere(actor, 'service_account'),
});

/** Groups without those of their policies and permissions that the caller is denied. */
export async function withVisibleAttachments(
  ctx: PrincipalContext,
  groups: readonly GroupWithCounts[],
): Promise<GroupWithCounts[]> {
  const hidden = await findHiddenPolicies(
    ctx,
    groups.flatMap(({ policyIds }) => policyIds),
  );
  const isHiddenPermission = deniedBy(deniedEverywhere(ctx.actor, 'permission'));
  return groups.map((group) => ({
    ...group,
    policyIds: group.policyIds.filter((id) => !hidden.has(id)),
    permissionIds: group.permissionIds.filter((id) => !isHiddenPermission(id)),
  }));
}

/** A group as the caller may see it. */
export async function asVisible(ctx: PrincipalContext, group: GroupWithCounts): Promise<GroupWithCounts> {
  const [visible] = await withVisibleAttachments(ctx, [group]);
  return visible as GroupWithCounts;
}
