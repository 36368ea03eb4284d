import type { Locale } from '../../texts/locales.ts';

/** The signs of numbers in a language. */
function findSigns(locale: Locale): { group: string; decimal: string } {
  const parts = new Intl.NumberFormat(locale, { useGrouping: true }).formatToParts(12_345.5);
  const sign = (type: string) => parts.find((part) => part.type === type)?.value ?? '';
  return { group: sign('group'), decimal: sign('decimal') };
}

/** A typed number in the API's form: `1.500,25` in Portuguese is `1500.25`. The API refuses what is none. */
export function typedNumber(text: string, locale: Locale): string {
  const { group, decimal } = findSigns(locale);
  const plain = text.replaceAll(/\s/g, '');
  const grouped = new RegExp(`^-?\\d{1,3}(?:\\${group}\\d{3})+(?:\\${decimal}\\d*)?$`);
  return (grouped.test(plain) ? plain.replaceAll(group, '') : plain).replace(',', '.');
}

/** A number of the API's form as people of that language would type it. */
export const shownNumber = (value: string, locale: Locale): string =>
  /^-?\d+\.\d+$/.test(value) ? value.replace('.', findSigns(locale).decimal) : value;
