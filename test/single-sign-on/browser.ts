/**
 * Follows redirects and fills in the provider's forms as a person's browser would, cookies included, until the provider
 * sends the person to an address that begins with `endAddress`.
 * @returns that address, not visited
 */
export async function signInAtProvider(
  start: URL,
  { login, endAddress }: { login: string; endAddress: string },
): Promise<URL> {
  const cookies = new Map<string, string>();
  let url = start;
  let form: URLSearchParams | undefined;
  for (let step = 0; step < 20; step += 1) {
    if (url.href.startsWith(endAddress)) return url;
    const response: Response = await fetch(url, {
      method: form ? 'POST' : 'GET',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      redirect: 'manual',
      ...(form && { body: form }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [name, value] = (cookie.split(';')[0] as string).split(/=(.*)/s) as [string, string];
      cookies.set(name, value);
    }
    const page = await response.text();
    const location = response.headers.get('location');
    if (location !== null) {
      form = undefined;
      url = new URL(location, url);
      continue;
    }
    const action = /<form[^>]+action="([^"]+)"/.exec(page)?.[1];
    const prompt = /name="prompt" value="([^"]+)"/.exec(page)?.[1];
    if (!action || !prompt) throw new Error(`The provider answered ${response.status}: ${page.slice(0, 500)}`);
    form = new URLSearchParams({ prompt, login, password: 'any' });
    url = new URL(action, url);
  }
  throw new Error('The provider sends the person in circles.');
}
