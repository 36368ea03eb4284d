import type { Context } from '../../context.ts';
import { commit } from '../../db/client.ts';
import {
  composeFirstUseMail,
  type MailRequest,
  prepareMailsAfterChange,
  readMailedCompany,
  readRecipient,
  type SendingContext,
} from '../mails/service.ts';
import { selectUser } from '../users/service.ts';
import { deleteExpiredRows, type Grant, selectGrant } from './store.ts';

/** Prepares the mail about an OAuth client's first use, sent if the previous statement of the batch changed a row. */
export async function prepareFirstUseMail(ctx: Context, { id, companyId, userId }: Grant) {
  const [user] = await selectUser(ctx.db, companyId, userId);
  if (!user) return null;
  const request = { kind: 'program_let_in', companyId, email: user.email, about: id } as const;
  return prepareMailsAfterChange(ctx, [request], sendFirstUseMail);
}

export async function sendFirstUseMail(
  ctx: SendingContext,
  { companyId, email, about }: MailRequest<'program_let_in'>,
): Promise<void> {
  const { user, company } = await readRecipient(ctx, { companyId, email });
  const [grant] = about ? await selectGrant(ctx.db, companyId, about) : [];
  if (!user?.isActive || !company || !grant) return;
  const clientUse = { name: grant.clientName, host: grant.clientHost, at: grant.begunAt ?? grant.createdAt };
  const mailedCompany = await readMailedCompany(ctx, company);
  await ctx.sendToMailService(
    companyId,
    composeFirstUseMail(clientUse, { to: email, name: user.name, company: mailedCompany }),
  );
}

/** Deletes codes, grants and clients that have expired. For the scheduled run. */
export async function purgeGrants(ctx: Context): Promise<void> {
  await commit(ctx.db, { expired: deleteExpiredRows(ctx.db, ctx.now()) });
}
