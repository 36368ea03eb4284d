/** Asset that holds the file name of the component's current version: see src/web/build.ts. */
const CURRENT_NAME_ASSET = 'https://assets.invalid/embed/current';

/** Headers that let scripts of any site load the component, also if that site isolates itself. */
const ANY_SITE_HEADERS = { 'Access-Control-Allow-Origin': '*', 'Cross-Origin-Resource-Policy': 'cross-origin' };
/** Value that lets caches keep an answer for five minutes, so that a site runs an older version at most that long. */
const CACHE_FIVE_MINUTES = 'public, max-age=300';
const CACHE_FOREVER = 'public, max-age=31536000, immutable';

/** Redirects to the current version of the component. */
export async function redirectToComponent(assets: Fetcher): Promise<Response> {
  const name = await readCurrentName(assets);
  return new Response(null, {
    status: 302,
    headers: { ...ANY_SITE_HEADERS, Location: `/embed/${name}`, 'Cache-Control': CACHE_FIVE_MINUTES },
  });
}

/** Answers a version of the component, or the current one if it no longer exists: no site breaks. Undefined for other names. */
export async function readComponentResponse(assets: Fetcher, name: string): Promise<Response | undefined> {
  if (!/^component-[A-Z0-9]{8}\.js$/.test(name)) return undefined;
  const currentName = await readCurrentName(assets);
  const script = await assets.fetch(`https://assets.invalid/embed/${currentName}`);
  if (!script.ok) throw new Error(`The component is not among the assets (${script.status}).`);
  return new Response(script.body, {
    headers: {
      ...ANY_SITE_HEADERS,
      'Content-Type': 'text/javascript; charset=utf-8',
      'Cache-Control': name === currentName ? CACHE_FOREVER : CACHE_FIVE_MINUTES,
      'X-Content-Type-Options': 'nosniff',
    },
  });
}

async function readCurrentName(assets: Fetcher): Promise<string> {
  const nameResponse = await assets.fetch(CURRENT_NAME_ASSET);
  if (!nameResponse.ok) throw new Error(`The component's version is not among the assets (${nameResponse.status}).`);
  return (await nameResponse.text()).trim();
}
