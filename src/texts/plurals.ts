import type { Locale } from './locales.ts';

/** A text for each of a language's plural forms; `other` is used for the missing ones. */
export type PluralForms = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string };

/**
 * Creates a function that formats a number in a language, followed by the plural form for it: `formatCount(2, { one: 'row',
 * other: 'rows' })`.
 */
export function createCountFormatter(locale: Locale): (count: number, forms: PluralForms) => string {
  const pluralRules = new Intl.PluralRules(locale);
  const numberFormat = new Intl.NumberFormat(locale);
  return (count, forms) => `${numberFormat.format(count)} ${forms[pluralRules.select(count)] ?? forms.other}`;
}
