import type { Context } from '../../context.ts';
import { commit, readTogether } from '../../db/client.ts';
import type { ViewBranding } from '../../kernel/viewing.ts';
import { hmacSha256, newestSecret, sameSecret, secretOf, toBase64Url } from '../../platform/secrets.ts';
import { selectCompany, viewBranding } from '../companies/service.ts';
import { ownPagesOf } from './addresses.ts';
import type { Recipient, Schedule } from './store.ts';
import { selectRecipients, unsubscribe } from './store.ts';

/** Version of the secret, company, schedule, and the signature that says which recipient. */
const TOKEN = /^(?<version>\d{1,12})-(?<companyId>[a-f0-9]{24})-(?<id>[a-f0-9]{24})-(?<signature>[\w-]{43})$/;

const signatureOf = async (
  secret: string,
  { companyId, id }: Pick<Schedule, 'companyId' | 'id'>,
  { kind, subject }: Recipient,
): Promise<string> =>
  toBase64Url(await hmacSha256(secret, `data-console unsubscribe: ${companyId}/${id}/${kind}:${subject}`));

/** Where one recipient of a schedule unsubscribes. Whoever has the address can; nobody can make it. It works as long as the key does. */
export async function unsubscribeUrl(ctx: Context, schedule: Schedule, recipient: Recipient): Promise<string> {
  const { version, secret } = newestSecret(ctx.config.EMBED_SECRETS);
  const signature = await signatureOf(secret, schedule, recipient);
  return `${ownPagesOf(ctx, schedule)}/unsubscribe/${version}-${schedule.companyId}-${schedule.id}-${signature}`;
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

/** The brand that the page of a token wears; none where it names nobody, of which nothing else tells. */
export async function brandingOfToken(ctx: Context, token: string): Promise<ViewBranding> {
  const found = await recipientOf(ctx, token);
  return found ? viewBranding(ctx.baseUrl, found.company) : {};
}

/**
 * Ends what a schedule sends to one recipient. It is done once it is done: again changes nothing.
 * @returns whether the token names anybody
 */
export async function unsubscribeBy(ctx: Context, token: string): Promise<boolean> {
  const found = await recipientOf(ctx, token);
  if (!found) return false;
  const { companyId, id, recipient } = found;
  ctx.belongsTo(companyId);
  await commit(ctx.db, { unsubscribed: unsubscribe(ctx.db, companyId, id, recipient, ctx.now()) });
  return true;
}
