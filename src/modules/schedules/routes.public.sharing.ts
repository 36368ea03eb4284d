import { raw } from '../../http/endpoint.ts';
import { pageLocale, pageResponse } from '../../http/page.ts';
import { endpoint } from '../../http/surfaces/sharing.ts';
import { nothingToEnd } from './failures.ts';
import { brandingOfToken, unsubscribeBy } from './links.ts';

const path = '/unsubscribe/{token}';

/** What the link of a mail leads to: a page for people, and what mail programs do by themselves (RFC 8058). */
export const unsubscribeEndpoints = [
  endpoint(
    {
      method: 'get',
      path,
      access: 'public',
      operationId: 'showUnsubscribePage',
      summary: 'Show the unsubscribe page',
      description:
        'Opening it unsubscribes nobody, because mail programs may open links by themselves: the page asks first.',
      returns: raw(200, 'HTML.', 'text/html'),
      openQuery: true,
      fails: [],
    },
    async ({ ctx, params, request }) =>
      pageResponse(ctx.bindings.PAGES, 'unsubscribe', {
        frames: [],
        locale: pageLocale(request),
        branding: await brandingOfToken(ctx, params.token),
      }),
  ),
  endpoint(
    {
      method: 'post',
      path,
      access: 'public',
      recordedAs: 'schedules:unsubscribe',
      operationId: 'unsubscribeRecipient',
      summary: 'Unsubscribe a recipient with one click',
      description: 'RFC 8058. The recipient gets no more emails of the schedule. The body is ignored.',
      returns: raw(200, 'An empty text.', 'text/plain'),
      openQuery: true,
      fails: [nothingToEnd],
    },
    async ({ ctx, params }) => {
      if (!(await unsubscribeBy(ctx, params.token))) throw nothingToEnd();
      return new Response('', { headers: { 'Content-Type': 'text/plain; charset=utf-8' } });
    },
  ),
];
