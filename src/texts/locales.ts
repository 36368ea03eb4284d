/** The languages of pages and mails. */
export const LOCALES = ['en', 'pt-BR', 'es'] as const;

export type Locale = (typeof LOCALES)[number];

export const DEFAULT_LOCALE: Locale = 'en';

const LOCALE_BY_LANGUAGE: Readonly<Record<string, Locale>> = { en: 'en', pt: 'pt-BR', es: 'es' };

/** Parses a tag of BCP 47 to one of our languages, whatever its region: `pt`, `es-MX`, `EN-gb`; undefined for other languages. */
export function parseLocale(tag: unknown): Locale | undefined {
  const [, language] = /^([a-z]{2})(?:[-_][a-z\d-]*)?$/i.exec(String(tag ?? '').trim()) ?? [];
  return language === undefined ? undefined : LOCALE_BY_LANGUAGE[language.toLowerCase()];
}

/** The maximum number of characters of a header that are read: browsers of real users send shorter ones. */
const MAX_HEADER_LENGTH = 1000;

/**
 * Chooses the reader's favourite among our languages, by `Accept-Language` (RFC 9110 §12.5.4); undefined if the header names none
 * of them. Among equal weights the first one wins; `*` means the standard language, unless that is excluded.
 */
export function chooseAcceptedLocale(
  header: string | null | undefined,
  standardLocale: Locale = DEFAULT_LOCALE,
): Locale | undefined {
  const ranges = (header ?? '').slice(0, MAX_HEADER_LENGTH).split(',').flatMap(parseRange);
  const excludedLocales = new Set(ranges.flatMap(({ locale, weight }) => (weight === 0 && locale ? [locale] : [])));
  const wildcardLocale = [standardLocale, ...LOCALES].find((locale) => !excludedLocales.has(locale));
  const [best] = ranges
    .map(({ isWildcard, locale, weight }) => ({ locale: isWildcard ? wildcardLocale : locale, weight }))
    .filter(({ locale, weight }) => locale !== undefined && weight > 0)
    .toSorted((a, b) => b.weight - a.weight);
  return best?.locale;
}

function parseRange(range: string): { isWildcard: boolean; locale: Locale | undefined; weight: number }[] {
  const [tag = '', ...parameters] = range.split(';').map((rangePart) => rangePart.trim());
  const [parameter] = parameters;
  const [, qualityText] = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/i.exec(parameter ?? '') ?? [];
  if (parameter !== undefined && qualityText === undefined) return [];
  return [
    { isWildcard: tag === '*', locale: parseLocale(tag), weight: qualityText === undefined ? 1 : Number(qualityText) },
  ];
}
