import { computeCost, PRICES, type PricedUse } from './prices.ts';

/** What was counted, by name (`metered/meter.ts`). */
export type Usage = Record<string, number>;

/**
 * What the platform bills and this machine cannot count, on the safe side: the CPU of a request, which is some tenth of it in
 * `signed-request`, and how long an object is active for a call, whose own work is over in less than a millisecond but for
 * the disk.
 */
export const ASSUMED_USE = { cpuMilliseconds: 3, objectMilliseconds: 10, objectGigabytes: 0.128 };

/** Bytes that a record takes up in the log of its company: 280 in the bench `log`; events of shares name a browser too. */
export const RECORD_BYTES = 310;

/** Months that records stay in the object of their log, by default. */
export const MONTHS_STORED = 3;

/** What so many requests used, as it is billed for a million of them. Records are billed for as long as they stay. */
export function scaleToMillion(usage: Usage, requests: number, records: number): Record<PricedUse, number> {
  const counted = {
    ...usage,
    'worker.cpuMilliseconds': (usage['worker.requests'] ?? 0) * ASSUMED_USE.cpuMilliseconds,
    'objects.gigabyteSeconds':
      ((usage['objects.requests'] ?? 0) * ASSUMED_USE.objectMilliseconds * ASSUMED_USE.objectGigabytes) / 1000,
    'objects.gigabyteMonths': (records * RECORD_BYTES * MONTHS_STORED) / 1e9,
  } as Usage;
  const names = Object.keys(PRICES) as PricedUse[];
  return Object.fromEntries(
    names.map((name) => [name, roundFigure(((counted[name] ?? 0) / requests) * 1e6)]),
  ) as Record<PricedUse, number>;
}

/** Prints what a million of something use, and what that costs. */
export function printUse(what: string, million: Record<PricedUse, number>): void {
  console.log(`\na million ${what} use`);
  for (const [name, { what, page }] of Object.entries(PRICES)) {
    const amount = million[name as PricedUse];
    const cost = computeCost(name as PricedUse, amount).toFixed(3);
    if (amount > 0)
      console.log(`  ${what.padEnd(42)} ${amount.toPrecision(3).padStart(10)}  ${cost} US dollars  ${page}`);
  }
}

/** To three digits: what is counted differs a little from run to run. */
const roundFigure = (amount: number): number => Number(amount.toPrecision(3));
