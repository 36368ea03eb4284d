import { DEFAULT_LOCALE, type Locale, parseLocale } from '../texts/locales.ts';
import type { PageTexts } from '../texts/pages/en.ts';

/** Loads the texts of a language: only one of them is loaded. */
const LANGUAGES: Record<Locale, () => Promise<{ texts: PageTexts }>> = {
  en: () => import('../texts/pages/en.ts'),
  'pt-BR': () => import('../texts/pages/pt-BR.ts'),
  es: () => import('../texts/pages/es.ts'),
};

/** The page's document. There is none where the tests of pure functions run. */
const { document: PAGE } = globalThis as { document?: { documentElement: { lang: string } } };

/** The language of the page, as the server chose it. */
export const LOCALE: Locale = parseLocale(PAGE?.documentElement.lang) ?? DEFAULT_LOCALE;

/** The texts of the page. */
export const TEXTS: PageTexts = (await LANGUAGES[LOCALE]()).texts;

/** The text for an error code in the page's language; the server's English message is for developers. */
export function failureText(code: string): string {
  const known: Partial<Record<string, string>> = TEXTS.failures;
  return known[code] ?? TEXTS.broken;
}

const LISTS = new Intl.ListFormat(LOCALE, { type: 'unit' });

/** Items in a row, as one writes them in the language of the page. */
export const formatList = (items: readonly string[]): string => LISTS.format(items);
