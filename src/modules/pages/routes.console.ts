import { z } from 'zod';
import { companySuspended, unknownRoute } from '../../access/failures.ts';
import type { Context } from '../../context.ts';
import { raw } from '../../http/endpoint.ts';
import { choosePageLocale, makePageResponse } from '../../http/page.ts';
import { wordMessage } from '../../http/surface.ts';
import { endpoint, surface } from '../../http/surfaces/console.ts';
import { formatIsoTimestamp } from '../../kernel/fields.ts';
import type { MailLinkView } from '../../presentation/mail-links.ts';
import { MAIL_LINK_TEXTS } from '../../texts/mail-links/languages.ts';
import { type Company, viewPageBranding } from '../companies/service.ts';
import { findInvitation } from '../invitations/service.ts';
import { findReset } from '../password-reset/service.ts';
import type { User } from '../users/service.ts';

/** The user and company of a link. `expiresAt` in milliseconds. */
interface OpenedLink {
  user: User;
  company: Company;
  expiresAt?: number;
}

/** Tells whether links in mails lead to pages of this API, because `CONSOLE_URL` names no separate console. */
function hasOwnPages({ config, baseUrl }: Context): boolean {
  const [consoleUrl, ownUrl] = [config.CONSOLE_URL, baseUrl].map((url) => {
    const configuredUrl = URL.parse(url);
    // This machine has a name and an address.
    if (configuredUrl?.hostname === 'localhost') configuredUrl.hostname = '127.0.0.1';
    return configuredUrl?.href.replace(/\/+$/, '');
  });
  return consoleUrl === ownUrl;
}

const viewLink = ({ user, company, expiresAt }: OpenedLink): MailLinkView => ({
  email: user.email,
  name: user.name,
  company: { name: company.branding.name ?? company.name, slug: company.slug },
  sso_only: company.ssoOnly && !user.isOwner,
  require_2fa: company.require2fa,
  expires_at: expiresAt === undefined ? null : formatIsoTimestamp(expiresAt),
});

/**
 * Builds the page of a link, in the brand of its company. If the link does not work, the page tells the reader what to do. While
 * the company is suspended, the page says only that, and shows nothing of the user or the company.
 */
async function buildLinkPage(
  ctx: Context,
  request: Request,
  name: 'accept-invitation' | 'reset-password',
  findMailLink: () => Promise<OpenedLink | undefined>,
): Promise<Response> {
  if (!hasOwnPages(ctx)) throw unknownRoute();
  const foundLink = await findMailLink();
  const locale = choosePageLocale(request);
  if (foundLink && foundLink.company.suspendedAt !== null) {
    const { invitation, reset } = MAIL_LINK_TEXTS[locale];
    const title = name === 'accept-invitation' ? invitation.dead : reset.dead;
    return makePageResponse(ctx.bindings.PAGES, 'plain', {
      frameAncestors: [],
      locale,
      data: null,
      status: 403,
      plainContent: { title, text: wordMessage(surface, companySuspended(), locale), forms: [] },
    });
  }
  return makePageResponse(ctx.bindings.PAGES, name, {
    frameAncestors: [],
    locale,
    branding: foundLink ? viewPageBranding(ctx.baseUrl, foundLink.company) : {},
    data: foundLink ? viewLink(foundLink) : null,
  });
}

const link = z.object({
  token: z.string().optional().meta({ description: 'Of the link in the email. Opening the page does not use it up.' }),
});

const SUSPENDED_PAGE_ANSWER = {
  403: raw(403, 'HTML, which says that the organization of the link is suspended.', 'text/html'),
};

const PAGE_ADDRESS_DESCRIPTION =
  'What the link of the email opens where `CONSOLE_URL` names no console of its own; otherwise 404. `locale=en|pt-BR|es` chooses the language, else `Accept-Language` does.';

/** The endpoints of the pages that links in mails lead to if there is no separate console. */
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
      otherAnswers: SUSPENDED_PAGE_ANSWER,
      openQuery: true,
      fails: [unknownRoute],
    },
    ({ ctx, query: { token }, request }) =>
      buildLinkPage(ctx, request, 'accept-invitation', async () => (token ? findInvitation(ctx, token) : undefined)),
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
      otherAnswers: SUSPENDED_PAGE_ANSWER,
      openQuery: true,
      fails: [unknownRoute],
    },
    ({ ctx, query: { token }, request }) =>
      buildLinkPage(ctx, request, 'reset-password', async () => (token ? findReset(ctx, token) : undefined)),
  ),
];
