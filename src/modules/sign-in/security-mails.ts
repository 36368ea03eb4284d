import type { Context } from '../../context.ts';
import { HAS_CHANGED_ROWS } from '../../db/statements.ts';
import {
  composeSecurityMail,
  type MailRequest,
  prepareMailsAfterChange,
  readMailedCompany,
  readRecipient,
  type SecurityChange,
  type SendingContext,
} from '../mails/service.ts';
import { endUserSessions } from '../sessions/queries.ts';
import type { User } from '../users/service.ts';

/** Prepares the mail about a change, sent only if the statement before it in the batch changed a row. */
export const prepareSecurityMail = (
  ctx: Context,
  { companyId, email }: { companyId: string; email: string },
  change: SecurityChange,
) => prepareMailsAfterChange(ctx, [{ kind: change, companyId, email }], mailSecurityChange);

/** Mails an active user about a change of how they sign in. */
export async function mailSecurityChange(
  ctx: SendingContext,
  { kind, companyId, email }: MailRequest<SecurityChange>,
): Promise<void> {
  const { user, company } = await readRecipient(ctx, { companyId, email });
  if (!user?.isActive || !company) return;
  const mailCompany = await readMailedCompany(ctx, company);
  await ctx.sendToMailService(
    companyId,
    composeSecurityMail(kind, { to: email, name: user.name, company: mailCompany }),
  );
}

/**
 * Prepares the consequences of a change of how a user signs in, if the statement before it in the batch changed a row: a mail to
 * the user, and the end of all their sessions except `exceptSession`.
 */
export function prepareSecurityConsequences(
  ctx: Context,
  { id: userId, companyId, email }: Pick<User, 'id' | 'companyId' | 'email'>,
  change: SecurityChange,
  exceptSession?: string,
) {
  const mail = prepareSecurityMail(ctx, { companyId, email }, change);
  return {
    statements: {
      mail: mail.statements,
      sessions: endUserSessions(ctx.db, { companyId, userId }, ctx.now(), {
        exceptSessionId: exceptSession,
        condition: HAS_CHANGED_ROWS,
      }),
    },
    send: mail.send,
  };
}
