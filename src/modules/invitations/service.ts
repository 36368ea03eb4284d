import { commitAccess, makeAffectedPrincipals } from '../../access/commit-access.ts';
import { requireActiveCompany } from '../../access/suspension.ts';
import type { Context, PrincipalContext } from '../../context.ts';
import type { ConstraintFailures, Statement } from '../../db/client.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { newSecretToken } from '../../kernel/ids.ts';
import { hashPassword } from '../../platform/passwords.ts';
import { sha256Hex } from '../../platform/secrets.ts';
import { type Company, selectCompany } from '../companies/service.ts';
import {
  composeInvitationMail,
  type MailRequest,
  makeConsoleLink,
  prepareInvitationMail,
  readMailedCompany,
  type SendingContext,
} from '../mails/service.ts';
import { requireUnlikePerson } from '../users/fields.ts';
import { emailTaken, getStatus, prepareInvitedUser, selectUserByEmail, type User } from '../users/service.ts';
import { invalidInvitation } from './failures.ts';
import {
  deleteExpired,
  prepareAcceptance,
  replaceInvitation,
  selectForMail,
  selectInvited,
  setDigest,
  updateInvited,
} from './store.ts';

const INVITATION_DAYS = 7;

/** A prepared invitation. Commit `statements` with whatever else belongs to it, then call `sendMail`. */
export interface PreparedInvitation {
  /** New, or invited before. */
  user: User;
  /** Milliseconds. */
  expiresAt: number;
  statements: [Statement, ...Statement[]];
  /** For `commit`: the failure of two who invite the same address at once. */
  failures: ConstraintFailures;
  sendMail(): void;
}

/**
 * Invites an email to the caller's company: a new user, or one who is still invited. An earlier link stops working when the new
 * one is mailed; no more than five mails a day, from all companies, are sent to an address. `teams` replace those of the
 * earlier invitation when given. `email` is lower-case.
 */
export async function prepareInvitation(
  ctx: PrincipalContext,
  { email, teams }: { email: string; teams?: string[] },
): Promise<PreparedInvitation> {
  const { companyId } = ctx.actor;
  const [known] = await selectUserByEmail(ctx.db, companyId, email);
  if (known && getStatus(known) !== 'invited') throw emailTaken();
  const now = ctx.now();
  const expiresAt = now + INVITATION_DAYS * DAY_MS;
  const fresh = known ? undefined : prepareInvitedUser(ctx, companyId, { email, teams: teams ?? [] });
  const user = known ? { ...known, teams: teams ?? known.teams, updatedAt: now } : (fresh?.record as User);
  const mail = prepareInvitationMail(ctx, { kind: 'invitation', companyId, email }, mailInvitation);
  return {
    user,
    expiresAt,
    statements: [
      fresh?.statement ?? updateInvited(ctx.db, user),
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

/** Makes the link of an open invitation and mails it; the link of an earlier mail stops working. */
export async function mailInvitation(
  ctx: SendingContext,
  { companyId, email }: MailRequest<'invitation'>,
): Promise<void> {
  const [open] = await selectForMail(ctx.db, companyId, email, ctx.now());
  if (!open) return;
  const token = newSecretToken();
  await setDigest(ctx.db, companyId, open.userId, await sha256Hex(token));
  const url = makeConsoleLink(ctx, 'accept-invitation', token);
  const { name, inviter } = open;
  const company = await readMailedCompany(ctx, open.company);
  await ctx.handOver(
    companyId,
    composeInvitationMail({ to: email, name, company, inviter, url, days: INVITATION_DAYS }),
  );
}

/** The user and company of an invitation's link. `expiresAt` in milliseconds. */
export interface OpenInvitation {
  user: User;
  company: Company;
  expiresAt: number;
}

/** The invitation of a link, for whoever holds it; undefined where the link does not work. */
export async function findInvitation(ctx: Context, token: string): Promise<OpenInvitation | undefined> {
  const [found] = await selectInvited(ctx.db, await sha256Hex(token), ctx.now());
  if (!found) return undefined;
  const { companyId, id } = found.user;
  ctx.setOwner(companyId, { type: 'user', id });
  const [company] = await selectCompany(ctx.db, companyId);
  return company && { ...found, company };
}

/** The invitation of a link that works. */
export async function openInvitation(ctx: Context, token: string): Promise<OpenInvitation> {
  const found = await findInvitation(ctx, token);
  if (!found) throw invalidInvitation();
  requireActiveCompany(found.company);
  return found;
}

/**
 * Makes an invited user active, with the password they chose. The link has shown that they read mail at their address.
 */
export async function acceptInvitation(
  ctx: Context,
  input: { token: string; password: string; name?: string },
): Promise<User> {
  const digest = await sha256Hex(input.token);
  // A guess should not cost the work of hashing; the write decides.
  const [found] = await selectInvited(ctx.db, digest, ctx.now());
  if (!found) throw invalidInvitation();
  ctx.setOwner(found.user.companyId, { type: 'user', id: found.user.id });
  const name = input.name ?? found.user.name;
  const [company] = await selectCompany(ctx.db, found.user.companyId);
  if (company) requireActiveCompany(company);
  if (company) requireUnlikePerson(input.password, { email: found.user.email, name, company }, 'password');
  const set = { passwordHash: await hashPassword(input.password), name };
  const {
    accepted: [accepted],
  } = await commitAccess(
    ctx,
    makeAffectedPrincipals(found.user.companyId, found.user.id),
    prepareAcceptance(ctx.db, found.user, digest, set, ctx.now()),
  );
  if (!accepted) throw invalidInvitation();
  return accepted;
}

/** The scheduled run's part: forgets invitations that have expired. */
export async function purgeInvitations(ctx: Context): Promise<void> {
  await deleteExpired(ctx.db, ctx.now());
}
