import { z } from 'zod';
import { DEFAULT_LOCALE } from '../texts/locales.ts';
import { aboutView, respondToAbout } from './about.ts';
import { prepared, raw } from './endpoint.ts';
import { findBrokenParts } from './health.ts';
import { describeApi, type SentEvent, type SurfaceEndpoints } from './openapi.ts';
import { makePageResponse } from './page.ts';
import { endpoint } from './surfaces/organization.ts';

/**
 * Description of the API as JSON, without the address of the API: the description stays the same as long as the isolate
 * runs.
 */
let description: string | undefined;

/**
 * Makes the routes about the API itself. `surfaces` is called when the description is first read; `events` are the webhook
 * events.
 */
export const makePlatformEndpoints = (surfaces: () => SurfaceEndpoints[], events: readonly SentEvent[]) => [
  endpoint(
    {
      method: 'get',
      path: '/',
      openQuery: true,
      access: 'public',
      operationId: 'getAbout',
      summary: 'Get the name, version and links of the API',
      description: 'JSON; browsers get a page with the same content.',
      returns: prepared(aboutView, 'text/html'),
      fails: [],
    },
    ({ ctx, request }) => respondToAbout(ctx.bindings.PAGES, ctx.config.VERSION, request),
  ),
  endpoint(
    {
      method: 'get',
      path: '/health',
      openQuery: true,
      access: 'public',
      operationId: 'getHealth',
      summary: 'Get the health of the API',
      description: 'Checked every ten seconds. `broken` names what does not answer: `control_database`, `files`.',
      returns: prepared(z.object({ status: z.literal('ok'), version: z.string() })),
      fails: [],
      otherAnswers: {
        503: z.object({ status: z.literal('broken'), version: z.string(), broken: z.array(z.string()) }),
      },
    },
    async ({ ctx }) => {
      const version = ctx.config.VERSION;
      const brokenParts = await findBrokenParts(ctx.bindings);
      if (brokenParts.length === 0) return Response.json({ status: 'ok', version });
      return Response.json({ status: 'broken', version, broken: brokenParts }, { status: 503 });
    },
  ),
  endpoint(
    {
      method: 'get',
      path: '/openapi.json',
      openQuery: true,
      access: 'public',
      operationId: 'getOpenApiDocument',
      summary: 'Get the OpenAPI document',
      description:
        'Each route with its permission, credentials, failures and their codes, and examples: for generators of clients, and for the page of GET /docs.',
      returns: raw(200, 'The OpenAPI 3.1 description of every route.', 'application/json'),
      fails: [],
    },
    ({ ctx }) => {
      description ??= JSON.stringify(
        describeApi(surfaces(), events, { version: ctx.config.VERSION, consoleUrl: ctx.config.CONSOLE_URL }),
      );
      const servers = JSON.stringify([{ url: ctx.baseUrl }]);
      return new Response(`{"servers":${servers},${description.slice(1)}`, {
        headers: { 'Content-Type': 'application/json' },
      });
    },
  ),
  endpoint(
    {
      method: 'get',
      path: '/docs',
      openQuery: true,
      access: 'public',
      operationId: 'showApiReference',
      summary: 'Show the API reference in a browser',
      description:
        'GET /openapi.json for people, route by route, with the examples. Nothing is loaded from other hosts.',
      returns: raw(200, 'HTML.', 'text/html'),
      fails: [],
    },
    ({ ctx }) => makePageResponse(ctx.bindings.PAGES, 'docs', { frameAncestors: [], locale: DEFAULT_LOCALE }),
  ),
];
