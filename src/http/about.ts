import { z } from 'zod';
import { ABOUT_TEXTS } from '../texts/about.ts';
import { choosePageLocale, makePageResponse, prefersPage } from './page.ts';

/** The name and version of the API, and the paths of its documentation, description and health check. */
export const aboutView = z.object({
  name: z.string(),
  version: z.string(),
  docs: z.string(),
  openapi: z.string(),
  health: z.string(),
});

const NAME = 'Data Console API';
const DOCUMENT_PATHS = { docs: '/docs', openapi: '/openapi.json', health: '/health' };

/** Answers `GET /`: the API's name and version, and links to read on. A browser gets a page, in its reader's language. */
export async function aboutResponse(assets: Fetcher, version: string, request: Request): Promise<Response> {
  const vary = 'Accept, Accept-Language';
  if (!prefersPage(request))
    return Response.json({ name: NAME, version, ...DOCUMENT_PATHS }, { headers: { Vary: vary } });
  const locale = choosePageLocale(request);
  const { text, places, version: versionText } = ABOUT_TEXTS[locale];
  const links = Object.entries(DOCUMENT_PATHS).map(([name, href]) => {
    const [title, holds] = places[name as keyof typeof DOCUMENT_PATHS];
    return { href, title, text: holds };
  });
  const note = versionText(version);
  const page = await makePageResponse(assets, 'plain', {
    frames: [],
    locale,
    plain: { title: NAME, text, links, note, forms: [] },
  });
  page.headers.set('Vary', vary);
  return page;
}
