import type { Context as HonoContext } from 'hono';
import type { Failure } from '../kernel/failure.ts';
import { replaceLoneSurrogates } from '../kernel/text.ts';
import { formatTryAgain } from '../texts/errors/translate.ts';
import { DEFAULT_LOCALE, type Locale } from '../texts/locales.ts';
import { getMediaType, getSecondsToWait, type Surface, wordFailure, wordMessage } from './surface.ts';

/** Makes the headers that name an answer's language, and say that it depends on the languages the caller accepts. */
export const makeLanguageHeaders = (locale: Locale) => ({ 'Content-Language': locale, Vary: 'Accept-Language' });

/** Answers a failure in the wording of its surface. @param locale the caller's language */
export function makeFailureResponse(
  surface: Surface,
  failure: Failure,
  locale: Locale = surface.defaultLanguage,
): Response {
  if (failure.kind === 'too_many' && !surface.mediaType)
    return makeTooManyRequestsResponse(failure, wordMessage(surface, failure, locale), locale, surface.codeField);
  const { status, body } = wordFailure(surface, failure, locale);
  const { retryAfter, allowed } = failure.detail;
  // A refusal names what was sent, whatever that is.
  return new Response(JSON.stringify(body, replaceLoneSurrogates), {
    status,
    headers: {
      'Content-Type': getMediaType(surface),
      ...makeLanguageHeaders(locale),
      ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
      ...(status === 405 && Array.isArray(allowed) && { Allow: allowed.join(', ') }),
    },
  });
}

/**
 * Answers 429 with one shape of body for all surfaces: clients that wait and try again need not know which surface they called.
 * @param message the message, and the time of the next try @param codeField the field in which the surface has its codes: if that
 * is not `error`, both fields hold the code
 */
export function makeTooManyRequestsResponse(
  failure: Failure,
  message = `${failure.message} ${formatTryAgain(getSecondsToWait(failure), DEFAULT_LOCALE)}`,
  locale: Locale = DEFAULT_LOCALE,
  codeField = 'error',
): Response {
  const seconds = getSecondsToWait(failure);
  const code = 'RateLimitExceeded';
  const body = { error: code, [codeField]: code, message, details: { field: null, reason: failure.reason } };
  return Response.json(body, {
    status: 429,
    headers: { ...makeLanguageHeaders(locale), 'Retry-After': String(seconds) },
  });
}

/** Sets headers of the answer, copying it at most once: Hono's `c.header` copies it for each header. */
export function setHeaders(c: HonoContext, headers: readonly (readonly [name: string, value: string])[]): void {
  try {
    for (const [name, value] of headers) c.res.headers.set(name, value);
  } catch {
    c.res = new Response(c.res.body, c.res);
    for (const [name, value] of headers) c.res.headers.set(name, value);
  }
}
