import type { Context } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { newSecretToken } from '../../kernel/ids.ts';
import { hashPassword } from '../../platform/passwords.ts';
import { sha256Hex } from '../../platform/secrets.ts';
import { selectCompany, selectCompanyBySlug } from '../companies/service.ts';
import { consoleLink, type MailRequest, passwordResetMail, requestMail } from '../mails/service.ts';
import { prepareSecurityMail, requireWayBesideSso } from '../sign-in/service.ts';
import { requireUnlikePerson } from '../users/fields.ts';
import { selectUserByEmail } from '../users/service.ts';
import { invalidReset } from './failures.ts';
import { deleteExpired, insertReset, resetStatements, selectActiveAccounts, selectOpenReset } from './store.ts';

const MINUTES = 60;
/** Companies that one email can be known in for a single request to reach them all. */
const ACCOUNTS = 100;

/**
 * Asks for links that set a new password, for every active account of an email, or for the one in a company. Whether
 * there is any is found out only after the answer. A company that does not exist is nobody's.
 * @throws Failure `sign_in.sso_required` where a company is named that nobody but the owner has a password in
 */
export async function requestReset(ctx: Context, input: { email: string; companySlug?: string }): Promise<void> {
  const [company] = input.companySlug === undefined ? [] : await selectCompanyBySlug(ctx.db, input.companySlug);
  if (input.companySlug !== undefined && !company) return;
  if (company) ctx.belongsTo(company.id);
  if (company?.ssoOnly) requireWayBesideSso(company, (await selectUserByEmail(ctx.db, company.id, input.email))[0]);
  const request = { kind: 'password_reset', companyId: company?.id ?? null, email: input.email } as const;
  await requestMail(ctx, request, mailResets);
}

/** Makes a link for each active account and mails them, one mail an account. */
export async function mailResets(ctx: Context, { companyId, email }: MailRequest<'password_reset'>): Promise<void> {
  const accounts = await selectActiveAccounts(ctx.db, email, companyId, ACCOUNTS);
  const links = await Promise.all(
    accounts.map(async (account) => {
      const token = newSecretToken();
      const reset = {
        digest: await sha256Hex(token),
        companyId: account.companyId,
        userId: account.userId,
        expiresAt: ctx.now() + MINUTES * 60_000,
        usedAt: null,
      };
      const url = consoleLink(ctx, 'reset-password', token);
      return { statement: insertReset(ctx.db, reset), mail: { ...account, to: email, url, minutes: MINUTES } };
    }),
  );
  const [first, ...rest] = links.map(({ statement }) => statement);
  if (!first) return;
  await commit(ctx.db, [first, ...rest]);
  for (const { mail } of links) await ctx.mailer.send(passwordResetMail(mail));
}

/**
 * Sets the password of the account that a link is for, and ends all its sessions.
 * @throws Failure `password_reset.invalid_token`, `sign_in.sso_required`, or invalid
 */
export async function confirmReset(ctx: Context, input: { token: string; password: string }): Promise<void> {
  const digest = await sha256Hex(input.token);
  // Spares strangers' guesses the work of hashing; the write decides.
  const [open] = await selectOpenReset(ctx.db, digest, ctx.now());
  if (!open) throw invalidReset();
  const { user } = open;
  ctx.belongsTo(user.companyId, { type: 'user', id: user.id });
  const [company] = await selectCompany(ctx.db, user.companyId);
  if (!company) throw invalidReset();
  requireWayBesideSso(company, user);
  requireUnlikePerson(input.password, { ...user, company }, 'password');
  const passwordHash = await hashPassword(input.password);
  const reset = { digest, companyId: user.companyId, userId: user.id };
  const mail = prepareSecurityMail(ctx, user, 'password_changed');
  const [used, change, ...ends] = resetStatements(ctx.db, reset, passwordHash, ctx.now());
  const [, [changed]] = await commit(ctx.db, [used, change, mail.statement, ...ends]);
  if (!changed) throw invalidReset();
  mail.send();
}

/** The scheduled run's part: forgets links that have expired. */
export async function purgePasswordResets(ctx: Context): Promise<void> {
  await deleteExpired(ctx.db, ctx.now());
}
