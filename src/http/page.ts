import { parseAccept } from 'hono/utils/accept';
import { escapeHtml } from '../kernel/text.ts';
import type { FrameAncestors, ViewBranding } from '../presentation/viewing.ts';
import { chooseAcceptedLocale, DEFAULT_LOCALE, type Locale, parseLocale } from '../texts/locales.ts';

/** Name of a page that `src/web` builds. */
export type PageName = 'view' | 'portal' | 'accept-invitation' | 'reset-password' | 'authorization' | 'plain' | 'docs';

/** Headers and data with which a page is served. */
export interface ServedPage {
  frameAncestors: FrameAncestors;
  locale: Locale;
  /** Brand of a page that shows one before its first request. */
  branding?: ViewBranding;
  /** Data for the page, as JSON. It is about one person, so no cache stores such a page. */
  data?: unknown;
  /** Status of the answer; 200 by default. */
  status?: 400 | 403;
  /** Content of a plain page. */
  plainContent?: PlainContent;
}

/** Content of a page of text, links, and forms whose buttons post to the page's own path. */
export interface PlainContent {
  title: string;
  text: string;
  links?: { href: string; title: string; text: string }[];
  /** Note in small type at the end. */
  note?: string;
  /** Forms, the most usual one first. `query` is added to the address that is posted to. */
  forms: { button: string; query?: Record<string, string> }[];
}

/** Returns true if a caller prefers a page to JSON, or accepts both equally (RFC 9110, section 12.5.1). */
export function prefersPage({ headers }: Request): boolean {
  const ranges = parseAccept(headers.get('Accept') ?? '');
  const findQuality = (range: string): number | undefined => ranges.find(({ type }) => type.toLowerCase() === range)?.q;
  const pageQuality = findQuality('text/html') ?? 0;
  return (
    pageQuality > 0 &&
    pageQuality >= (findQuality('application/json') ?? findQuality('application/*') ?? findQuality('*/*') ?? 0)
  );
}

/** Chooses the language of a page: of its address, else of its token, else of the reader's browser, else English. */
export function choosePageLocale({ url, headers }: Request, tokenLocale?: Locale): Locale {
  const requestedLocale = parseLocale(new URL(url).searchParams.get('locale'));
  return requestedLocale ?? tokenLocale ?? chooseAcceptedLocale(headers.get('Accept-Language')) ?? DEFAULT_LOCALE;
}

/**
 * Serves a built page, with the headers that make it safe to open: it runs and loads only what this API itself serves, passes on
 * no address that holds a token, and is stored in no shared cache. @param assets the binding that holds the output of
 * `src/web/build.ts`
 */
export async function makePageResponse(
  assets: Fetcher,
  name: PageName,
  { frameAncestors, locale, branding, data, status, plainContent }: ServedPage,
): Promise<Response> {
  const page = await assets.fetch(`https://assets.invalid/pages/${name}.${locale}.html`);
  if (!page.ok) throw new Error(`The page ${name} in ${locale} is not among the assets (${page.status}).`);
  const html = insertData(await page.text(), { branding, told: data });
  return new Response(plainContent ? insertContent(html, plainContent, locale) : html, {
    status: status ?? 200,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Language': locale,
      Vary: 'Accept-Language',
      'Content-Security-Policy': makeContentSecurityPolicy(name, frameAncestors),
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
      'Cache-Control': data === undefined ? 'private' : 'no-store',
      'X-Robots-Tag': 'noindex',
    },
  });
}

/** Inserts values into a page, each under its name, as data that is not executed. */
function insertData(html: string, values: Record<string, unknown>): string {
  const scripts = Object.entries(values).flatMap(([id, value]) =>
    value === undefined
      ? []
      : `<script type="application/json" id="${id}">${JSON.stringify(value).replaceAll('<', '\\u003c')}</script>`,
  );
  return html.replace('<!--data-->', () => scripts.join('\n'));
}

/** Inserts the content into a plain page. */
function insertContent(html: string, { title, text, links = [], note, forms }: PlainContent, locale: Locale): string {
  const buttons = forms.map(({ button, query }, at) => {
    const action = escapeHtml(`?${new URLSearchParams({ ...query, locale })}`);
    return `<form method="post" action="${action}"><button class="${at === 0 ? 'primary' : ''}">${escapeHtml(button)}</button></form>`;
  });
  const linkItems = links.map(
    (link) =>
      `<li><a href="${escapeHtml(link.href)}"><strong>${escapeHtml(link.title)}</strong><span>${escapeHtml(link.text)}</span></a></li>`,
  );
  const content = [
    `<h1>${escapeHtml(title)}</h1>`,
    `<p role="status">${escapeHtml(text)}</p>`,
    ...(linkItems.length > 0 ? [`<ul class="places">\n${linkItems.join('\n')}\n</ul>`] : []),
    ...buttons,
    ...(note === undefined ? [] : [`<p class="small">${escapeHtml(note)}</p>`]),
  ].join('\n');
  return html
    .replace('<!--title-->', () => escapeHtml(title))
    .replace(
      '<div id="page"></div>',
      () => `<main class="message"><div class="card sign-in">\n${content}\n</div></main>`,
    );
}

/** Pattern of an origin that CSP can name: no separator that would end the directive, no wildcard. */
export const ORIGIN_PATTERN = /^https?:\/\/[a-z0-9.-]+(:\d{1,5})?$|^https?:\/\/\[[0-9a-f:]+\](:\d{1,5})?$/i;

/** Makes the policy of a page. `frame-ancestors` names only valid origins: anything else allows nobody. */
function makeContentSecurityPolicy(name: PageName, frames: FrameAncestors): string {
  const origins = frames === 'anywhere' ? ['*'] : frames.filter((origin) => ORIGIN_PATTERN.test(origin));
  return [
    `default-src 'none'`,
    `script-src 'self'`,
    `style-src 'self'`,
    `img-src 'self' data:`,
    `connect-src 'self'`,
    `base-uri 'none'`,
    `form-action ${name === 'plain' ? "'self'" : "'none'"}`,
    `frame-ancestors ${origins.length > 0 ? origins.join(' ') : "'none'"}`,
    // Text never becomes HTML on our own pages. The viewer of the description is not ours.
    ...(name === 'docs' ? [] : [`require-trusted-types-for 'script'`, `trusted-types 'none'`]),
  ].join('; ');
}
