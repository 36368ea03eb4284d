import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isTimeZone } from '../../src/kernel/time-zones.ts';
import { findCronProblem, findNextOccurrence } from '../../src/modules/schedules/cron.ts';
import { explainField } from '../../src/texts/errors/translate.ts';

const NOW_MS = Date.UTC(2026, 10, 23, 8);
const DAY_MS = 24 * 60 * 60 * 1000;

const listTimes = (cron: string, timeZone: string, from: string, count: number): (string | undefined)[] => {
  let at: number | null = Date.parse(from);
  return Array.from({ length: count }, () => {
    at = at === null ? null : findNextOccurrence({ cron, timeZone }, at);
    return at === null ? undefined : new Date(at).toISOString().slice(0, 16);
  });
};

describe('the times of a schedule', () => {
  it('follow the clock of its time zone, in summer and winter', () => {
    expect(listTimes('0 8 * * 1-5', 'Europe/Lisbon', '2026-10-22T20:00Z', 3)).toEqual([
      '2026-10-23T07:00',
      '2026-10-26T08:00',
      '2026-10-27T08:00',
    ]);
  });

  it.each([
    ['in a skipped hour', '30 2 * * *', 'America/New_York', '03-07T12:00', '03-08T07:00', '03-09T06:30'],
    ['in a skipped half hour', '15 2 * * *', 'Australia/Lord_Howe', '10-03T12:00', '10-03T15:30', '10-04T15:15'],
    ['at a skipped midnight', '0 0 * * *', 'Africa/Cairo', '04-22T23:00', '04-23T22:00', '04-24T21:00'],
    ['in a double hour', '30 1 * * *', 'America/New_York', '10-31T12:00', '11-01T05:30', '11-02T06:30'],
    ['twice, once in a double hour', '30 1,13 * * *', 'America/New_York', '10-31T20:00', '11-01T05:30', '11-01T18:30'],
  ])('come once a day %s', (_where, cron, zone, from, ...expected) => {
    expect(listTimes(cron, zone, `2026-${from}Z`, 2)).toEqual(expected.map((time) => `2026-${time}`));
  });

  it('keep their interval when the clock changes, if the cron expression has a step', () => {
    const timesInOverlap = listTimes('*/30 * * * *', 'America/New_York', '2026-11-01T05:00Z', 4);
    expect(timesInOverlap).toEqual(['2026-11-01T05:30', '2026-11-01T06:00', '2026-11-01T06:30', '2026-11-01T07:00']);
    const timesInGap = listTimes('*/30 * * * *', 'America/New_York', '2026-03-08T06:15Z', 3);
    expect(timesInGap).toEqual(['2026-03-08T06:30', '2026-03-08T07:00', '2026-03-08T07:30']);
  });

  it.each([
    ['0 8 */2 * MON', ['2026-11-09T08:00', '2026-11-23T08:00', '2026-12-07T08:00']],
    ['0 8 13 * */2', ['2026-12-13T08:00', '2027-02-13T08:00', '2027-03-13T08:00']],
    ['0 8 *,1 * 1', ['2026-11-02T08:00', '2026-11-09T08:00', '2026-11-16T08:00']],
    ['0 8 1 * MON', ['2026-11-02T08:00', '2026-11-09T08:00', '2026-11-16T08:00']],
    ['0 8 1-31/2 * TUE', ['2026-11-03T08:00', '2026-11-05T08:00', '2026-11-07T08:00']],
  ])('match both day fields if one begins with an asterisk, else either of them: %s', (cron, expected) => {
    expect(listTimes(cron, 'UTC', '2026-11-02T00:00Z', expected.length)).toEqual(expected);
  });

  it.each([
    ['sun-sun', [7]],
    ['0-SUN', [7]],
    ['sun-0', [7]],
    ['0-0', [7]],
    ['7-7', [7]],
    ['7-sun', [7]],
    ['sun-sun/2,WED', [3, 7]],
    ['sat-sun', [6, 7]],
    ['sun-mon', [1, 7]],
    ['SUN,7', [7]],
    ['fri-7', [5, 6, 7]],
    ['mon-sun/6', [1, 7]],
    ['sun-7', [1, 2, 3, 4, 5, 6, 7]],
  ])('are on the days of %s', (days, expected) => {
    // A Monday.
    const foundTimes = listTimes(`0 8 * * ${days}`, 'UTC', '2026-11-02T00:00Z', expected.length + 1);
    const weekTimes = expected.map((day) => `2026-11-0${day + 1}T08:00`);
    expect(foundTimes).toEqual([...weekTimes, `2026-11-${String((expected[0] as number) + 8).padStart(2, '0')}T08:00`]);
  });

  it('are strictly later than the given time, however near', () => {
    const at = Date.parse('2026-11-23T10:15:00.000Z');
    expect(findNextOccurrence({ cron: '*/15 * * * *', timeZone: 'UTC' }, at - 1)).toBe(at);
    expect(findNextOccurrence({ cron: '*/15 * * * *', timeZone: 'UTC' }, at)).toBe(at + 15 * 60_000);
  });
});

describe('a cron expression', () => {
  it.each([
    '0 8 * * *',
    '*/15 * * * *',
    '0,15,30,45 * * * *',
    '0 8 * * MON-FRI',
    '0 0 8-14 * MON',
    '05,35 6-18/3,*/12 1-31/10 jan-MAR,12 Fri-Sun,7',
    '30 6 1 JAN,JUL *',
    '0 0 29 2 *',
    '0  8 * * 7',
    '0\t8\t*\t*\t7',
    // Ten minutes apart over midnight, but never on two days running.
    '0,50 0,23 1 * *',
    '5-59/15 * * * *',
  ])('is accepted: %s', (cron) => {
    expect(findCronProblem(cron, NOW_MS)).toBeUndefined();
  });

  it.each([
    ['', 'must not be empty'],
    ['@daily', 'must have five fields'],
    ['0 8 * *', 'must have five fields'],
    ['0 0 8 * * *', 'must have five fields'],
    ['0 0 1 1 * 2027', 'must have five fields'],
    ['2026-11-24T08:00:00', 'must have five fields'],
    ['60 * * * *', 'cannot have "60" as the minute, which goes from 0 to 59'],
    ['a b c d e', 'cannot have "a" as the minute, which goes from 0 to 59'],
    ['0 8-24 * * *', 'cannot have "8-24" as the hour, which goes from 0 to 23'],
    ['0 8 0 * *', 'cannot have "0" as the day of the month, which goes from 1 to 31'],
    ['0 8 1,,3 * *', 'cannot have "" as the day of the month, which goes from 1 to 31'],
    ['0 8 * 13 *', 'cannot have "13" as the month, which goes from 1 to 12'],
    ['0 8 * MON *', 'cannot have "MON" as the month, which goes from 1 to 12'],
    ['0 8 * * 9', 'cannot have "9" as the day of the week, which goes from 0 to 7'],
    ['0 8 * * SUNDAY', 'cannot have "SUNDAY" as the day of the week, which goes from 0 to 7'],
    ['0 8 * * *-5', 'cannot have "*-5" as the day of the week, which goes from 0 to 7'],
    ['0 8 * * 5-1', 'cannot have "5-1": it ends before it begins'],
    ['0 8 1 dec-jan *', 'cannot have "dec-jan": it ends before it begins'],
    ['*/0 8 * * *', 'cannot have "*/0" as the minute: steps are from 1 to 60, after * or a range'],
    ['5/15 * * * *', 'cannot have "5/15" as the minute: steps are from 1 to 60, after * or a range'],
    ['0 */25 * * *', 'cannot have "*/25" as the hour: steps are from 1 to 24, after * or a range'],
    ['0 */2/2 * * *', 'cannot have "*/2/2" as the hour: steps are from 1 to 24, after * or a range'],
    // What other dialects know.
    ['0 8 L * *', 'cannot have "L" as the day of the month'],
    ['0 8 LW * *', 'cannot have "LW" as the day of the month'],
    ['0 8 1W * *', 'cannot have "1W" as the day of the month'],
    ['0 8 ? * ?', 'cannot have "?" as the day of the month'],
    ['0 8 * * 1#2', 'cannot have "1#2" as the day of the week'],
    ['0 8 * * 5L', 'cannot have "5L" as the day of the week'],
    ['0 8 * * +MON', 'cannot have "+MON" as the day of the week'],
    ['0 0 30 2 *', 'never occurs'],
    ['0 0 31 2,4,6,9,11 *', 'never occurs'],
    ['* * * * *', 'at least 15 minutes'],
    ['*/14 * * * *', 'at least 15 minutes'],
    ['*/10 8 * * *', 'at least 15 minutes'],
    ['0,10 8 1 1 *', 'at least 15 minutes'],
    ['0-59 0 29 2 *', 'at least 15 minutes'],
    ['0,55 * * * *', 'at least 15 minutes'],
    ['0,50 0,23 * * *', 'at least 15 minutes'],
    ['0,50 0,23 15,16 * *', 'at least 15 minutes'],
    ['0,50 0,23 28,29,1 2,3 *', 'at least 15 minutes'],
  ])('is refused: %j', (cron, problem) => {
    expect(findCronProblem(cron, NOW_MS)).toContain(problem);
  });

  it.each([
    ['0 8 * 13 *', 'pt-BR', 'não pode ter "13" como mês, que vai de 1 a 12'],
    ['0 8 L * *', 'es', 'no puede tener "L" como día del mes, que va de 1 a 31'],
    [
      '5/15 * * * *',
      'pt-BR',
      'não pode ter "5/15" como minuto: os passos vão de 1 a 60, depois de * ou de um intervalo',
    ],
    ['0 8 * * 5-1', 'es', 'no puede tener "5-1": termina antes de empezar'],
  ] as const)('is refused with a message in the requested language: %s', (cron, language, message) => {
    expect(explainField(findCronProblem(cron, NOW_MS) as string, language).message).toBe(message);
  });

  it('is refused, or read without an error, whatever its characters are', () => {
    const item = fc.stringMatching(/^([0-9]{1,2}|\*|[a-zA-Z#?+~]|MON|sun|Jan)(-([0-9]{1,2}|SUN|mar))?(\/[0-9]{0,2})?$/);
    const field = fc.array(item, { minLength: 1, maxLength: 3 }).map((items) => items.join(','));
    // In a field of its own each is accepted more often than among others.
    fc.assert(
      fc.property(fc.nat(4), field, (at, fieldText) => {
        const cron = ['0', '0', '1', '1', '1'].with(at, fieldText).join(' ');
        const problem = findCronProblem(cron, NOW_MS);
        expect(problem ?? findNextOccurrence({ cron, timeZone: 'UTC' }, NOW_MS)).toBeTruthy();
      }),
    );
  });

  // Searched without an end, these would outlast the test's own limit of time.
  it.each(['*/15 * * * *', '0 0 31 2,4,6,9,11 *', '0,50 0,23 29 2 *', '0 8 29 2 */7'])(
    'is validated by a search that terminates, however rare its times are: %s',
    (cron) => {
      expect([undefined, 'never occurs']).toContain(findCronProblem(cron, NOW_MS));
    },
  );

  it('has a next occurrence even if that is years away', () => {
    expect(findNextOccurrence({ cron: '0 0 29 2 +MON', timeZone: 'UTC' }, NOW_MS)).toBeGreaterThan(
      NOW_MS + 365 * DAY_MS,
    );
  });
});

describe('the name of a time zone', () => {
  it.each(['UTC', 'America/Sao_Paulo', 'Etc/GMT+5', 'Asia/Kolkata', 'Asia/Calcutta'])('is valid: %s', (zone) => {
    expect(isTimeZone(zone)).toBe(true);
  });

  it.each(['', 'Mars/Olympus', '+05:00', '-03:00', 'America/', 'UTC; drop table', '../UTC'])('is wrong: %j', (zone) => {
    expect(isTimeZone(zone)).toBe(false);
  });
});
