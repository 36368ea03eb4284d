import type { Context } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { MailRefusedError } from '../../platform/mail.ts';
import { selectCompany } from '../companies/service.ts';
import {
  composeConsentMail,
  type MailRequest,
  readMailedCompany,
  requestMail,
  type SendingContext,
} from '../mails/service.ts';
import { deleteConsentRequest, recordConsent, recordConsentRequest, selectConsentStatus } from './consent-store.ts';
import { makeConsentUrls, unsubscribeByToken, verifyToken } from './links.ts';
import { readSchedule, type Schedule } from './store.ts';

/** Returns the moment from which scheduled mails to an address count for its limit. */
export const computeCountStart = (ctx: Context): number => ctx.now() - DAY_MS;

/**
 * Returns the reason why an address currently gets no mail of a schedule; undefined if there is none: users of the company get
 * them, others only after their consent and within the daily limit. Asks the address for its consent if that was not done yet.
 */
export async function readRefusalOrAskConsent(
  ctx: Context,
  { companyId, id }: Schedule,
  email: string,
): Promise<'ended' | 'not_agreed' | 'too_many_mails' | undefined> {
  const [standing] = await selectConsentStatus(ctx.db, { companyId, email }, computeCountStart(ctx));
  if (!standing || standing.hasEnded) return 'ended';
  if (standing.isUsers) return undefined;
  if (standing.hasAgreed) return standing.isBelowLimit ? undefined : 'too_many_mails';
  if (!standing.wasAsked)
    await requestMail(ctx, { kind: 'schedule_consent', companyId, email, about: id }, mailConsentRequest);
  return 'not_agreed';
}

/** Asks the addresses of an active schedule that were not asked yet for their consent, so that the first run can reach them. */
export async function askRecipientsForConsent(ctx: Context, schedule: Schedule): Promise<void> {
  if (schedule.status !== 'active') return;
  for (const { kind, subject } of schedule.recipients)
    if (kind === 'email') await readRefusalOrAskConsent(ctx, schedule, subject);
}

/** Mails an address once to ask for consent to scheduled mails of a company, however many requests do so at once. */
export async function mailConsentRequest(
  ctx: SendingContext,
  { companyId, email, about }: MailRequest<'schedule_consent'>,
): Promise<void> {
  const schedule = await readSchedule(ctx.db, companyId, about ?? '');
  const [company] = await selectCompany(ctx.db, companyId);
  const isStillRecipient = schedule?.recipients.some(({ kind, subject }) => kind === 'email' && subject === email);
  if (!schedule || !company || !isStillRecipient) return;
  const mailedCompany = await readMailedCompany(ctx, company);
  const { begun } = await commit(ctx.db, {
    begun: recordConsentRequest(ctx.db, { id: ctx.newId(), companyId, email }, ctx.now()),
  });
  const [consent] = begun;
  if (!consent) return;
  try {
    await ctx.sendToMailService(
      companyId,
      composeConsentMail({
        to: email,
        name: '',
        company: mailedCompany,
        ...(await makeConsentUrls(ctx, schedule, consent)),
      }),
    );
  } catch (error) {
    if (error instanceof MailRefusedError && !error.isPermanent)
      await commit(ctx.db, { undone: deleteConsentRequest(ctx.db, consent) });
    throw error;
  }
}

/** Records the answer of a token's address. @returns false if the token is not valid, or its address has ended all mails */
export async function recordConsentAnswer(ctx: Context, token: string, isConsenting: boolean): Promise<boolean> {
  const consent = (await verifyToken(ctx, token))?.consent;
  if (!consent) return false;
  ctx.setOwner(consent.companyId);
  if (!isConsenting) return unsubscribeByToken(ctx, token, true);
  const { agreed } = await commit(ctx.db, { agreed: recordConsent(ctx.db, consent, ctx.now()) });
  return agreed.length > 0;
}
