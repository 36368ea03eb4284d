import { z } from 'zod';

/** What the API is called, and the paths to read on at. */
export const aboutView = z.object({
  name: z.string(),
  version: z.string(),
  docs: z.string(),
  openapi: z.string(),
  health: z.string(),
});

const NAME = 'Data Console API';
const PLACES = { docs: '/docs', openapi: '/openapi.json', health: '/health' };

/**
 * What answers at the root: what this is, and where to read on. A browser gets it as a page.
 * @param accept what the caller likes to read, by `Accept`
 */
export function aboutResponse(version: string, accept: string | null): Response {
  const vary = { Vary: 'Accept' };
  if (!/\btext\/html\b/i.test(accept ?? ''))
    return Response.json({ name: NAME, version, ...PLACES }, { headers: vary });
  return new Response(pageOf(version), {
    headers: {
      ...vary,
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      'Referrer-Policy': 'no-referrer',
    },
  });
}

const escaped = (text: string): string => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

const pageOf = (version: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${NAME}</title>
<h1>${NAME}</h1>
<p>Version ${escaped(version)}</p>
<ul>
${Object.entries(PLACES)
  .map(([name, path]) => `<li><a href="${path}">${name}</a>`)
  .join('\n')}
</ul>
</html>
`;
