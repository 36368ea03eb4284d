import { Cron } from 'croner';
import { DAY_MS } from '../../kernel/clock.ts';

/** The shortest time between two occurrences, in milliseconds. */
export const MIN_INTERVAL_MS = 15 * 60 * 1000;

const FIVE_FIELDS_PATTERN = /^[^\s@]+(?:[ \t]+[^\s@]+){4}$/;

/**
 * Parses an expression as Vixie cron does, by the clock of the time zone. Of the two day fields, either can name a day; where one
 * begins with `*`, such as `*\/2`, both must match. A time that the clock skips in spring is moved behind the gap; a time that
 * comes twice in autumn is the first of both; times that recur by `*` or a step keep their intervals through both changes.
 */
function parseCron(cron: string, timeZone: string): Cron {
  const [minute, hour, dayOfMonth = '', month, dayOfWeek = ''] = cron.split(/[ \t]+/);
  const mustMatchBothDays = dayOfMonth.startsWith('*') || dayOfWeek.startsWith('*');
  // The library ends each week that ends with `sun` on day 7, also one that begins with Sunday.
  const normalizedDays = dayOfWeek.replaceAll(/(?<![^,])(?:0+|sun)-sun(?![^,/])/gi, '0-0');
  return new Cron([minute, hour, dayOfMonth, month, normalizedDays].join(' '), {
    timezone: timeZone,
    mode: '5-part',
    fixedTimeRule: 'no-wildcard',
    domAndDow: mustMatchBothDays,
  });
}

/** Returns the first occurrence after a moment, both in milliseconds; null where there is no further occurrence. */
export function findNextOccurrence(
  { cron, timeZone }: { cron: string; timeZone: string },
  afterTime: number,
): number | null {
  return parseCron(cron, timeZone).nextRun(new Date(afterTime))?.getTime() ?? null;
}

interface CronField {
  name: string;
  minValue: number;
  maxValue: number;
  /** The number of different values that the field can have. */
  valueCount: number;
  /** The names of the first values, such as `JAN` and `FEB`; empty where values have none. */
  valueNames: readonly string[];
}

const MONTH_NAMES = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const DAY_NAMES = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

const CRON_FIELDS: readonly CronField[] = [
  { name: 'minute', minValue: 0, maxValue: 59, valueCount: 60, valueNames: [] },
  { name: 'hour', minValue: 0, maxValue: 23, valueCount: 24, valueNames: [] },
  { name: 'day of the month', minValue: 1, maxValue: 31, valueCount: 31, valueNames: [] },
  { name: 'month', minValue: 1, maxValue: 12, valueCount: 12, valueNames: MONTH_NAMES },
  { name: 'day of the week', minValue: 0, maxValue: 7, valueCount: 7, valueNames: DAY_NAMES },
];

/** Returns the problem of one item of a field by Vixie's grammar: croner accepts more, and its messages name other values. */
function findItemProblem(
  item: string,
  { name, minValue, maxValue, valueCount, valueNames }: CronField,
): string | undefined {
  const [, value = '', end, step] = /^([^-/]*)(?:-([^-/]*))?(?:\/(.*))?$/.exec(item) ?? [];
  const parseValue = (text: string): number => {
    const nameIndex = valueNames.indexOf(text.toUpperCase());
    return /^\d+$/.test(text) ? Number(text) : nameIndex < 0 ? Number.NaN : minValue + nameIndex;
  };
  const [from, to] = [parseValue(value), end === undefined ? undefined : parseValue(end)];
  const isInBounds = (number: number) => number >= minValue && number <= maxValue;
  const isValidRange = to !== undefined && isInBounds(from) && isInBounds(to);
  if (!isValidRange && !(end === undefined && (value === '*' || isInBounds(from)))) {
    return `cannot have "${item}" as the ${name}, which goes from ${minValue} to ${maxValue}`;
  }
  // A week can end with Sunday, too.
  if (isValidRange && from > to && !/^sun$/i.test(end ?? '')) return `cannot have "${item}": it ends before it begins`;
  const isValidStep = /^\d+$/.test(step ?? '') && Number(step) >= 1 && Number(step) <= valueCount;
  return step === undefined || (isValidStep && (isValidRange || value === '*'))
    ? undefined
    : `cannot have "${item}" as the ${name}: steps are from 1 to ${valueCount}, after * or a range`;
}

/** Returns the problem of a cron expression; undefined if there is none. */
export function findCronProblem(cron: string, now: number): string | undefined {
  if (cron === '') return 'must not be empty';
  if (!FIVE_FIELDS_PATTERN.test(cron))
    return 'must have five fields: minute, hour, day of the month, month, day of the week';
  const parts = cron.split(/[ \t]+/);
  for (const [index, field] of CRON_FIELDS.entries()) {
    for (const item of (parts[index] as string).split(',')) {
      const problem = findItemProblem(item, field);
      if (problem) return problem;
    }
  }
  if (findNextOccurrence({ cron, timeZone: 'UTC' }, now) === null) return 'never occurs';
  return isTooFrequent(cron, now) ? 'must leave at least 15 minutes between two times' : undefined;
}

/** Tells whether times are too close, on a day without a clock change: `0,10 8 * * *` is as wrong as every ten minutes. */
function isTooFrequent(cron: string, now: number): boolean {
  const [minute, hour, ...day] = cron.split(/[ \t]+/);
  const midnight = Math.floor(now / DAY_MS) * DAY_MS;
  const times = listOccurrences(`${minute} ${hour} * * *`, midnight, midnight + DAY_MS);
  const [first = 0, ...others] = times;
  if (others.some((time, index) => time - (times[index] as number) < MIN_INTERVAL_MS)) return true;
  const overnightGapMs = first + DAY_MS - (times.at(-1) ?? 0);
  return overnightGapMs < MIN_INTERVAL_MS && runsOnConsecutiveDays(`0 0 ${day.join(' ')}`, now);
}

/** Lists the occurrences from a time to before another, up to the first that follows the previous one too soon. */
function listOccurrences(cron: string, from: number, endTime: number): number[] {
  const occurrences: number[] = [];
  for (let at = findNextOccurrence({ cron, timeZone: 'UTC' }, from - 1); at !== null && at < endTime; ) {
    occurrences.push(at);
    if (occurrences.length > 1 && at - (occurrences.at(-2) as number) < MIN_INTERVAL_MS) break;
    at = findNextOccurrence({ cron, timeZone: 'UTC' }, at);
  }
  return occurrences;
}

/** The number of matching days to examine: more than a year can have. The rarer the matching days, the more years they cover. */
const EXAMINED_DAY_COUNT = 400;

function runsOnConsecutiveDays(days: string, now: number): boolean {
  const matchingDays = parseCron(days, 'UTC').nextRuns(EXAMINED_DAY_COUNT, new Date(now));
  return matchingDays.some(
    (day, index) => index > 0 && day.getTime() - (matchingDays[index - 1] as Date).getTime() === DAY_MS,
  );
}
