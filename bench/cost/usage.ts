import { computeCost, PRICES, type PricedUse } from './prices.ts';

/** Counted use by name (`metered/meter.ts`). */
export type Usage = Record<string, number>;

/**
 * Assumed use per request of resources that the platform bills and this machine cannot measure, rather too high than too low:
 * the CPU time (`signed-request` measures about a tenth of it); and the time for which a Durable Object is active for a call,
 * and its memory. Without the disk, the work of a call takes less than a millisecond.
 */
export const ASSUMED_USE_PER_REQUEST = { cpuMilliseconds: 3, objectMilliseconds: 10, objectGigabytes: 0.128 };

/**
 * Bytes that a record takes up in its company's log: the bench `log` measures 280; records of share events also name a
 * browser.
 */
export const RECORD_BYTES = 310;

/** Months for which records stay in the Durable Object of their log, by default. */
export const STORED_MONTH_COUNT = 3;

/**
 * Scales the use of a number of requests to a million requests, as billed; stored records are billed for
 * `STORED_MONTH_COUNT` months.
 */
export function scaleToMillion(usage: Usage, requestCount: number, recordCount: number): Record<PricedUse, number> {
  const countedUse = {
    ...usage,
    'worker.cpuMilliseconds': (usage['worker.requests'] ?? 0) * ASSUMED_USE_PER_REQUEST.cpuMilliseconds,
    'objects.gigabyteSeconds':
      ((usage['objects.requests'] ?? 0) *
        ASSUMED_USE_PER_REQUEST.objectMilliseconds *
        ASSUMED_USE_PER_REQUEST.objectGigabytes) /
      1000,
    'objects.gigabyteMonths': (recordCount * RECORD_BYTES * STORED_MONTH_COUNT) / 1e9,
  } as Usage;
  const names = Object.keys(PRICES) as PricedUse[];
  return Object.fromEntries(
    names.map((name) => [name, roundFigure(((countedUse[name] ?? 0) / requestCount) * 1e6)]),
  ) as Record<PricedUse, number>;
}

/** Prints the use and the cost of a million of something. */
export function printUseAndCost(label: string, usePerMillion: Record<PricedUse, number>): void {
  console.log(`\na million ${label} use`);
  for (const [name, { title, pageUrl }] of Object.entries(PRICES)) {
    const amount = usePerMillion[name as PricedUse];
    const cost = computeCost(name as PricedUse, amount).toFixed(3);
    if (amount > 0)
      console.log(`  ${title.padEnd(42)} ${amount.toPrecision(3).padStart(10)}  ${cost} US dollars  ${pageUrl}`);
  }
}

/** Rounds a figure to three digits: counts differ a little from run to run. */
const roundFigure = (amount: number): number => Number(amount.toPrecision(3));
