import { commitAccess, makeAffectedPrincipals } from '../../access/commit-access.ts';
import type { PrincipalContext } from '../../context.ts';
import { retryOnConcurrentChange } from '../../db/failures.ts';
import { prepareGroupJoin } from '../groups/service.ts';
import { emailTaken, listVisibleGroups, selectGroupsOfUser, type User } from '../users/service.ts';
import { prepareInvitation } from './service.ts';

/** An invited user. `expiresAt` in milliseconds. */
export interface InvitedUser {
  user: User;
  groupIds: string[];
  expiresAt: number;
}

/**
 * Invites an email address into the company and its groups, and mails the link. Inviting again renews the invitation: the earlier
 * link stops working, `teams` replace the earlier ones, and the groups are added.
 */
export async function inviteUser(
  ctx: PrincipalContext,
  { email, teams, groupIds }: { email: string; teams?: string[]; groupIds: string[] },
): Promise<InvitedUser> {
  const makeJoinStatement = await prepareGroupJoin(ctx, groupIds);
  return retryOnConcurrentChange(async () => {
    const { user, expiresAt, statements, failures, sendMail } = await prepareInvitation(ctx, { email, teams });
    try {
      const { memberships } = await commitAccess(
        ctx,
        makeAffectedPrincipals(ctx.actor.companyId, user.id),
        {
          invitation: statements,
          joined: makeJoinStatement(user.id),
          memberships: selectGroupsOfUser(ctx.db, ctx.actor.companyId, user.id),
        },
        failures,
      );
      sendMail();
      return { user, expiresAt, groupIds: listVisibleGroups(ctx, memberships) };
    } catch (error) {
      // Another invitation has created the user meanwhile.
      if (emailTaken.matches(error)) return undefined;
      throw error;
    }
  });
}
