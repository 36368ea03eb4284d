import { z } from 'zod';
import { viewBy } from '../../http/wire.ts';
import { metadata, timestamp } from '../../kernel/fields.ts';
import { getStatus, type User, type UserInGroups, type UserWithGroups } from './service.ts';

/** The status of a user. */
export const userStatus = z.enum(['invited', 'active', 'inactive']);

/** A user as the console shows it. */
export const consoleUserView = z
  .object({
    _id: z.string(),
    email: z.string(),
    name: z.string(),
    company_id: z.string(),
    status: userStatus,
    teams: z.array(z.string()),
    group_ids: z.array(z.string()).meta({ description: 'The groups that the user is in within the default account.' }),
    groups: z
      .array(z.object({ _id: z.string(), name: z.string(), slug: z.string() }))
      .optional()
      .meta({ description: 'With `include=groups`.' }),
    created_at: timestamp,
  })
  .meta({ id: 'User' });

const viewConsoleUserRecord = viewBy(consoleUserView);
export const viewConsoleUser = ({ user, groupIds }: UserInGroups) =>
  viewConsoleUserRecord({ ...user, status: getStatus(user), groupIds, groups: undefined });

/** A user of a list. @param expanded whether the groups themselves are shown beside their ids */
export const viewUserOfList = (expanded: boolean) => (user: UserWithGroups) => ({
  ...viewConsoleUser({ user, groupIds: user.groups.map(({ id }) => id) }),
  ...(expanded && { groups: user.groups.map(({ id, name, slug }) => ({ _id: id, name, slug })) }),
});

/** A user who was invited. */
export const invitedUserView = consoleUserView.extend({ invitation_expires_at: timestamp }).meta({ id: 'InvitedUser' });

/** The status of a user after a change. */
export const userStatusView = consoleUserView.pick({ _id: true, email: true, status: true }).meta({ id: 'UserStatus' });

export const viewUserStatus = (user: User): z.input<typeof userStatusView> => ({
  _id: user.id,
  email: user.email,
  status: getStatus(user),
});

/** A user as the organization API shows it. */
export const organizationUserView = z
  .object({
    id: z.string(),
    email: z.string(),
    organization_id: z.string(),
    is_active: z.boolean(),
    is_verified: z.boolean(),
    mfa_enabled: z.boolean(),
    metadata,
    created_at: timestamp,
    updated_at: timestamp,
    last_login_at: timestamp.nullable(),
    deleted_at: timestamp.nullable(),
  })
  .meta({ id: 'OrganizationUser' });

export const viewOrganizationUser = viewBy(organizationUserView);
