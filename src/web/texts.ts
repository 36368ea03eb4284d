import { DEFAULT_LOCALE, type Locale, parseLocale } from '../texts/locales.ts';
import type { PageTexts } from '../texts/pages/en.ts';

/** Functions that load the texts of a language. Only one language is loaded. */
const TEXT_LOADERS: Record<Locale, () => Promise<{ texts: PageTexts }>> = {
  en: () => import('../texts/pages/en.ts'),
  'pt-BR': () => import('../texts/pages/pt-BR.ts'),
  es: () => import('../texts/pages/es.ts'),
};

/** The document of the page; undefined in the tests of pure functions, which run without one. */
const { document: PAGE } = globalThis as { document?: { documentElement: { lang: string } } };

/** The language of the page, as the server chose it. */
export const LOCALE: Locale = parseLocale(PAGE?.documentElement.lang) ?? DEFAULT_LOCALE;

/** The texts of the page. */
export const TEXTS: PageTexts = (await TEXT_LOADERS[LOCALE]()).texts;

/** Returns the text for an error code in the page's language; the server's English message is for developers. */
export function getFailureText(code: string): string {
  const failureTexts: Partial<Record<string, string>> = TEXTS.failures;
  return failureTexts[code] ?? TEXTS.broken;
}

const LIST_FORMAT = new Intl.ListFormat(LOCALE, { type: 'unit' });

/** Joins items to a list in the style of the page's language. */
export const formatList = (items: readonly string[]): string => LIST_FORMAT.format(items);
