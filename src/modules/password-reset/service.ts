import { commitAccess, makeAffectedPrincipals } from '../../access/commit-access.ts';
import { requireActiveCompany } from '../../access/suspension.ts';
import type { Context } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { MINUTE_MS } from '../../kernel/clock.ts';
import { newSecretToken } from '../../kernel/ids.ts';
import { hashPassword } from '../../platform/passwords.ts';
import { computeSha256Hex } from '../../platform/secrets.ts';
import { type Company, selectCompany, selectCompanyBySlug } from '../companies/service.ts';
import {
  composePasswordResetMail,
  type MailRequest,
  makeConsoleLink,
  readMailedCompany,
  requestMail,
  type SendingContext,
} from '../mails/service.ts';
import { prepareSecurityMail, requireSsoOptional, requireSsoOptionalForEmail } from '../sign-in/service.ts';
import { requireUnlikeOwner } from '../users/fields.ts';
import type { User } from '../users/service.ts';
import { invalidResetToken } from './failures.ts';
import {
  deleteExpiredResets,
  insertReset,
  prepareResetStatements,
  selectActiveAccounts,
  selectOpenReset,
} from './store.ts';

const RESET_LIFETIME_MINUTES = 60;
/** The maximum number of accounts with one email address that get a mail. */
const MAX_ACCOUNTS = 100;

/**
 * Requests links by mail to reset the password of every active account with an email address, or of the one in the named company.
 * Accounts are read after the response, so that neither the response nor its time reveals whether there are any.
 */
export async function requestReset(ctx: Context, input: { email: string; companySlug?: string }): Promise<void> {
  const [company] = input.companySlug === undefined ? [] : await selectCompanyBySlug(ctx.db, input.companySlug);
  if (input.companySlug !== undefined && !company) return;
  if (company) ctx.setOwner(company.id);
  if (company) await requireSsoOptionalForEmail(ctx, company, input.email);
  const request = { kind: 'password_reset', companyId: company?.id ?? null, email: input.email } as const;
  await requestMail(ctx, request, mailResets);
}

/** Mails a link to each active account. */
export async function mailResets(
  ctx: SendingContext,
  { companyId, email }: MailRequest<'password_reset'>,
): Promise<void> {
  const accounts = await selectActiveAccounts(ctx.db, email, companyId, MAX_ACCOUNTS);
  const links = await Promise.all(
    accounts.map(async (account) => {
      const token = newSecretToken();
      const passwordReset = {
        digest: await computeSha256Hex(token),
        companyId: account.companyId,
        userId: account.userId,
        expiresAt: ctx.now() + RESET_LIFETIME_MINUTES * MINUTE_MS,
        usedAt: null,
      };
      const url = makeConsoleLink(ctx, 'reset-password', token);
      return {
        statement: insertReset(ctx.db, passwordReset),
        mail: { ...account, to: email, url, minutes: RESET_LIFETIME_MINUTES },
      };
    }),
  );
  if (links.length === 0) return;
  await commit(ctx.db, { resets: links.map(({ statement }) => statement) });
  for (const { mail } of links) {
    await ctx.sendToMailService(
      mail.companyId,
      composePasswordResetMail({ ...mail, company: await readMailedCompany(ctx, mail.company) }),
    );
  }
}

/** Returns the user whose password a link sets; undefined where the link does not work. */
export async function findReset(ctx: Context, token: string): Promise<{ user: User; company: Company } | undefined> {
  const [openReset] = await selectOpenReset(ctx.db, await computeSha256Hex(token), ctx.now());
  if (!openReset) return undefined;
  const { user } = openReset;
  ctx.setOwner(user.companyId, { type: 'user', id: user.id });
  const [company] = await selectCompany(ctx.db, user.companyId);
  return company && { user, company };
}

/** Sets the password of the account that a link is for, and ends all its sessions. */
export async function confirmReset(ctx: Context, input: { token: string; password: string }): Promise<void> {
  // Spares the hashing of a password for a wrong token; the write decides.
  const foundReset = await findReset(ctx, input.token);
  if (!foundReset) throw invalidResetToken();
  const { user, company } = foundReset;
  requireActiveCompany(company);
  requireSsoOptional(company, user);
  requireUnlikeOwner(input.password, { ...user, company }, 'password');
  const passwordHash = await hashPassword(input.password);
  const passwordReset = { digest: await computeSha256Hex(input.token), companyId: user.companyId, userId: user.id };
  const mail = prepareSecurityMail(ctx, user, 'password_changed');
  const { use, setPassword, ...consequences } = prepareResetStatements(ctx.db, passwordReset, passwordHash, ctx.now());
  const {
    setPassword: [changedUser],
  } = await commitAccess(ctx, makeAffectedPrincipals(user.companyId, user.id), {
    use,
    setPassword,
    mail: mail.statements,
    ...consequences,
  });
  if (!changedUser) throw invalidResetToken();
  mail.send();
}

/** Deletes expired links. For the scheduled run. */
export async function purgePasswordResets(ctx: Context): Promise<void> {
  await deleteExpiredResets(ctx.db, ctx.now());
}
