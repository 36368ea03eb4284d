import { z } from 'zod';
import { ABOUT_TEXTS } from '../texts/about.ts';
import { choosePageLocale, makePageResponse, prefersPage } from './page.ts';

/** Schema of the name and version of the API, and of the paths of its documentation, description and health check. */
export const aboutView = z.object({
  name: z.string(),
  version: z.string(),
  docs: z.string(),
  openapi: z.string(),
  health: z.string(),
});

const API_NAME = 'Data Console API';
const DOCUMENT_PATHS = { docs: '/docs', openapi: '/openapi.json', health: '/health' };

/** Answers `GET /`: the API's name and version, and links to further reading. Browsers get a page in the reader's language. */
export async function respondToAbout(assets: Fetcher, version: string, request: Request): Promise<Response> {
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
