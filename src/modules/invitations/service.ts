import { commitAccess, makeAffectedPrincipals } from '../../access/commit-access.ts';
import { requireActiveCompany } from '../../access/suspension.ts';
import type { Context, PrincipalContext } from '../../context.ts';
import type { ConstraintFailures, Statement } from '../../db/client.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { newSecretToken } from '../../kernel/ids.ts';
import { hashPassword } from '../../platform/passwords.ts';
import { computeSha256Hex } from '../../platform/secrets.ts';
import { type Company, selectCompany } from '../companies/service.ts';
import {
  composeInvitationMail,
  type MailRequest,
  makeConsoleLink,
  prepareInvitationMail,
  readMailedCompany,
  type SendingContext,
} from '../mails/service.ts';
import { requireUnlikeOwner } from '../users/fields.ts';
import { emailTaken, getUserStatus, prepareInvitedUser, selectUserByEmail, type User } from '../users/service.ts';
import { invalidInvitation } from './failures.ts';
import {
  deleteExpiredInvitations,
  prepareAcceptance,
  replaceInvitation,
  selectInvitationForMail,
  selectInvitedUser,
  setInvitationDigest,
  updateInvitedUser,
} from './store.ts';

const INVITATION_LIFETIME_DAYS = 7;

/** A prepared invitation. Commit `statements` with the other statements of the request, then call `sendMail`. */
export interface PreparedInvitation {
  /** The new or already invited user. */
  user: User;
  /** When the invitation expires, in milliseconds. */
  expiresAt: number;
  statements: [Statement, ...Statement[]];
  /** The failures by constraint, to pass to `commit`: two requests invited the same address at once. */
  failures: ConstraintFailures;
  sendMail(): void;
}

/**
 * Prepares inviting an email address to the caller's company: a new user, or one who is still invited. An earlier link stops
 * working when the new one is mailed; no more than five mails a day, from all companies, are sent to an address. `teams` replace
 * those of the earlier invitation when given. `email` is lower-case.
 */
export async function prepareInvitation(
  ctx: PrincipalContext,
  { email, teams }: { email: string; teams?: string[] },
): Promise<PreparedInvitation> {
  const { companyId } = ctx.actor;
  const [known] = await selectUserByEmail(ctx.db, companyId, email);
  if (known && getUserStatus(known) !== 'invited') throw emailTaken();
  const now = ctx.now();
  const expiresAt = now + INVITATION_LIFETIME_DAYS * DAY_MS;
  const newUser = known ? undefined : prepareInvitedUser(ctx, companyId, { email, teams: teams ?? [] });
  const user = known ? { ...known, teams: teams ?? known.teams, updatedAt: now } : (newUser?.record as User);
  const mail = prepareInvitationMail(ctx, { kind: 'invitation', companyId, email }, mailInvitation);
  return {
    user,
    expiresAt,
    statements: [
      newUser?.statement ?? updateInvitedUser(ctx.db, user),
      mail.statement,
      // Without a new mail the link of the one before goes on working.
      replaceInvitation(
        ctx.db,
        { userId: user.id, companyId, digest: null, inviter: ctx.actor.name, expiresAt },
        mail.isStored,
      ),
    ],
    failures: { 'users.email': emailTaken },
    sendMail: mail.send,
  };
}

/** Creates the link of an open invitation and mails it; the link of an earlier mail stops working. */
export async function mailInvitation(
  ctx: SendingContext,
  { companyId, email }: MailRequest<'invitation'>,
): Promise<void> {
  const [open] = await selectInvitationForMail(ctx.db, companyId, email, ctx.now());
  if (!open) return;
  const token = newSecretToken();
  await setInvitationDigest(ctx.db, companyId, open.userId, await computeSha256Hex(token));
  const url = makeConsoleLink(ctx, 'accept-invitation', token);
  const { name, inviter } = open;
  const company = await readMailedCompany(ctx, open.company);
  await ctx.sendToMailService(
    companyId,
    composeInvitationMail({ to: email, name, company, inviter, url, days: INVITATION_LIFETIME_DAYS }),
  );
}

/** The user and company of an invitation's link. `expiresAt` in milliseconds. */
export interface OpenInvitation {
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
  const digest = await computeSha256Hex(input.token);
  // A guess should not cost the work of hashing; the write decides.
  const [found] = await selectInvitedUser(ctx.db, digest, ctx.now());
  if (!found) throw invalidInvitation();
  ctx.setOwner(found.user.companyId, { type: 'user', id: found.user.id });
  const name = input.name ?? found.user.name;
  const [company] = await selectCompany(ctx.db, found.user.companyId);
  if (company) requireActiveCompany(company);
  if (company) requireUnlikeOwner(input.password, { email: found.user.email, name, company }, 'password');
  const newValues = { passwordHash: await hashPassword(input.password), name };
  const {
    accepted: [accepted],
  } = await commitAccess(
    ctx,
    makeAffectedPrincipals(found.user.companyId, found.user.id),
    prepareAcceptance(ctx.db, found.user, digest, newValues, ctx.now()),
  );
  if (!accepted) throw invalidInvitation();
  return accepted;
}

/** Deletes expired invitations. For the scheduled run. */
export async function purgeInvitations(ctx: Context): Promise<void> {
  await deleteExpiredInvitations(ctx.db, ctx.now());
}
