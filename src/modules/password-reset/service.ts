import type { Context } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { newSecretToken } from '../../kernel/ids.ts';
import { hashPassword } from '../../platform/passwords.ts';
import { sha256Hex } from '../../platform/secrets.ts';
import { selectCompanyBySlug } from '../companies/service.ts';
import { consoleLink } from '../mails/links.ts';
import { type MailRequest, requestMail } from '../mails/service.ts';
import { passwordResetMail } from '../mails/texts.ts';
import { invalidReset } from './failures.ts';
import { deleteExpired, insertReset, resetStatements, selectActiveAccounts, selectOpenReset } from './store.ts';

const MINUTES = 60;
/** Companies that one email can be known in for a single request to reach them all. */
const ACCOUNTS = 100;

/**
 * Asks for links that set a new password, for every active account of an email, or for the one in a company. Whether
 * there is any is found out only after the answer. A company that does not exist is nobody's.
 */
export async function requestReset(ctx: Context, input: { email: string; companySlug?: string }): Promise<void> {
  const [company] = input.companySlug === undefined ? [] : await selectCompanyBySlug(ctx.db, input.companySlug);
  if (input.companySlug !== undefined && !company) return;
  if (company) ctx.belongsTo(company.id);
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
 * @throws Failure `password_reset.invalid_token`
 */
export async function confirmReset(ctx: Context, input: { token: string; password: string }): Promise<void> {
  const digest = await sha256Hex(input.token);
  // Spares strangers' guesses the work of hashing; the write decides.
  const [reset] = await selectOpenReset(ctx.db, digest, ctx.now());
  if (!reset) throw invalidReset();
  ctx.belongsTo(reset.companyId, { type: 'user', id: reset.userId });
  const passwordHash = await hashPassword(input.password);
  const [, [changed]] = await commit(ctx.db, resetStatements(ctx.db, reset, passwordHash, ctx.now()));
  if (!changed) throw invalidReset();
}

/** The scheduled run's part: forgets links that have expired. */
export async function purgePasswordResets(ctx: Context): Promise<void> {
  await deleteExpired(ctx.db, ctx.now());
}
