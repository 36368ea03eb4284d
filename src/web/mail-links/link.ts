import type { MailLinkView } from '../../presentation/mail-links.ts';

/** Returns the data about the link's user that the server put into the page; null if the link is not valid. */
export const readMailLink = (): MailLinkView | null =>
  JSON.parse(document.getElementById('told')?.textContent ?? 'null') as MailLinkView | null;

/**
 * Removes the token from the page's address, where it could be seen, copied or sent along. The history entry stores it, so that
 * the page can be reloaded.
 * @returns the token; null if there is none; undefined if the page is about to reload with the stored token
 */
export function takeToken(): string | null | undefined {
  const url = new URL(location.href);
  const token = url.searchParams.get('token');
  const { token: storedToken } = Object(history.state) as { token?: unknown };
  if (token === null && typeof storedToken === 'string') {
    url.searchParams.set('token', storedToken);
    history.replaceState(null, '');
    location.replace(url);
    return undefined;
  }
  url.searchParams.delete('token');
  history.replaceState(token === null ? null : { token }, '', url);
  return token;
}

/** Deletes the stored token, which is no longer valid, from the history entry. */
export const forgetToken = (): void => history.replaceState(null, '');
