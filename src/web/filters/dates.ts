import type { Locale } from '../../texts/locales.ts';

/** This module converts days between the API's form, `2026-01-31`, and the form in which people write them. */

const createDayFormat = (locale: Locale) =>
  new Intl.DateTimeFormat(locale, { year: 'numeric', month: '2-digit', day: '2-digit', timeZone: 'UTC' });

const formatIsoDay = (date: Date): string => date.toISOString().slice(0, 10);

/** Returns the day if the calendar has it, otherwise undefined: February 30 does not exist. */
function parseDay(text: string): string | undefined {
  const date = new Date(`${text}T00:00:00Z`);
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(date.getTime()) && formatIsoDay(date) === text
    ? text
    : undefined;
}

/** Formats a day as people write it in the language: `31/01/2026`. A text that is not a day is returned unchanged. */
export const formatDate = (value: string, locale: Locale): string =>
  parseDay(value) === undefined ? value : createDayFormat(locale).format(new Date(value));

/** Parses a day typed with any separators, or in the API's form; returns undefined for any other text. */
export function parseTypedDate(text: string, locale: Locale): string | undefined {
  const trimmedText = text.trim();
  if (/^\d{4}-/.test(trimmedText)) return parseDay(trimmedText);
  const numberTexts = trimmedText.split(/\D+/);
  const dateParts: string[] = createDayFormat(locale)
    .formatToParts(0)
    .flatMap(({ type }) => (type === 'literal' ? [] : type));
  const getPart = (type: 'year' | 'month' | 'day') => numberTexts[dateParts.indexOf(type)] ?? '';
  if (numberTexts.length !== dateParts.length) return undefined;
  return parseDay(`${getPart('year')}-${getPart('month').padStart(2, '0')}-${getPart('day').padStart(2, '0')}`);
}

export interface DateRange {
  from?: string;
  to?: string;
}

/** Returns true if a date range ends before it begins. */
export const isBackwardsRange = ({ from, to }: DateRange): boolean => !!from && !!to && from > to;

export const PRESETS = ['7', '30', '90', 'month', 'year'] as const;
export type Preset = (typeof PRESETS)[number];

/** Returns the range of a preset. `now` has the viewer's clock and time zone; "the last days" end with the day of `now`. */
export function makePresetRange(preset: Preset, now: Date): Required<DateRange> {
  const [year, month, day] = [now.getFullYear(), now.getMonth(), now.getDate()];
  const makeRange = (from: number, to: number) => ({
    from: formatIsoDay(new Date(from)),
    to: formatIsoDay(new Date(to)),
  });
  if (preset === 'month') return makeRange(Date.UTC(year, month, 1), Date.UTC(year, month + 1, 0));
  if (preset === 'year') return makeRange(Date.UTC(year, 0, 1), Date.UTC(year, 11, 31));
  return makeRange(Date.UTC(year, month, day + 1 - Number(preset)), Date.UTC(year, month, day));
}
