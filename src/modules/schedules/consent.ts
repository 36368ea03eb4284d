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
import {
  deleteConsentRequest,
  type MailAddress,
  recordConsent,
  recordConsentRequest,
  selectConsentStatus,
} from './consent-store.ts';
import { makeConsentUrls, unsubscribeByToken, verifyToken } from './links.ts';
import { type Recipient, readSchedule, type Schedule } from './store.ts';

/** Returns the moment from which scheduled mails to an address count for its limit. */
export const computeCountStart = (ctx: Context): number => ctx.now() - DAY_MS;

/** The reason why an address currently gets no scheduled mail. */
export type MailRefusal = 'ended' | 'not_agreed' | 'too_many_mails';

/**
 * Returns the reason why an address gets no mail of a company's schedules, if any: users of the company get them, others only
 * after their consent and within the daily limit. `isAsked` says whether the address was asked for consent.
 */
async function readMailRefusal(
  ctx: Context,
  to: MailAddress,
): Promise<{ refusal: MailRefusal | undefined; isAsked: boolean }> {
  const [standing] = await selectConsentStatus(ctx.db, to, computeCountStart(ctx));
  const isAsked = Boolean(standing?.wasAsked);
  if (!standing || standing.hasEnded) return { refusal: 'ended', isAsked };
  if (standing.isUsers) return { refusal: undefined, isAsked };
  if (!standing.hasAgreed) return { refusal: 'not_agreed', isAsked };
  return { refusal: standing.isBelowLimit ? undefined : 'too_many_mails', isAsked };
}

/**
 * Returns the reason why an address currently gets no mail of a schedule; undefined if there is none. Asks the address
 * for its consent if that was not done yet.
 */
export async function readRefusalOrAskConsent(
  ctx: Context,
  schedule: Schedule,
  email: string,
): Promise<MailRefusal | undefined> {
  const { companyId, id } = schedule;
  const { refusal, isAsked } = await readMailRefusal(ctx, { companyId, email });
  if (refusal === 'not_agreed' && !isAsked) {
    await requestMail(ctx, { kind: 'schedule_consent', companyId, email, about: id }, mailConsentRequest);
  }
  return refusal;
}

/**
 * Asks the addresses of an active schedule that were not asked yet for their consent, so that the first run can reach
 * them.
 */
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
  const isStillRecipient = schedule?.recipients.some(
    ({ kind, subject }: Recipient) => kind === 'email' && subject === email,
  );
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
