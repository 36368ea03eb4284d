import type { Locale } from '../../texts/locales.ts';

/** Returns the group and decimal separators of numbers in a language. */
function findSeparators(locale: Locale): { group: string; decimal: string } {
  const parts = new Intl.NumberFormat(locale, { useGrouping: true }).formatToParts(12_345.5);
  const findPart = (type: string) => parts.find((part) => part.type === type)?.value ?? '';
  return { group: findPart('group'), decimal: findPart('decimal') };
}

/**
 * Converts a typed number to the API's form: `1.500,25` in Portuguese is `1500.25`. The API refuses a text that is not a number.
 */
export function parseTypedNumber(text: string, locale: Locale): string {
  const { group, decimal } = findSeparators(locale);
  const textWithoutSpaces = text.replaceAll(/\s/g, '');
  const GROUPED_PATTERN = new RegExp(`^-?\\d{1,3}(?:\\${group}\\d{3})+(?:\\${decimal}\\d*)?$`);
  return (
    GROUPED_PATTERN.test(textWithoutSpaces) ? textWithoutSpaces.replaceAll(group, '') : textWithoutSpaces
  ).replace(',', '.');
}

/** Formats a number in the API's form as people type it in the language. */
export const formatNumber = (value: string, locale: Locale): string =>
  /^-?\d+\.\d+$/.test(value) ? value.replace('.', findSeparators(locale).decimal) : value;
