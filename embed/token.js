/** The time that a host has to answer. */
export const TIMEOUT_MS = 10_000;
/** Longer ones are no tokens of embeds. */
const MAX_LENGTH = 6_000;
/** Answers by which a server says that this viewer may not see it: asking again does not help. */
const REFUSALS = new Set([401, 403, 404, 410]);

/** The host's server gives this viewer no token. */
export class Refused extends Error {}

/** Whether something has the form of a token. @param {unknown} value @returns {value is string} */
export const isToken = (value) =>
  typeof value === 'string' && value.length <= MAX_LENGTH && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(value);

/**
 * Fetches a token from the host's server, which answers `{ "token": … }`.
 * @param {string} endpoint
 * @param {string} base
 * @param {AbortSignal} signal
 * @returns {Promise<string>}
 */
export async function fetchToken(endpoint, base, signal) {
  const response = await fetch(new URL(endpoint, base), {
    headers: { Accept: 'application/json' },
    cache: 'no-store',
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  });
  if (REFUSALS.has(response.status)) throw new Refused(`The token endpoint answered ${response.status}.`);
  if (!response.ok) throw new Error(`The token endpoint answered ${response.status}.`);
  const answer = await response.json().catch(() => undefined);
  const token = Object(answer).token;
  if (!isToken(token)) throw new Error('The token endpoint gave no { "token": … }.');
  return token;
}
