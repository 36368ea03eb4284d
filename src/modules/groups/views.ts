import { z } from 'zod';
import { makeView } from '../../http/wire.ts';
import { timestampSchema } from '../../kernel/fields.ts';
import { LEGACY_ACTIONS } from '../../permissions/legacy.ts';
import type { GroupWithCounts } from './service.ts';

/** The response with a group on the organization API. */
export const organizationGroupView = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    organization_id: z.string(),
    attached_policies: z.array(z.string()),
    member_count: z.int().meta({ description: 'The number of distinct users and service accounts.' }),
    created_at: timestampSchema,
    updated_at: timestampSchema,
    deleted_at: timestampSchema.nullable(),
  })
  .meta({ id: 'OrganizationGroup' });

const viewOrganizationRecord = makeView(organizationGroupView);
export const viewOrganizationGroup = (group: GroupWithCounts) =>
  viewOrganizationRecord({ ...group, attachedPolicies: group.policyIds });

/** The response with a group on the console. */
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
    created_at: timestampSchema,
    updated_at: timestampSchema,
  })
  .meta({ id: 'Group' });

const viewConsoleRecord = makeView(consoleGroupView);
export const viewConsoleGroup = (group: GroupWithCounts) =>
  viewConsoleRecord({ ...group, attachedPolicies: group.policyIds });

/** The response with a membership on the organization API. */
export const groupBindingView = z
  .object({
    id: z.string(),
    group_id: z.string(),
    principal_type: z.enum(['user', 'service_account']),
    principal_id: z.string(),
    account_id: z.string(),
    created_at: timestampSchema,
  })
  .meta({ id: 'GroupBinding' });

export const viewGroupBinding = makeView(groupBindingView);

/** The response with a member of a group on the console. */
export const groupMemberView = z
  .object({
    principal_type: z.enum(['user', 'service_account']),
    principal_id: z.string(),
    name: z.string(),
    email: z.string().nullable().meta({ description: 'Null for a service account.' }),
    account_id: z.string(),
  })
  .meta({ id: 'GroupMember' });

export const viewGroupMember = makeView(groupMemberView);
