import { z } from 'zod';
import type { Context } from '../../context.ts';
import { raw } from '../../http/endpoint.ts';
import { choosePageLocale, makePageResponse, type PlainContent } from '../../http/page.ts';
import { endpoint } from '../../http/surfaces/sharing.ts';
import { MAIL_TEXTS } from '../../texts/mails/languages.ts';
import { viewBranding } from '../companies/service.ts';
import { recordConsentAnswer } from './consent.ts';
import { noConsentRequest, noSubscriptionToEnd } from './failures.ts';
import { canEndAllMails, type TokenHolder, unsubscribeByToken, verifyToken } from './links.ts';

const unsubscribePath = '/unsubscribe/{token}';
const consentPath = '/mail-consent/{token}';

const scopeQuery = z.object({
  scope: z.enum(['schedule', 'company']).optional().meta({
    description: '`company`: all scheduled emails of the company, for good. Only addresses that are no user’s.',
  }),
});

const answerQuery = z.object({
  answer: z
    .enum(['yes', 'no'])
    .default('yes')
    .meta({ description: '`no` ends all scheduled emails of the company, for good.' }),
});

/** Builds a page for the holder of a mail's link, if there is one, in the brand of its company. */
async function buildPage(
  ctx: Context,
  request: Request,
  token: string,
  makeContent: (
    texts: (typeof MAIL_TEXTS)['en']['pages'],
    company: string,
    holder: TokenHolder | undefined,
  ) => PlainContent,
): Promise<Response> {
  const [holder, locale] = [await verifyToken(ctx, token), choosePageLocale(request)];
  const { pages, aCompany } = MAIL_TEXTS[locale];
  const company = holder?.company;
  return makePageResponse(ctx.bindings.PAGES, 'plain', {
    frameAncestors: [],
    locale,
    branding: company ? viewBranding(ctx.baseUrl, company) : {},
    plainContent: makeContent(pages, company ? (company.branding.name ?? company.name) : aCompany, holder),
  });
}

/** Tells whether the request comes from a browser, which shows a page; mail programs and scripts need none. */
const wantsPage = ({ headers }: Request): boolean => headers.get('Accept')?.includes('text/html') === true;

const buildEmptyResponse = () => new Response('', { headers: { 'Content-Type': 'text/plain; charset=utf-8' } });

const RESPONSE_DESCRIPTION = 'An empty text, or for browsers a page that says so.';

/** The targets of links in mails: pages for people, and the requests that mail programs send by themselves (RFC 8058). */
export const unsubscribeEndpoints = [
  endpoint(
    {
      method: 'get',
      path: unsubscribePath,
      access: 'public',
      operationId: 'showUnsubscribePage',
      summary: 'Show the unsubscribe page',
      description:
        'Opening it unsubscribes nobody, because mail programs may open links by themselves: the page asks first.',
      returns: raw(200, 'HTML.', 'text/html'),
      openQuery: true,
      fails: [],
    },
    ({ ctx, params, request }) =>
      buildPage(ctx, request, params.token, ({ unsubscribe: texts }, company, holder) => {
        const endAllOption = { button: texts.buttonAll(company), query: { scope: 'company' } };
        if (holder?.scheduleId === null)
          return { title: texts.title, text: texts.questionAll(company), forms: [endAllOption] };
        const endOneOption = { button: texts.button };
        return {
          title: texts.title,
          text: texts.question,
          forms: holder && canEndAllMails(holder) ? [endOneOption, endAllOption] : [endOneOption],
        };
      }),
  ),
  endpoint(
    {
      method: 'post',
      path: unsubscribePath,
      access: 'public',
      recordedAs: 'schedules:unsubscribe',
      operationId: 'unsubscribeRecipient',
      summary: 'Unsubscribe a recipient with one click',
      description:
        'RFC 8058. The recipient gets no more emails of the schedule, or of the company with `scope=company` and by the link of the email that asks whether emails are wanted. An address from outside is never sent them again, even if it is removed from the schedule and added again. The body is ignored.',
      query: scopeQuery,
      returns: raw(200, RESPONSE_DESCRIPTION, 'text/plain', 'text/html'),
      openQuery: true,
      fails: [noSubscriptionToEnd],
    },
    async ({ ctx, params, query, request }) => {
      const endsAllMails = query.scope === 'company';
      const isDone = await unsubscribeByToken(ctx, params.token, endsAllMails);
      if (wantsPage(request)) {
        return buildPage(ctx, request, params.token, ({ unsubscribe: texts }, company, holder) => {
          const doneText = endsAllMails || holder?.scheduleId === null ? texts.doneAll(company) : texts.done;
          return { title: texts.title, text: isDone ? doneText : texts.unknown, forms: [] };
        });
      }
      if (!isDone) throw noSubscriptionToEnd();
      return buildEmptyResponse();
    },
  ),
  endpoint(
    {
      method: 'get',
      path: consentPath,
      access: 'public',
      operationId: 'showMailConsentPage',
      summary: 'Show the page that asks whether scheduled emails are wanted',
      description:
        'An address that is no user’s is sent the link once by a company, before its first scheduled email. Opening it agrees to nothing: the page asks first.',
      returns: raw(200, 'HTML.', 'text/html'),
      openQuery: true,
      fails: [],
    },
    ({ ctx, params, request }) =>
      buildPage(ctx, request, params.token, ({ consent: texts }, company, holder) =>
        holder?.consent && holder.consent.endedAt === null
          ? {
              title: texts.title,
              text: texts.question(company),
              forms: [{ button: texts.yes }, { button: texts.no(company), query: { answer: 'no' } }],
            }
          : { title: texts.title, text: texts.unknown, forms: [] },
      ),
  ),
  endpoint(
    {
      method: 'post',
      path: consentPath,
      access: 'public',
      recordedAs: 'schedules:consent',
      operationId: 'answerMailConsent',
      summary: 'Answer whether scheduled emails of a company are wanted',
      description:
        'The address gets what schedules send to it from then on, at most 50 emails a day. Whoever has ended all emails of the company cannot agree any more. The body is ignored.',
      query: answerQuery,
      returns: raw(200, RESPONSE_DESCRIPTION, 'text/plain', 'text/html'),
      openQuery: true,
      fails: [noConsentRequest],
    },
    async ({ ctx, params, query, request }) => {
      const hasConsented = query.answer === 'yes';
      const isDone = await recordConsentAnswer(ctx, params.token, hasConsented);
      if (wantsPage(request)) {
        return buildPage(ctx, request, params.token, ({ consent: texts, unsubscribe: { doneAll } }, company) => ({
          title: texts.title,
          text: isDone ? (hasConsented ? texts.done : doneAll)(company) : texts.unknown,
          forms: [],
        }));
      }
      if (!isDone) throw noConsentRequest();
      return buildEmptyResponse();
    },
  ),
];
