import { z } from 'zod';
import { isoMoment, timestamp } from '../../http/fields.ts';
import { statusOf, type User } from './service.ts';

/** A user as the console shows it. */
export const consoleUserView = z
  .object({
    _id: z.string(),
    email: z.string(),
    name: z.string(),
    company_id: z.string(),
    status: z.enum(['invited', 'active', 'inactive']),
    teams: z.array(z.string()),
    group_ids: z.array(z.string()),
    created_at: timestamp,
  })
  .meta({ id: 'User' });

export const viewConsoleUser = ({
  user,
  groupIds,
}: {
  user: User;
  groupIds: string[];
}): z.input<typeof consoleUserView> => ({
  _id: user.id,
  email: user.email,
  name: user.name,
  company_id: user.companyId,
  status: statusOf(user),
  teams: user.teams,
  group_ids: groupIds,
  created_at: isoMoment(user.createdAt),
});
