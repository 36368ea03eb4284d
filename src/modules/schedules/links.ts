import type { Context } from '../../context.ts';
import { commit, readTogether } from '../../db/client.ts';
import type { ViewBranding } from '../../kernel/viewing.ts';
import { hmacSha256, newestSecret, sameSecret, secretOf, toBase64Url } from '../../platform/secrets.ts';
import { type Company, selectCompany, viewBranding } from '../companies/service.ts';
import type { Recipient, Schedule } from './store.ts';
import { selectRecipients, unsubscribe } from './store.ts';

/** The base URL of our pages: `PUBLIC_URL`, else that of the request which wrote the schedule, as a background run has none. */
const pagesBaseUrl = (ctx: Context, { apiUrl }: Schedule): string =>
  (ctx.config.PUBLIC_URL ?? apiUrl).replace(/\/+$/, '');

/** Where a recipient sees what a schedule sends: outsiders in the portal. */
export const viewUrl = (ctx: Context, { slug }: Company, schedule: Schedule, { kind }: Recipient): string =>
  kind === 'user' ? ctx.config.CONSOLE_URL : `${pagesBaseUrl(ctx, schedule)}/portal/${slug}`;

/** Version of the secret, company, schedule, and the signature that says which recipient. */
const TOKEN = /^(?<version>\d{1,12})-(?<companyId>[a-f0-9]{24})-(?<id>[a-f0-9]{24})-(?<signature>[\w-]{43})$/;

const signatureOf = async (
  secret: string,
  { companyId, id }: Pick<Schedule, 'companyId' | 'id'>,
  { kind, subject }: Recipient,
): Promise<string> =>
  toBase64Url(await hmacSha256(secret, `data-console unsubscribe: ${companyId}/${id}/${kind}:${subject}`));

/** The link by which a recipient unsubscribes from a schedule. It works for whoever has it, until its key is removed. */
export async function unsubscribeUrl(ctx: Context, schedule: Schedule, recipient: Recipient): Promise<string> {
  const { version, secret } = newestSecret(ctx.config.EMBED_SECRETS);
  const signature = await signatureOf(secret, schedule, recipient);
  return `${pagesBaseUrl(ctx, schedule)}/unsubscribe/${version}-${schedule.companyId}-${schedule.id}-${signature}`;
}

/** The recipient that a token names, if there still is one. */
async function recipientOf(ctx: Context, token: string) {
  const { version = '', companyId = '', id = '', signature = '' } = TOKEN.exec(token)?.groups ?? {};
  const secret = version === '' ? undefined : secretOf(ctx.config.EMBED_SECRETS, version);
  if (secret === undefined) return undefined;
  const {
    recipients,
    company: [company],
  } = await readTogether(ctx.db, {
    recipients: selectRecipients(ctx.db, companyId, id),
    company: selectCompany(ctx.db, companyId),
  });
  for (const recipient of recipients) {
    const isMeant = await sameSecret(signature, await signatureOf(secret, { companyId, id }, recipient));
    if (isMeant && company) return { companyId, id, recipient, company };
  }
  return undefined;
}

/** The branding of the company whose token this is; none for a token that names nobody. */
export async function brandingOfToken(ctx: Context, token: string): Promise<ViewBranding> {
  const found = await recipientOf(ctx, token);
  return found ? viewBranding(ctx.baseUrl, found.company) : {};
}

/** Unsubscribes the recipient whom a token names. @returns whether it names anybody */
export async function unsubscribeBy(ctx: Context, token: string): Promise<boolean> {
  const found = await recipientOf(ctx, token);
  if (!found) return false;
  const { companyId, id, recipient } = found;
  ctx.belongsTo(companyId);
  await commit(ctx.db, { unsubscribed: unsubscribe(ctx.db, companyId, id, recipient, ctx.now()) });
  return true;
}
