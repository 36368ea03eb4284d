import { z } from 'zod';
import type { Bindings } from '../config.ts';
import { clock } from '../kernel/clock.ts';
import { awaitWithinTime } from '../kernel/time-limit.ts';
import { logError } from '../platform/log.ts';
import { ABOUT_TEXTS } from '../texts/about.ts';
import { DEFAULT_LOCALE } from '../texts/locales.ts';
import { prepared, raw } from './endpoint.ts';
import { describeApi, type SentEvent, type SurfaceEndpoints } from './openapi.ts';
import { choosePageLocale, makePageResponse, prefersPage } from './page.ts';
import { endpoint } from './surfaces/organization.ts';

/** Description of the API as JSON, without its address: it stays the same as long as the isolate runs. */
let description: string | undefined;

/** Makes the routes about the API itself. `listSurfaces` is called when the description is first read. */
export const makePlatformEndpoints = (listSurfaces: () => SurfaceEndpoints[], events: readonly SentEvent[]) => [
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
        describeApi(listSurfaces(), events, { version: ctx.config.VERSION, consoleUrl: ctx.config.CONSOLE_URL }),
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

/** Schema of the name and version of the API, and of the paths of its documentation, description and health check. */
const aboutView = z.object({
  name: z.string(),
  version: z.string(),
  docs: z.string(),
  openapi: z.string(),
  health: z.string(),
});

const API_NAME = 'Data Console API';
const DOCUMENT_PATHS = { docs: '/docs', openapi: '/openapi.json', health: '/health' };

/** Answers `GET /`: the API's name and version, and links to further reading. Browsers get a page in the reader's language. */
async function respondToAbout(assets: Fetcher, version: string, request: Request): Promise<Response> {
  const varyHeader = 'Accept, Accept-Language';
  if (!prefersPage(request))
    return Response.json({ name: API_NAME, version, ...DOCUMENT_PATHS }, { headers: { Vary: varyHeader } });
  const locale = choosePageLocale(request);
  const { text, pages, version: formatVersion } = ABOUT_TEXTS[locale];
  const links = Object.entries(DOCUMENT_PATHS).map(([name, href]) => {
    const [title, holds] = pages[name as keyof typeof DOCUMENT_PATHS];
    return { href, title, text: holds };
  });
  const note = formatVersion(version);
  const page = await makePageResponse(assets, 'plain', {
    frameAncestors: [],
    locale,
    plainContent: { title: API_NAME, text, links, note, forms: [] },
  });
  page.headers.set('Vary', varyHeader);
  return page;
}

/** Milliseconds for which a health check's result is answered again, so that frequent callers cost nothing. */
const CACHE_MS = 10_000;
const TIMEOUT_MS = 2_000;

const PART_CHECKS: Record<string, (bindings: Bindings) => Promise<unknown>> = {
  control_database: ({ CONTROL_DB }) => CONTROL_DB.prepare('select 1').first(),
  files: ({ FILES }) => FILES.head('health'),
};

const lastChecks = new WeakMap<Bindings, { at: number; brokenParts: string[] }>();

/** Finds the required parts that do not answer, checked at most every ten seconds, by one request of an isolate at a time. */
async function findBrokenParts(bindings: Bindings): Promise<string[]> {
  const lastResult = lastChecks.get(bindings);
  const now = clock.now();
  if (lastResult && now - lastResult.at < CACHE_MS) return lastResult.brokenParts;
  const check = { at: now, brokenParts: lastResult?.brokenParts ?? [] };
  lastChecks.set(bindings, check);
  const checkResults = await Promise.all(
    Object.entries(PART_CHECKS).map(async ([part, ask]) =>
      (await isResponding(part, () => ask(bindings))) ? [] : [part],
    ),
  );
  check.brokenParts = checkResults.flat();
  return check.brokenParts;
}

async function isResponding(part: string, runCheck: () => Promise<unknown>): Promise<boolean> {
  try {
    await awaitWithinTime(TIMEOUT_MS, runCheck());
    return true;
  } catch (error) {
    logError('part_broken', error, { part });
    return false;
  }
}
