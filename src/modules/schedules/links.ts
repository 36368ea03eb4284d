import type { Context } from '../../context.ts';
import { commit, readTogether } from '../../db/client.ts';
import {
  areSecretsEqual,
  computeHmacSha256,
  findSecret,
  getNewestSecret,
  toBase64Url,
} from '../../platform/secrets.ts';
import { type Company, selectCompany } from '../companies/service.ts';
import { endAllMails, type MailConsent, selectConsent } from './consent-store.ts';
import { type Recipient, type Schedule, selectRecipients, unsubscribeRecipient } from './store.ts';

/** Returns the base URL of public pages: `PUBLIC_URL`, else that of the request that wrote the schedule: runs have none. */
const getPagesBaseUrl = (ctx: Context, { apiUrl }: Pick<Schedule, 'apiUrl'>): string =>
  (ctx.config.PUBLIC_URL ?? apiUrl).replace(/\/+$/, '');

/** Makes the URL of the page where a recipient sees the results of a schedule: the console, or for outsiders the portal. */
export const makeViewUrl = (ctx: Context, { slug }: Company, schedule: Schedule, { kind }: Recipient): string =>
  kind === 'user' ? ctx.config.CONSOLE_URL : `${getPagesBaseUrl(ctx, schedule)}/portal/${slug}`;

/** The form of a token: version of the secret, company, schedule or consent, and the signature that identifies the recipient. */
const TOKEN_PATTERN = /^(?<version>\d{1,12})-(?<companyId>[a-f0-9]{24})-(?<id>[a-f0-9]{24})-(?<signature>[\w-]{43})$/;

type TokenSubject = Pick<Schedule, 'companyId' | 'id'>;

/** Formats the text that is signed in the token for a recipient of a schedule. */
const formatRecipientSignedText = ({ companyId, id }: TokenSubject, { kind, subject }: Recipient): string =>
  `data-console unsubscribe: ${companyId}/${id}/${kind}:${subject}`;
/** Formats the text that is signed in the token for an address asked to consent to a company's mails. */
const formatConsentSignedText = ({ companyId, id }: TokenSubject): string =>
  `data-console mail consent: ${companyId}/${id}`;

const signText = async (secret: string, text: string): Promise<string> =>
  toBase64Url(await computeHmacSha256(secret, text));

async function makeToken(ctx: Context, { companyId, id }: TokenSubject, text: string): Promise<string> {
  const { version, secret } = getNewestSecret(ctx.config.EMBED_SECRETS);
  return `${version}-${companyId}-${id}-${await signText(secret, text)}`;
}

/** Makes the link by which a recipient unsubscribes from a schedule. It works for whoever has it, until its key is removed. */
export const makeUnsubscribeUrl = async (ctx: Context, schedule: Schedule, recipient: Recipient): Promise<string> =>
  `${getPagesBaseUrl(ctx, schedule)}/unsubscribe/${await makeToken(ctx, schedule, formatRecipientSignedText(schedule, recipient))}`;

/** Makes the links by which an address consents to the mails of a company, and by which it ends them all. */
export async function makeConsentUrls(ctx: Context, { apiUrl }: Pick<Schedule, 'apiUrl'>, consent: MailConsent) {
  const base = getPagesBaseUrl(ctx, { apiUrl });
  const token = await makeToken(ctx, consent, formatConsentSignedText(consent));
  return { agreeUrl: `${base}/mail-consent/${token}`, unsubscribeUrl: `${base}/unsubscribe/${token}` };
}

/** The recipient of a token, and the schedule of the token; all schedules of the company where `scheduleId` is null. */
export interface TokenHolder {
  company: Company;
  scheduleId: string | null;
  recipient: Recipient;
  /** The consent record, where the token asks for a consent. */
  consent?: MailConsent;
}

/** Returns the recipient of a token, if the recipient or the request for consent still exists. */
export async function verifyToken(ctx: Context, token: string): Promise<TokenHolder | undefined> {
  const { version = '', companyId = '', id = '', signature = '' } = TOKEN_PATTERN.exec(token)?.groups ?? {};
  const secret = version === '' ? undefined : findSecret(ctx.config.EMBED_SECRETS, version);
  if (secret === undefined) return undefined;
  const tokenSubject = { companyId, id };
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
  const isSigned = async (text: string) => areSecretsEqual(signature, await signText(secret, text));
  if (consent && (await isSigned(formatConsentSignedText(tokenSubject)))) {
    return { company, scheduleId: null, recipient: { kind: 'email', subject: consent.email }, consent };
  }
  for (const recipient of recipients) {
    if (await isSigned(formatRecipientSignedText(tokenSubject, recipient)))
      return { company, scheduleId: id, recipient };
  }
  return undefined;
}

/** Tells whether the holder of a token can end all mails of a company: an external address can, a user of the company cannot. */
export const canEndAllMails = ({ recipient }: TokenHolder): boolean => recipient.kind === 'email';

/**
 * Unsubscribes a token's holder from its schedule, or from all of the company's where the token or `endsAllMails` says so.
 * @returns false where there was nothing to end
 */
export async function unsubscribeByToken(ctx: Context, token: string, endsAllMails: boolean): Promise<boolean> {
  const holder = await verifyToken(ctx, token);
  if (!holder) return false;
  const { company, scheduleId, recipient } = holder;
  ctx.setOwner(company.id);
  if (scheduleId === null || (endsAllMails && canEndAllMails(holder))) {
    const to = { id: ctx.newId(), companyId: company.id, email: recipient.subject };
    await commit(ctx.db, { ended: endAllMails(ctx.db, to, ctx.now()) });
  } else if (endsAllMails) return false;
  else
    await commit(ctx.db, { unsubscribed: unsubscribeRecipient(ctx.db, company.id, scheduleId, recipient, ctx.now()) });
  return true;
}
