import { z } from 'zod';
import { unknownRoute } from '../../access/failures.ts';
import type { Context } from '../../context.ts';
import { raw } from '../../http/endpoint.ts';
import { choosePageLocale, makePageResponse } from '../../http/page.ts';
import { endpoint } from '../../http/surfaces/console.ts';
import { isoTimestamp } from '../../kernel/fields.ts';
import type { MailLinkView } from '../../presentation/mail-links.ts';
import { type Company, viewPageBranding } from '../companies/service.ts';
import { findInvitation } from '../invitations/service.ts';
import { findReset } from '../password-reset/service.ts';
import type { User } from '../users/service.ts';

/** The user and company of a link. `expiresAt` in milliseconds. */
interface Opened {
  user: User;
  company: Company;
  expiresAt?: number;
}

/** Whether links in mails lead to pages of this API, because `CONSOLE_URL` names no separate console. */
function isConsole({ config, baseUrl }: Context): boolean {
  const [named, own] = [config.CONSOLE_URL, baseUrl].map((url) => {
    const found = URL.parse(url);
    // This machine has a name and an address.
    if (found?.hostname === 'localhost') found.hostname = '127.0.0.1';
    return found?.href.replace(/\/+$/, '');
  });
  return named === own;
}

const viewLink = ({ user, company, expiresAt }: Opened): MailLinkView => ({
  email: user.email,
  name: user.name,
  company: { name: company.branding.name ?? company.name, slug: company.slug },
  sso_only: company.ssoOnly && !user.isOwner,
  require_2fa: company.require2fa,
  expires_at: expiresAt === undefined ? null : isoTimestamp(expiresAt),
});

/** The page of a link, in the brand of its company. That of a link that does not work tells the reader how to go on. */
async function buildPage(
  ctx: Context,
  request: Request,
  name: 'accept-invitation' | 'reset-password',
  find: () => Promise<Opened | undefined>,
): Promise<Response> {
  if (!isConsole(ctx)) throw unknownRoute();
  const found = await find();
  return makePageResponse(ctx.bindings.PAGES, name, {
    frames: [],
    locale: choosePageLocale(request),
    branding: found ? viewPageBranding(ctx.baseUrl, found.company) : {},
    told: found ? viewLink(found) : null,
  });
}

const link = z.object({
  token: z.string().optional().meta({ description: 'Of the link in the email. Opening the page does not use it up.' }),
});

const PAGE_ADDRESS_DESCRIPTION =
  'What the link of the email opens where `CONSOLE_URL` names no console of its own; otherwise 404. `locale=en|pt-BR|es` chooses the language, else `Accept-Language` does.';

/** The pages that the links of mails lead to where there is no console of its own. */
export const mailLinkPageEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/accept-invitation',
      access: 'public',
      operationId: 'showInvitationPage',
      summary: 'Show the page to accept an invitation',
      description: PAGE_ADDRESS_DESCRIPTION,
      query: link,
      returns: raw(200, 'HTML.', 'text/html'),
      openQuery: true,
      fails: [unknownRoute],
    },
    ({ ctx, query: { token }, request }) =>
      buildPage(ctx, request, 'accept-invitation', async () => (token ? findInvitation(ctx, token) : undefined)),
  ),
  endpoint(
    {
      method: 'get',
      path: '/reset-password',
      access: 'public',
      operationId: 'showPasswordResetPage',
      summary: 'Show the page to set a new password',
      description: `${PAGE_ADDRESS_DESCRIPTION} Without a token the page asks for the address to send a link to.`,
      query: link,
      returns: raw(200, 'HTML.', 'text/html'),
      openQuery: true,
      fails: [unknownRoute],
    },
    ({ ctx, query: { token }, request }) =>
      buildPage(ctx, request, 'reset-password', async () => (token ? findReset(ctx, token) : undefined)),
  ),
];
