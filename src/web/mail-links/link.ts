import type { MailLinkView } from '../../presentation/mail-links.ts';

/** Returns the server's data about whoever the link is for; null where it does not work. */
export const linkOfPage = (): MailLinkView | null =>
  JSON.parse(document.getElementById('told')?.textContent ?? 'null') as MailLinkView | null;

/**
 * Takes the token out of the page's address, where it would be seen, copied and sent along. The tab remembers it beside the
 * address, so that the page can be loaded again.
 * @returns the token; null without one; undefined where the page is about to be loaded with the one remembered
 */
export function takeToken(): string | null | undefined {
  const address = new URL(location.href);
  const token = address.searchParams.get('token');
  const { token: kept } = Object(history.state) as { token?: unknown };
  if (token === null && typeof kept === 'string') {
    address.searchParams.set('token', kept);
    history.replaceState(null, '');
    location.replace(address);
    return undefined;
  }
  address.searchParams.delete('token');
  history.replaceState(token === null ? null : { token }, '', address);
  return token;
}

/** Forgets a token that is good for nothing any more. */
export const forgetToken = (): void => history.replaceState(null, '');
