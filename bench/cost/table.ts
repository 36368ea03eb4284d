import { computeCost, computePrice, PLAN_DOLLARS, type PricedUse } from './prices.ts';
import { MONTHS_STORED, RECORD_BYTES } from './usage.ts';

/** What a million requests of each sort use, what moving their records to R2 does, and how many records in logs they leave. */
export type Measured = Record<Sort, { used: Usage; moving: Usage; recordsEach: number }>;

type Usage = Record<PricedUse, number>;

export const SORTS = { api: 'API requests', views: 'shared views' } as const;
export type Sort = keyof typeof SORTS;

const RATES = [1, 100, 1000];
const SECONDS_A_MONTH = (365.25 * 24 * 3600) / 12;

/** What a month costs is made of. */
const LINES: [what: string, used: PricedUse[]][] = [
  ['Workers: requests and CPU', ['worker.requests', 'worker.cpuMilliseconds']],
  ['Durable Objects: calls and duration', ['objects.requests', 'objects.gigabyteSeconds']],
  ['Durable Objects: rows', ['objects.rowsRead', 'objects.rowsWritten']],
  ['D1: rows', ['d1.rowsRead', 'd1.rowsWritten']],
  ['R2 and Queues', ['r2.a', 'r2.b', 'queues.operations']],
];

const formatDollars = (amount: number): string =>
  amount < 10 ? amount.toFixed(2) : Math.round(amount).toLocaleString('en-US');

/** What a month costs at so many requests a second: lines of a table in Markdown. */
export function formatMonthlyTable(measured: Measured): string[] {
  const columns = (Object.keys(SORTS) as Sort[]).flatMap((sort) => RATES.map((rate) => ({ sort, rate })));
  const millions = (rate: number) => (rate * SECONDS_A_MONTH) / 1e6;
  const recordsOf = (sort: Sort, rate: number) => millions(rate) * 1e6 * measured[sort].recordsEach;
  const rows: [string, (sort: Sort, rate: number) => number][] = [
    ...LINES.map(
      ([what, used]) =>
        [
          what,
          (sort: Sort, rate: number) =>
            millions(rate) * used.reduce((sum, name) => sum + computeCost(name, measured[sort].used[name]), 0),
        ] as [string, (sort: Sort, rate: number) => number],
    ),
    [
      'Logs: the records of 90 days',
      (sort, rate) =>
        computeCost('objects.gigabyteMonths', (recordsOf(sort, rate) * MONTHS_STORED * RECORD_BYTES) / 1e9),
    ],
    ['Logs: moving a day to R2', (sort, rate) => millions(rate) * computePrice(measured[sort].moving)],
    ['The plan', () => PLAN_DOLLARS],
  ];
  const line = (what: string, cells: string[]) => `| ${[what, ...cells].join(' | ')} |`;
  return [
    line(
      'US dollars a month',
      columns.map(({ sort, rate }) => `${rate.toLocaleString('en-US')} ${SORTS[sort]} a second`),
    ),
    line(
      '---',
      columns.map(() => '---:'),
    )
      .replaceAll(' ', '')
      .replaceAll('|---:', '|---:'),
    ...rows.map(([what, cost]) =>
      line(
        what,
        columns.map(({ sort, rate }) => formatDollars(cost(sort, rate))),
      ),
    ),
    line(
      '**in all**',
      columns.map(
        ({ sort, rate }) => `**${formatDollars(rows.reduce((sum, [, cost]) => sum + cost(sort, rate), 0))}**`,
      ),
    ),
  ];
}

export const MARKS = ['<!-- costs -->', '<!-- end of costs -->'] as const;

/** A text with the table between its marks. */
export function replaceTable(text: string, measured: Measured): string {
  const [before, rest] = text.split(MARKS[0]) as [string, string];
  const behind = rest.slice(rest.indexOf(MARKS[1]));
  return `${before}${MARKS[0]}\n\n${formatMonthlyTable(measured).join('\n')}\n\n${behind}`;
}
