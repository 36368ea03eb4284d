import { selectAdministrators } from '../../access/administrators.ts';
import type { Context, PrincipalContext } from '../../context.ts';
import { readTogether } from '../../db/client.ts';
import type { NoticeEvent } from '../../db/schema/mails.ts';
import { type Company, readLogoForMail, selectCompany } from '../companies/service.ts';
import { selectUserByEmail } from '../users/service.ts';
import { type MailRequest, prepareMailsAfterChange, type SendingContext } from './requests.ts';
import { composeNoticeMail, type MailedCompany } from './texts.ts';
import { toMailName } from './user-text.ts';

export * from './requests.ts';
export * from './schedules.ts';
export { type MailSection, measureSection, toOutsiderSection } from './sections.ts';
export * from './texts.ts';
export { toOutsiderText } from './user-text.ts';

/** Makes the URL of a page of the console that takes a one-time token. */
export function makeConsoleLink(ctx: Context, page: 'accept-invitation' | 'reset-password', token: string): string {
  return `${ctx.config.CONSOLE_URL.replace(/\/+$/, '')}/${page}?token=${encodeURIComponent(token)}`;
}

/**
 * Prepares mails to the owner and the administrators of the company about a change by the caller: commit `statements` right after
 * that of the change, which has to change a row, then call `send`.
 */
export async function prepareNoticesToAdministrators(ctx: PrincipalContext, event: NoticeEvent) {
  const { actor } = ctx;
  const { companyId } = actor;
  const administrators = await selectAdministrators(ctx.db, companyId);
  const by = actor.kind === 'user' ? actor.email : toMailName(actor.name, '');
  const notice = { event, by, at: ctx.now() };
  const requests = administrators.map(({ email }) => ({ kind: 'notice' as const, companyId, email, notice }));
  return prepareMailsAfterChange(ctx, requests, mailNotice);
}

/** Reads a company as its mails show it. */
export async function readMailedCompany(
  ctx: Context,
  { id, name, locale, branding, logo }: Pick<Company, 'id' | 'name' | 'locale' | 'branding' | 'logo'>,
): Promise<MailedCompany> {
  const picture = await readLogoForMail(ctx, id, logo);
  const theme = {
    ...branding,
    ...(branding.name && { name: toMailName(branding.name, '') }),
    ...(picture && { logo: picture }),
  };
  return { name: branding.name ?? name, locale, theme };
}

/** Reads the user of a mail's address, and their company. */
export async function readRecipient(ctx: Context, { companyId, email }: { companyId: string; email: string }) {
  const {
    user: [user],
    company: [company],
  } = await readTogether(ctx.db, {
    user: selectUserByEmail(ctx.db, companyId, email),
    company: selectCompany(ctx.db, companyId),
  });
  return { user, company };
}

export async function mailNotice(
  ctx: SendingContext,
  { companyId, email, notice }: MailRequest<'notice'>,
): Promise<void> {
  const { user, company } = await readRecipient(ctx, { companyId, email });
  if (!user || !company || !notice) return;
  const mailedCompany = await readMailedCompany(ctx, company);
  await ctx.sendToMailService(
    companyId,
    composeNoticeMail({ to: email, name: user.name, company: mailedCompany, notice }),
  );
}
