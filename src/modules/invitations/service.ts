import { commitAccess, makeAffectedPrincipals } from '../../access/commit-access.ts';
import { requireActiveCompany } from '../../access/suspension.ts';
import type { Context, PrincipalContext } from '../../context.ts';
import { countChangedRows } from '../../db/client.ts';
import { retryOnConcurrentChange } from '../../db/failures.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { newSecretToken } from '../../kernel/ids.ts';
import { hashPassword } from '../../platform/passwords.ts';
import { computeSha256Hex } from '../../platform/secrets.ts';
import { type Company, selectCompany } from '../companies/service.ts';
import { prepareGroupJoin } from '../groups/service.ts';
import {
  composeInvitationMail,
  type MailRequest,
  makeConsoleLink,
  prepareInvitationMail,
  readMailedCompany,
  type SendingContext,
} from '../mails/service.ts';
import { requireUnlikeOwner } from '../users/fields.ts';
import {
  emailTaken,
  getUserStatus,
  listVisibleGroups,
  prepareInvitedUser,
  selectGroupsOfUser,
  selectUserByEmail,
  type User,
  type UserInGroups,
} from '../users/service.ts';
import { invalidInvitation } from './failures.ts';
import {
  deleteExpiredInvitations,
  isStillInvited,
  prepareAcceptance,
  replaceInvitation,
  selectInvitationForMail,
  selectInvitedUser,
  setInvitationDigest,
  updateInvitedUser,
} from './store.ts';

const INVITATION_LIFETIME_DAYS = 7;

/**
 * Invites an email address (lower-case) into the company and its groups, and mails the link; no more than five mails a day, from all
 * companies, are sent to an address. Inviting again renews the invitation: the earlier link stops working when the new one is mailed,
 * `teams` replace the earlier ones, and the groups are added. @returns when the invitation expires in milliseconds
 */
export async function inviteUser(
  ctx: PrincipalContext,
  { email, teams, groupIds }: { email: string; teams?: string[]; groupIds: string[] },
): Promise<UserInGroups & { expiresAt: number }> {
  const { companyId } = ctx.actor;
  const makeJoinStatement = await prepareGroupJoin(ctx, groupIds);
  return retryOnConcurrentChange(async () => {
    const [knownUser] = await selectUserByEmail(ctx.db, companyId, email);
    if (knownUser && getUserStatus(knownUser) !== 'invited') throw emailTaken();
    const now = ctx.now();
    const expiresAt = now + INVITATION_LIFETIME_DAYS * DAY_MS;
    const newUser = knownUser ? undefined : prepareInvitedUser(ctx, companyId, { email, teams: teams ?? [] });
    const user = knownUser
      ? { ...knownUser, teams: teams ?? knownUser.teams, updatedAt: now }
      : (newUser?.record as User);
    const mayInvite = isStillInvited(companyId, user.id);
    const mail = prepareInvitationMail(ctx, { kind: 'invitation', companyId, email }, mailInvitation, mayInvite);
    const invitation = { userId: user.id, companyId, digest: null, inviter: ctx.actor.name, expiresAt };
    try {
      const { user: storedUser, memberships } = await commitAccess(
        ctx,
        makeAffectedPrincipals(companyId, user.id),
        {
          user: newUser?.statement ?? updateInvitedUser(ctx.db, user),
          mail: mail.statement,
          // Without a new mail the link of the one before goes on working.
          invitation: replaceInvitation(ctx.db, invitation, mail.isStored),
          joined: makeJoinStatement(user.id, mayInvite),
          memberships: selectGroupsOfUser(ctx.db, companyId, user.id),
        },
        { 'users.email': emailTaken },
      );
      // The user has accepted or was deleted meanwhile: nothing was written.
      if (countChangedRows(storedUser) === 0) return undefined;
      mail.send();
      return { user, expiresAt, groupIds: listVisibleGroups(ctx, memberships) };
    } catch (error) {
      // Another invitation has created the user meanwhile.
      if (emailTaken.matches(error)) return undefined;
      throw error;
    }
  });
}

/** Creates the link of an open invitation and mails it; the link of an earlier mail stops working. */
export async function mailInvitation(
  ctx: SendingContext,
  { companyId, email }: MailRequest<'invitation'>,
): Promise<void> {
  const [openInvitation] = await selectInvitationForMail(ctx.db, companyId, email, ctx.now());
  if (!openInvitation) return;
  const token = newSecretToken();
  await setInvitationDigest(ctx.db, companyId, openInvitation.userId, await computeSha256Hex(token));
  const url = makeConsoleLink(ctx, 'accept-invitation', token);
  const { name, inviter } = openInvitation;
  const company = await readMailedCompany(ctx, openInvitation.company);
  await ctx.sendToMailService(
    companyId,
    composeInvitationMail({ to: email, name, company, inviter, url, days: INVITATION_LIFETIME_DAYS }),
  );
}

/** The user and company of an invitation's link. `expiresAt` in milliseconds. */
interface OpenInvitation {
  user: User;
  company: Company;
  expiresAt: number;
}

/** Returns the invitation of a link, for whoever holds it; undefined where the link does not work. */
export async function findInvitation(ctx: Context, token: string): Promise<OpenInvitation | undefined> {
  const [found] = await selectInvitedUser(ctx.db, await computeSha256Hex(token), ctx.now());
  if (!found) return undefined;
  const { companyId, id } = found.user;
  ctx.setOwner(companyId, { type: 'user', id });
  const [company] = await selectCompany(ctx.db, companyId);
  return company && { ...found, company };
}

/** Returns the invitation of a link that works; throws `invalidInvitation` where it does not. */
export async function requireInvitation(ctx: Context, token: string): Promise<OpenInvitation> {
  const foundInvitation = await findInvitation(ctx, token);
  if (!foundInvitation) throw invalidInvitation();
  requireActiveCompany(foundInvitation.company);
  return foundInvitation;
}

/** Activates an invited user, with the password they chose. The link has shown that they read mail at their address. */
export async function acceptInvitation(
  ctx: Context,
  input: { token: string; password: string; name?: string },
): Promise<User> {
  // A guess should not cost the work of hashing; the write decides.
  const { user, company } = await requireInvitation(ctx, input.token);
  const name = input.name ?? user.name;
  requireUnlikeOwner(input.password, { email: user.email, name, company }, 'password');
  const newValues = { passwordHash: await hashPassword(input.password), name };
  const {
    accepted: [acceptedUser],
  } = await commitAccess(
    ctx,
    makeAffectedPrincipals(user.companyId, user.id),
    prepareAcceptance(ctx.db, user, await computeSha256Hex(input.token), newValues, ctx.now()),
  );
  if (!acceptedUser) throw invalidInvitation();
  return acceptedUser;
}

/** Deletes expired invitations. For the scheduled run. */
export async function purgeInvitations(ctx: Context): Promise<void> {
  await deleteExpiredInvitations(ctx.db, ctx.now());
}
