/** The languages of pages and mails. */
export const LOCALES = ['en', 'pt-BR', 'es'] as const;

export type Locale = (typeof LOCALES)[number];

export const DEFAULT_LOCALE: Locale = 'en';

const BY_LANGUAGE: Readonly<Record<string, Locale>> = { en: 'en', pt: 'pt-BR', es: 'es' };

/** The one of our languages that a tag of BCP 47 stands for, whatever its region: `pt`, `es-MX`, `EN-gb`. */
export function parseLocale(tag: unknown): Locale | undefined {
  const [, language] = /^([a-z]{2})(?:[-_][a-z\d-]*)?$/i.exec(String(tag ?? '').trim()) ?? [];
  return language === undefined ? undefined : BY_LANGUAGE[language.toLowerCase()];
}

/** Longer headers are not of people's browsers. */
const MAX_HEADER_LENGTH = 1000;

/**
 * The language that a reader likes best of ours, by `Accept-Language` (RFC 9110 §12.5.4); undefined if they name none.
 * Among equal weights the first one wins; `*` stands for the standard one, unless that is refused.
 */
export function acceptedLocale(
  header: string | null | undefined,
  standard: Locale = DEFAULT_LOCALE,
): Locale | undefined {
  const ranges = (header ?? '').slice(0, MAX_HEADER_LENGTH).split(',').flatMap(parseRange);
  const refused = new Set(ranges.flatMap(({ locale, weight }) => (weight === 0 && locale ? [locale] : [])));
  const rest = [standard, ...LOCALES].find((locale) => !refused.has(locale));
  const [best] = ranges
    .map(({ any, locale, weight }) => ({ locale: any ? rest : locale, weight }))
    .filter(({ locale, weight }) => locale !== undefined && weight > 0)
    .toSorted((a, b) => b.weight - a.weight);
  return best?.locale;
}

function parseRange(range: string): { any: boolean; locale: Locale | undefined; weight: number }[] {
  const [tag = '', ...parameters] = range.split(';').map((part) => part.trim());
  const [parameter] = parameters;
  const [, said] = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/i.exec(parameter ?? '') ?? [];
  if (parameter !== undefined && said === undefined) return [];
  return [{ any: tag === '*', locale: parseLocale(tag), weight: said === undefined ? 1 : Number(said) }];
}
