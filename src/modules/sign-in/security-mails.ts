import type { Context } from '../../context.ts';
import { selectCompany } from '../companies/service.ts';
import { type MailRequest, prepareMailAfterChange, type SecurityChange, securityMail } from '../mails/service.ts';
import { selectUserByEmail } from '../users/service.ts';

/** The mail that tells somebody of a change, which the statement before it in the batch makes. */
export const prepareSecurityMail = (
  ctx: Context,
  { companyId, email }: { companyId: string; email: string },
  change: SecurityChange,
) => prepareMailAfterChange(ctx, { kind: change, companyId, email }, mailSecurityChange);

/** Tells an active user of a change. */
export async function mailSecurityChange(
  ctx: Context,
  { kind, companyId, email }: MailRequest<SecurityChange>,
): Promise<void> {
  const [[user], [company]] = await ctx.db.batch([
    selectUserByEmail(ctx.db, companyId, email),
    selectCompany(ctx.db, companyId),
  ]);
  if (!user?.isActive || !company) return;
  await ctx.mailer.send(securityMail(kind, { to: email, name: user.name, company: company.name }));
}
