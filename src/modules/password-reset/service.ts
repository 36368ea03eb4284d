import { commitAccess, makeAffectedPrincipals } from '../../access/commit-access.ts';
import { requireActiveCompany } from '../../access/suspension.ts';
import type { Context } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { MINUTE_MS } from '../../kernel/clock.ts';
import { newSecretToken } from '../../kernel/ids.ts';
import { hashPassword } from '../../platform/passwords.ts';
import { sha256Hex } from '../../platform/secrets.ts';
import { type Company, selectCompany, selectCompanyBySlug } from '../companies/service.ts';
import {
  composePasswordResetMail,
  type MailRequest,
  makeConsoleLink,
  readMailedCompany,
  requestMail,
  type SendingContext,
} from '../mails/service.ts';
import { prepareSecurityMail, requireOtherThanSso, requireSsoOptional } from '../sign-in/service.ts';
import { requireUnlikePerson } from '../users/fields.ts';
import type { User } from '../users/service.ts';
import { invalidResetToken } from './failures.ts';
import { deleteExpired, insertReset, prepareReset, selectActiveAccounts, selectOpenReset } from './store.ts';

const RESET_MINUTES = 60;
/** Accounts of one email that get a mail. */
const MAX_ACCOUNTS = 100;

/**
 * Requests links by mail to reset the password of every active account of an email, or of the one in the named company.
 * Accounts are read after the answer, so that neither the answer nor its time tells whether there are any.
 */
export async function requestReset(ctx: Context, input: { email: string; companySlug?: string }): Promise<void> {
  const [company] = input.companySlug === undefined ? [] : await selectCompanyBySlug(ctx.db, input.companySlug);
  if (input.companySlug !== undefined && !company) return;
  if (company) ctx.setOwner(company.id);
  if (company) await requireOtherThanSso(ctx, company, input.email);
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
      const reset = {
        digest: await sha256Hex(token),
        companyId: account.companyId,
        userId: account.userId,
        expiresAt: ctx.now() + RESET_MINUTES * MINUTE_MS,
        usedAt: null,
      };
      const url = makeConsoleLink(ctx, 'reset-password', token);
      return { statement: insertReset(ctx.db, reset), mail: { ...account, to: email, url, minutes: RESET_MINUTES } };
    }),
  );
  if (links.length === 0) return;
  await commit(ctx.db, { resets: links.map(({ statement }) => statement) });
  for (const { mail } of links) {
    await ctx.handOver(
      mail.companyId,
      composePasswordResetMail({ ...mail, company: await readMailedCompany(ctx, mail.company) }),
    );
  }
}

/** Returns the user whose password a link sets; undefined where the link does not work. */
export async function findReset(ctx: Context, token: string): Promise<{ user: User; company: Company } | undefined> {
  const [open] = await selectOpenReset(ctx.db, await sha256Hex(token), ctx.now());
  if (!open) return undefined;
  const { user } = open;
  ctx.setOwner(user.companyId, { type: 'user', id: user.id });
  const [company] = await selectCompany(ctx.db, user.companyId);
  return company && { user, company };
}

/** Sets the password of the account that a link is for, and ends all its sessions. */
export async function confirmReset(ctx: Context, input: { token: string; password: string }): Promise<void> {
  // Spares the hashing of a password for a wrong token; the write decides.
  const open = await findReset(ctx, input.token);
  if (!open) throw invalidResetToken();
  const { user, company } = open;
  requireActiveCompany(company);
  requireSsoOptional(company, user);
  requireUnlikePerson(input.password, { ...user, company }, 'password');
  const passwordHash = await hashPassword(input.password);
  const reset = { digest: await sha256Hex(input.token), companyId: user.companyId, userId: user.id };
  const mail = prepareSecurityMail(ctx, user, 'password_changed');
  const { use, setPassword, ...consequences } = prepareReset(ctx.db, reset, passwordHash, ctx.now());
  const {
    setPassword: [changed],
  } = await commitAccess(ctx, makeAffectedPrincipals(user.companyId, user.id), {
    use,
    setPassword,
    mail: mail.statement,
    ...consequences,
  });
  if (!changed) throw invalidResetToken();
  mail.send();
}

/** Deletes expired links. For the scheduled run. */
export async function purgePasswordResets(ctx: Context): Promise<void> {
  await deleteExpired(ctx.db, ctx.now());
}
