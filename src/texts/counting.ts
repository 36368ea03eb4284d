import type { Locale } from './locales.ts';

/** A text for each of the plural forms that a language has; `other` stands for those that are not given. */
export type Forms = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string };

/** Writes a number in a language, and after it the form that goes with it: `counted(2, { one: 'row', other: 'rows' })`. */
export function counting(locale: Locale): (count: number, forms: Forms) => string {
  const rules = new Intl.PluralRules(locale);
  const numbers = new Intl.NumberFormat(locale);
  return (count, forms) => `${numbers.format(count)} ${forms[rules.select(count)] ?? forms.other}`;
}
