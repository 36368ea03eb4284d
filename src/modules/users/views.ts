import { z } from 'zod';
import { makeView } from '../../http/wire.ts';
import { metadataSchema, timestampSchema } from '../../kernel/fields.ts';
import { getUserStatus, type User, type UserInGroups, type UserWithGroups } from './service.ts';

/** The status of a user. */
export const userStatusField = z.enum(['invited', 'active', 'inactive']);

/** A user in the console's responses. */
export const consoleUserView = z
  .object({
    _id: z.string(),
    email: z.string(),
    name: z.string(),
    company_id: z.string(),
    status: userStatusField,
    teams: z.array(z.string()),
    group_ids: z.array(z.string()).meta({ description: 'The groups that the user is in within the default account.' }),
    groups: z
      .array(z.object({ _id: z.string(), name: z.string(), slug: z.string() }))
      .optional()
      .meta({ description: 'With `include=groups`.' }),
    created_at: timestampSchema,
  })
  .meta({ id: 'User' });

const viewConsoleUserRecord = makeView(consoleUserView);
export const viewConsoleUser = ({ user, groupIds }: UserInGroups) =>
  viewConsoleUserRecord({ ...user, status: getUserStatus(user), groupIds, groups: undefined });

/** Makes the view of a user in a list. @param isExpanded whether the groups themselves are shown beside their ids */
export const viewUserOfList = (isExpanded: boolean) => (user: UserWithGroups) => ({
  ...viewConsoleUser({ user, groupIds: user.groups.map(({ id }) => id) }),
  ...(isExpanded && { groups: user.groups.map(({ id, name, slug }) => ({ _id: id, name, slug })) }),
});

/** A user who was invited. */
export const invitedUserView = consoleUserView
  .extend({ invitation_expires_at: timestampSchema })
  .meta({ id: 'InvitedUser' });

/** The status of a user after a change. */
export const userStatusView = consoleUserView.pick({ _id: true, email: true, status: true }).meta({ id: 'UserStatus' });

const viewStatusRecord = makeView(userStatusView);
export const viewUserStatus = (user: User) => viewStatusRecord({ ...user, status: getUserStatus(user) });

/** A user in the organization API's responses. */
export const organizationUserView = z
  .object({
    id: z.string(),
    email: z.string(),
    organization_id: z.string(),
    is_active: z.boolean(),
    is_verified: z.boolean(),
    mfa_enabled: z.boolean(),
    metadata: metadataSchema,
    created_at: timestampSchema,
    updated_at: timestampSchema,
    last_login_at: timestampSchema.nullable(),
    deleted_at: timestampSchema.nullable(),
  })
  .meta({ id: 'OrganizationUser' });

export const viewOrganizationUser = makeView(organizationUserView);
