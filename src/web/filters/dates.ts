import type { Locale } from '../../texts/locales.ts';

/** Days as the API has them, `2026-01-31`, in words and figures of people. */

const digits = (locale: Locale) =>
  new Intl.DateTimeFormat(locale, { year: 'numeric', month: '2-digit', day: '2-digit', timeZone: 'UTC' });

const isoDay = (date: Date): string => date.toISOString().slice(0, 10);

/** The day, if the calendar has it: February 30 it has not. */
function parseDay(text: string): string | undefined {
  const date = new Date(`${text}T00:00:00Z`);
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(date.getTime()) && isoDay(date) === text ? text : undefined;
}

/** A day as people of that language write it: `31/01/2026`. A text that is no day stays as it is. */
export const shownDate = (value: string, locale: Locale): string =>
  parseDay(value) === undefined ? value : digits(locale).format(new Date(value));

/** A day as people type it, with any signs between its figures, or as the API writes it; undefined for anything else. */
export function typedDate(text: string, locale: Locale): string | undefined {
  const plain = text.trim();
  if (/^\d{4}-/.test(plain)) return parseDay(plain);
  const figures = plain.split(/\D+/);
  const order: string[] = digits(locale)
    .formatToParts(0)
    .flatMap(({ type }) => (type === 'literal' ? [] : type));
  const part = (type: 'year' | 'month' | 'day') => figures[order.indexOf(type)] ?? '';
  if (figures.length !== order.length) return undefined;
  return parseDay(`${part('year')}-${part('month').padStart(2, '0')}-${part('day').padStart(2, '0')}`);
}

export interface DateRange {
  from?: string;
  to?: string;
}

/** Whether a range of days ends before it begins. */
export const isBackwards = ({ from, to }: DateRange): boolean => !!from && !!to && from > to;

export const PRESETS = ['7', '30', '90', 'month', 'year'] as const;
export type Preset = (typeof PRESETS)[number];

/** The days that a preset stands for. `now` has the viewer's clock and time zone; the last days are those up to now's. */
export function presetRange(preset: Preset, now: Date): Required<DateRange> {
  const [year, month, day] = [now.getFullYear(), now.getMonth(), now.getDate()];
  const range = (from: number, to: number) => ({ from: isoDay(new Date(from)), to: isoDay(new Date(to)) });
  if (preset === 'month') return range(Date.UTC(year, month, 1), Date.UTC(year, month + 1, 0));
  if (preset === 'year') return range(Date.UTC(year, 0, 1), Date.UTC(year, 11, 31));
  return range(Date.UTC(year, month, day + 1 - Number(preset)), Date.UTC(year, month, day));
}
