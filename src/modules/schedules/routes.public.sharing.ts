import { raw } from '../../http/endpoint.ts';
import { pageLocale, pageResponse } from '../../http/page.ts';
import { endpoint } from '../../http/surfaces/sharing.ts';
import { nothingToEnd } from './failures.ts';
import { brandingOfToken, unsubscribeBy } from './unsubscribing.ts';

const path = '/unsubscribe/{token}';

/** What the link of a mail leads to: a page for people, and what mail programs do by themselves (RFC 8058). */
export const unsubscribeEndpoints = [
  endpoint(
    {
      method: 'get',
      path,
      access: 'public',
      operationId: 'showUnsubscribePage',
      summary: 'Show the page to unsubscribe from a mail',
      description: 'It asks first: programs that look into mails open their links.',
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
      summary: 'Unsubscribe a recipient from a mail, with one click',
      description: 'RFC 8058. Whatever form comes with it, the recipient gets this mail no more.',
      returns: raw(200, 'Nothing more to say.', 'text/plain'),
      openQuery: true,
      fails: [nothingToEnd],
    },
    async ({ ctx, params }) => {
      if (!(await unsubscribeBy(ctx, params.token))) throw nothingToEnd();
      return new Response('', { headers: { 'Content-Type': 'text/plain; charset=utf-8' } });
    },
  ),
];
