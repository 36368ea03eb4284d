import { Cron } from 'croner';
import { DAY_MS } from '../../kernel/clock.ts';

/** The shortest time between two occurrences, in milliseconds. */
export const MIN_INTERVAL_MS = 15 * 60 * 1000;

const FIVE_FIELDS = /^[^\s@]+(?: +[^\s@]+){4}$/;

/**
 * Reads an expression as Vixie cron does, by the clock of the time zone. Of the two day fields, either can name a day; where
 * one begins with `*`, such as `*\/2`, both must. A time that the clock skips in spring is moved behind the gap; one that comes
 * twice in autumn is the first of both; times that recur by `*` or a step keep their pace through both.
 */
function parseCron(cron: string, timeZone: string): Cron {
  const [minute, hour, dayOfMonth = '', month, dayOfWeek = ''] = cron.split(/ +/);
  const domAndDow = dayOfMonth.startsWith('*') || dayOfWeek.startsWith('*');
  // The library ends each week that ends with `sun` on day 7, also one that begins with Sunday.
  const days = dayOfWeek.replaceAll(/(?<![^,])(?:0+|sun)-sun(?![^,/])/gi, '0-0');
  return new Cron([minute, hour, dayOfMonth, month, days].join(' '), {
    timezone: timeZone,
    mode: '5-part',
    fixedTimeRule: 'no-wildcard',
    domAndDow,
  });
}

/** The first occurrence after a moment, both in milliseconds; null where there is none any more. */
export function findNextOccurrence(
  { cron, timeZone }: { cron: string; timeZone: string },
  after: number,
): number | null {
  return parseCron(cron, timeZone).nextRun(new Date(after))?.getTime() ?? null;
}

interface CronField {
  name: string;
  first: number;
  last: number;
  /** The number of different values. */
  count: number;
  /** Names of the first values. */
  names: readonly string[];
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

const CRON_FIELDS: readonly CronField[] = [
  { name: 'minute', first: 0, last: 59, count: 60, names: [] },
  { name: 'hour', first: 0, last: 23, count: 24, names: [] },
  { name: 'day of the month', first: 1, last: 31, count: 31, names: [] },
  { name: 'month', first: 1, last: 12, count: 12, names: MONTHS },
  { name: 'day of the week', first: 0, last: 7, count: 7, names: DAYS },
];

/** The problem of one item of a field, by Vixie's grammar: croner knows more, and tells of other values than were sent. */
function findProblem(item: string, { name, first, last, count, names }: CronField): string | undefined {
  const [, value = '', end, step] = /^([^-/]*)(?:-([^-/]*))?(?:\/(.*))?$/.exec(item) ?? [];
  const read = (text: string): number => {
    const named = names.indexOf(text.toUpperCase());
    return /^\d+$/.test(text) ? Number(text) : named < 0 ? Number.NaN : first + named;
  };
  const [from, to] = [read(value), end === undefined ? undefined : read(end)];
  const isIn = (number: number) => number >= first && number <= last;
  const isRange = to !== undefined && isIn(from) && isIn(to);
  if (!isRange && !(end === undefined && (value === '*' || isIn(from)))) {
    return `cannot have "${item}" as the ${name}, which goes from ${first} to ${last}`;
  }
  // A week can end with Sunday, too.
  if (isRange && from > to && !/^sun$/i.test(end ?? '')) return `cannot have "${item}": it ends before it begins`;
  const isStep = /^\d+$/.test(step ?? '') && Number(step) >= 1 && Number(step) <= count;
  return step === undefined || (isStep && (isRange || value === '*'))
    ? undefined
    : `cannot have "${item}" as the ${name}: steps are from 1 to ${count}, after * or a range`;
}

/** The problem of a cron expression; undefined if there is none. */
export function findCronProblem(cron: string, now: number): string | undefined {
  if (cron === '') return 'must not be empty';
  if (!FIVE_FIELDS.test(cron)) return 'must have five fields: minute, hour, day of the month, month, day of the week';
  const parts = cron.split(/ +/);
  for (const [index, field] of CRON_FIELDS.entries()) {
    for (const item of (parts[index] as string).split(',')) {
      const problem = findProblem(item, field);
      if (problem) return problem;
    }
  }
  if (findNextOccurrence({ cron, timeZone: 'UTC' }, now) === null) return 'never occurs';
  return isTooOften(cron, now) ? 'must leave at least 15 minutes between two times' : undefined;
}

/** Whether times are too close, by the times of a day without a clock change: `0,10 8 * * *` is as wrong as every ten minutes. */
function isTooOften(cron: string, now: number): boolean {
  const [minute, hour, ...day] = cron.split(/ +/);
  const midnight = Math.floor(now / DAY_MS) * DAY_MS;
  const times = listOccurrences(`${minute} ${hour} * * *`, midnight, midnight + DAY_MS);
  const [first = 0, ...others] = times;
  if (others.some((time, index) => time - (times[index] as number) < MIN_INTERVAL_MS)) return true;
  const overnight = first + DAY_MS - (times.at(-1) ?? 0);
  return overnight < MIN_INTERVAL_MS && runsOnConsecutiveDays(`0 0 ${day.join(' ')}`, now);
}

/** The occurrences from one moment to before another, up to the first that comes too soon. */
function listOccurrences(cron: string, from: number, before: number): number[] {
  const found: number[] = [];
  for (let at = findNextOccurrence({ cron, timeZone: 'UTC' }, from - 1); at !== null && at < before; ) {
    found.push(at);
    if (found.length > 1 && at - (found.at(-2) as number) < MIN_INTERVAL_MS) break;
    at = findNextOccurrence({ cron, timeZone: 'UTC' }, at);
  }
  return found;
}

/** The number of matching days to examine: more than a year can have. The rarer matching days are, the more years they cover. */
const EXAMINED_DAYS = 400;

function runsOnConsecutiveDays(days: string, now: number): boolean {
  const found = parseCron(days, 'UTC').nextRuns(EXAMINED_DAYS, new Date(now));
  return found.some((day, index) => index > 0 && day.getTime() - (found[index - 1] as Date).getTime() === DAY_MS);
}
