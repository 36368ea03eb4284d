import { computeCost, computeTotalCost, PLAN_DOLLARS, type PricedUse } from './prices.ts';
import { RECORD_BYTES, STORED_MONTH_COUNT } from './usage.ts';

/**
 * Use of a million requests of each sort, use of moving the requests' log records to R2, and log records that one
 * request leaves.
 */
export type MeasuredUse = Record<TrafficKind, { requestUsage: Usage; moveUsage: Usage; recordCountPerRequest: number }>;

type Usage = Record<PricedUse, number>;

export const TRAFFIC_KINDS = { api: 'API requests', views: 'shared views' } as const;
export type TrafficKind = keyof typeof TRAFFIC_KINDS;

const REQUESTS_PER_SECOND = [1, 100, 1000];
const MONTH_SECONDS = (365.25 * 24 * 3600) / 12;

/** Lines of the table of monthly costs: the label of each, and the kinds of use whose costs the line adds up. */
const COST_LINES: [title: string, used: PricedUse[]][] = [
  ['Workers: requests and CPU', ['worker.requests', 'worker.cpuMilliseconds']],
  ['Durable Objects: calls and duration', ['objects.requests', 'objects.gigabyteSeconds']],
  ['Durable Objects: rows', ['objects.rowsRead', 'objects.rowsWritten']],
  ['D1: rows', ['d1.rowsRead', 'd1.rowsWritten']],
  ['R2 and Queues', ['r2.a', 'r2.b', 'queues.operations']],
];

const formatDollars = (amount: number): string =>
  amount < 10 ? amount.toFixed(2) : Math.round(amount).toLocaleString('en-US');

/** Formats the cost of a month at each rate of requests as the lines of a Markdown table. */
export function formatMonthlyTable(measuredUse: MeasuredUse): string[] {
  const columns = (Object.keys(TRAFFIC_KINDS) as TrafficKind[]).flatMap((trafficKind) =>
    REQUESTS_PER_SECOND.map((rate) => ({ sort: trafficKind, rate })),
  );
  const countMonthlyMillions = (rate: number) => (rate * MONTH_SECONDS) / 1e6;
  const countMonthlyRecords = (trafficKind: TrafficKind, rate: number) =>
    countMonthlyMillions(rate) * 1e6 * measuredUse[trafficKind].recordCountPerRequest;
  const rows: [string, (trafficKind: TrafficKind, rate: number) => number][] = [
    ...COST_LINES.map(
      ([title, useKinds]) =>
        [
          title,
          (trafficKind: TrafficKind, rate: number) =>
            countMonthlyMillions(rate) *
            useKinds.reduce((sum, name) => sum + computeCost(name, measuredUse[trafficKind].requestUsage[name]), 0),
        ] as [string, (trafficKind: TrafficKind, rate: number) => number],
    ),
    [
      'Logs: the records of 90 days',
      (trafficKind, rate) =>
        computeCost(
          'objects.gigabyteMonths',
          (countMonthlyRecords(trafficKind, rate) * STORED_MONTH_COUNT * RECORD_BYTES) / 1e9,
        ),
    ],
    [
      'Logs: moving a day to R2',
      (trafficKind, rate) => countMonthlyMillions(rate) * computeTotalCost(measuredUse[trafficKind].moveUsage),
    ],
    ['The plan', () => PLAN_DOLLARS],
  ];
  const formatLine = (label: string, cells: string[]) => `| ${[label, ...cells].join(' | ')} |`;
  return [
    formatLine(
      'US dollars a month',
      columns.map(({ sort, rate }) => `${rate.toLocaleString('en-US')} ${TRAFFIC_KINDS[sort]} a second`),
    ),
    formatLine(
      '---',
      columns.map(() => '---:'),
    )
      .replaceAll(' ', '')
      .replaceAll('|---:', '|---:'),
    ...rows.map(([title, sumCosts]) =>
      formatLine(
        title,
        columns.map(({ sort, rate }) => formatDollars(sumCosts(sort, rate))),
      ),
    ),
    formatLine(
      '**in all**',
      columns.map(
        ({ sort, rate }) => `**${formatDollars(rows.reduce((sum, [, sumCosts]) => sum + sumCosts(sort, rate), 0))}**`,
      ),
    ),
  ];
}

export const TABLE_MARKERS = ['<!-- costs -->', '<!-- end of costs -->'] as const;

/** Returns the text with the cost table in place of what stands between `TABLE_MARKERS`. */
export function replaceTable(text: string, measuredUse: MeasuredUse): string {
  const [textBefore, rest] = text.split(TABLE_MARKERS[0]) as [string, string];
  const textAfter = rest.slice(rest.indexOf(TABLE_MARKERS[1]));
  return `${textBefore}${TABLE_MARKERS[0]}\n\n${formatMonthlyTable(measuredUse).join('\n')}\n\n${textAfter}`;
}
