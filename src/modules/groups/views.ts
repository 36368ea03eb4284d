import { z } from 'zod';
import { viewBy } from '../../http/wire.ts';
import { isoTimestamp, timestamp } from '../../kernel/fields.ts';
import { LEGACY_ACTIONS } from '../../permissions/legacy.ts';
import type { GroupWithCounts } from './service.ts';

/** A group as the organization API shows it. */
export const organizationGroupView = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    organization_id: z.string(),
    attached_policies: z.array(z.string()),
    member_count: z.int().meta({ description: 'The number of distinct users and service accounts.' }),
    created_at: timestamp,
    updated_at: timestamp,
    deleted_at: timestamp.nullable(),
  })
  .meta({ id: 'OrganizationGroup' });

const viewOrganizationRecord = viewBy(organizationGroupView);
export const viewOrganizationGroup = (group: GroupWithCounts) =>
  viewOrganizationRecord({ ...group, attachedPolicies: group.policyIds });

/** A group as the console shows it. */
export const consoleGroupView = z
  .object({
    _id: z.string(),
    name: z.string(),
    slug: z.string(),
    description: z.string(),
    company_id: z.string(),
    is_global: z.boolean().meta({ description: 'Whether it is one of the groups that every company starts with.' }),
    roles: z.array(z.object({ name: z.string(), target: z.string(), actions: z.array(z.enum(LEGACY_ACTIONS)) })),
    permissionIds: z.array(z.string()),
    attached_policies: z.array(z.string()),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Group' });

export const viewConsoleGroup = (group: GroupWithCounts): z.input<typeof consoleGroupView> => ({
  _id: group.id,
  name: group.name,
  slug: group.slug,
  description: group.description,
  company_id: group.companyId,
  is_global: group.isGlobal,
  roles: group.roles.map(({ name, target, actions }) => ({ name, target, actions: [...actions] })),
  permissionIds: group.permissionIds,
  attached_policies: group.policyIds,
  created_at: isoTimestamp(group.createdAt),
  updated_at: isoTimestamp(group.updatedAt),
});

/** A membership as the organization API shows it. */
export const groupBindingView = z
  .object({
    id: z.string(),
    group_id: z.string(),
    principal_type: z.enum(['user', 'service_account']),
    principal_id: z.string(),
    account_id: z.string(),
    created_at: timestamp,
  })
  .meta({ id: 'GroupBinding' });

export const viewGroupBinding = viewBy(groupBindingView);

/** A member of a group as the console shows it. */
export const groupMemberView = z
  .object({
    principal_type: z.enum(['user', 'service_account']),
    principal_id: z.string(),
    name: z.string(),
    email: z.string().nullable().meta({ description: 'Null for a service account.' }),
    account_id: z.string(),
  })
  .meta({ id: 'GroupMember' });

export const viewGroupMember = viewBy(groupMemberView);
