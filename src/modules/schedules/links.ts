import type { Context } from '../../context.ts';
import { commit, readTogether } from '../../db/client.ts';
import { findSecret, hmacSha256, newestSecret, sameSecret, toBase64Url } from '../../platform/secrets.ts';
import { type Company, selectCompany } from '../companies/service.ts';
import { endAllMails, type MailConsent, selectConsent } from './consent-store.ts';
import type { Recipient, Schedule } from './store.ts';
import { selectRecipients, unsubscribe } from './store.ts';

/** The base URL of public pages: `PUBLIC_URL`, else that of the request that wrote the schedule, as a background run has none. */
const getPagesBaseUrl = (ctx: Context, { apiUrl }: Pick<Schedule, 'apiUrl'>): string =>
  (ctx.config.PUBLIC_URL ?? apiUrl).replace(/\/+$/, '');

/** The page where a recipient sees the results of a schedule: the console, or for outsiders the portal. */
export const makeViewUrl = (ctx: Context, { slug }: Company, schedule: Schedule, { kind }: Recipient): string =>
  kind === 'user' ? ctx.config.CONSOLE_URL : `${getPagesBaseUrl(ctx, schedule)}/portal/${slug}`;

/** The form of a token: version of the secret, company, schedule or consent, and the signature that identifies the recipient. */
const TOKEN_PATTERN = /^(?<version>\d{1,12})-(?<companyId>[a-f0-9]{24})-(?<id>[a-f0-9]{24})-(?<signature>[\w-]{43})$/;

type Named = Pick<Schedule, 'companyId' | 'id'>;

/** The signed texts: for a recipient of a schedule, and for an address that was asked for consent to mails of a company. */
const formatRecipientText = ({ companyId, id }: Named, { kind, subject }: Recipient): string =>
  `data-console unsubscribe: ${companyId}/${id}/${kind}:${subject}`;
const formatConsentText = ({ companyId, id }: Named): string => `data-console mail consent: ${companyId}/${id}`;

const sign = async (secret: string, text: string): Promise<string> => toBase64Url(await hmacSha256(secret, text));

async function makeToken(ctx: Context, { companyId, id }: Named, text: string): Promise<string> {
  const { version, secret } = newestSecret(ctx.config.EMBED_SECRETS);
  return `${version}-${companyId}-${id}-${await sign(secret, text)}`;
}

/** The link by which a recipient unsubscribes from a schedule. It works for whoever has it, until its key is removed. */
export const makeUnsubscribeUrl = async (ctx: Context, schedule: Schedule, recipient: Recipient): Promise<string> =>
  `${getPagesBaseUrl(ctx, schedule)}/unsubscribe/${await makeToken(ctx, schedule, formatRecipientText(schedule, recipient))}`;

/** The links by which an address consents to the mails of a company, and by which it ends them all. */
export async function makeConsentUrls(ctx: Context, { apiUrl }: Pick<Schedule, 'apiUrl'>, consent: MailConsent) {
  const [base, token] = [getPagesBaseUrl(ctx, { apiUrl }), await makeToken(ctx, consent, formatConsentText(consent))];
  return { agreeUrl: `${base}/mail-consent/${token}`, unsubscribeUrl: `${base}/unsubscribe/${token}` };
}

/** The recipient of a token, and the schedule it is about; all schedules of the company where `scheduleId` is null. */
export interface TokenHolder {
  company: Company;
  scheduleId: string | null;
  recipient: Recipient;
  /** The consent of a token that asks for one. */
  consent?: MailConsent;
}

/** The recipient of a token, if the recipient or the question for consent still exists. */
export async function verifyToken(ctx: Context, token: string): Promise<TokenHolder | undefined> {
  const { version = '', companyId = '', id = '', signature = '' } = TOKEN_PATTERN.exec(token)?.groups ?? {};
  const secret = version === '' ? undefined : findSecret(ctx.config.EMBED_SECRETS, version);
  if (secret === undefined) return undefined;
  const named = { companyId, id };
  const {
    recipients,
    consents: [consent],
    companies: [company],
  } = await readTogether(ctx.db, {
    recipients: selectRecipients(ctx.db, companyId, id),
    consents: selectConsent(ctx.db, companyId, id),
    companies: selectCompany(ctx.db, companyId),
  });
  if (!company) return undefined;
  const isSigned = async (text: string) => sameSecret(signature, await sign(secret, text));
  if (consent && (await isSigned(formatConsentText(named)))) {
    return { company, scheduleId: null, recipient: { kind: 'email', subject: consent.email }, consent };
  }
  for (const recipient of recipients) {
    if (await isSigned(formatRecipientText(named, recipient))) return { company, scheduleId: id, recipient };
  }
  return undefined;
}

/** Whether the holder of a token can end all mails of a company: an external address can, a user of the company cannot. */
export const canEndAll = ({ recipient }: TokenHolder): boolean => recipient.kind === 'email';

/**
 * Unsubscribes the holder of a token: from its schedule, or from all of the company's where the token or `isAll` says so.
 * @returns false where there was nothing to end
 */
export async function unsubscribeBy(ctx: Context, token: string, isAll: boolean): Promise<boolean> {
  const holder = await verifyToken(ctx, token);
  if (!holder) return false;
  const { company, scheduleId, recipient } = holder;
  ctx.setOwner(company.id);
  if (scheduleId === null || (isAll && canEndAll(holder))) {
    const to = { id: ctx.newId(), companyId: company.id, email: recipient.subject };
    await commit(ctx.db, { ended: endAllMails(ctx.db, to, ctx.now()) });
  } else if (isAll) return false;
  else await commit(ctx.db, { unsubscribed: unsubscribe(ctx.db, company.id, scheduleId, recipient, ctx.now()) });
  return true;
}
