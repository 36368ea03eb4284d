import type { UserContext } from '../../context.ts';
import { readTogether } from '../../db/client.ts';
import { type Company, companyNotFound, selectCompany } from '../companies/service.ts';
import { countBackupCodes } from '../sign-in/service.ts';
import {
  listVisibleGroups,
  selectGroupsOfUser,
  selectUser,
  type UserInGroups,
  userNotFound,
} from '../users/service.ts';

/** The user who makes the request, with the company. */
export interface CurrentUser extends UserInGroups {
  /** The number of unused backup codes of the second factor. */
  backupCodesLeft: number;
  company: Company;
}

/** Returns the user who makes the request. */
export async function readCurrentUser(ctx: UserContext): Promise<CurrentUser> {
  const { companyId, id } = ctx.actor;
  const {
    user: [user],
    memberships,
    companies: [company],
    codes: [codes],
  } = await readTogether(ctx.db, {
    user: selectUser(ctx.db, companyId, id),
    memberships: selectGroupsOfUser(ctx.db, companyId, id),
    companies: selectCompany(ctx.db, companyId),
    codes: countBackupCodes(ctx.db, companyId, id),
  });
  if (!user) throw userNotFound();
  if (!company) throw companyNotFound();
  return { user, groupIds: listVisibleGroups(ctx, memberships), backupCodesLeft: codes?.left ?? 0, company };
}
