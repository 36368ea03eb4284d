/**
 * List price of one kind of use of the platform in US dollars, before discounts and without what a plan includes. The
 * companies' Postgres has no price here: Neon bills it by the hours that computes run.
 */
export interface Price {
  /** Name of the counted use, in words. */
  title: string;
  /** Price in dollars of `unitCount` units. */
  dollars: number;
  unitCount: number;
  /** URL of the page that states the price. */
  pageUrl: string;
  /** Day on which the page was read. */
  readDay: string;
}

const ONE_MILLION = 1e6;
const WORKERS_PRICING_URL = 'https://developers.cloudflare.com/workers/platform/pricing/';
const OBJECTS_PRICING_URL = 'https://developers.cloudflare.com/durable-objects/platform/pricing/';
const D1 = 'https://developers.cloudflare.com/d1/platform/pricing/';
const R2 = 'https://developers.cloudflare.com/r2/pricing/';
const QUEUES_PRICING_URL = 'https://developers.cloudflare.com/queues/platform/pricing/';
const PRICES_READ_ON = '2026-11-22';

/** List prices by the name under which a bench counts the use. */
export const PRICES = {
  'worker.requests': {
    title: 'requests to Workers',
    dollars: 0.3,
    unitCount: ONE_MILLION,
    pageUrl: WORKERS_PRICING_URL,
    readDay: PRICES_READ_ON,
  },
  'worker.cpuMilliseconds': {
    title: 'CPU of Workers, ms',
    dollars: 0.02,
    unitCount: ONE_MILLION,
    pageUrl: WORKERS_PRICING_URL,
    readDay: PRICES_READ_ON,
  },
  'objects.requests': {
    title: 'calls and alarms of Durable Objects',
    dollars: 0.15,
    unitCount: ONE_MILLION,
    pageUrl: OBJECTS_PRICING_URL,
    readDay: PRICES_READ_ON,
  },
  'objects.gigabyteSeconds': {
    title: 'duration of Durable Objects, GB-s',
    dollars: 12.5,
    unitCount: ONE_MILLION,
    pageUrl: OBJECTS_PRICING_URL,
    readDay: PRICES_READ_ON,
  },
  'objects.rowsRead': {
    title: 'rows read in Durable Objects',
    dollars: 0.001,
    unitCount: ONE_MILLION,
    pageUrl: OBJECTS_PRICING_URL,
    readDay: PRICES_READ_ON,
  },
  'objects.rowsWritten': {
    title: 'rows written in Durable Objects',
    dollars: 1,
    unitCount: ONE_MILLION,
    pageUrl: OBJECTS_PRICING_URL,
    readDay: PRICES_READ_ON,
  },
  'objects.gigabyteMonths': {
    title: 'storage of Durable Objects, GB-months',
    dollars: 0.2,
    unitCount: 1,
    pageUrl: OBJECTS_PRICING_URL,
    readDay: PRICES_READ_ON,
  },
  'd1.rowsRead': {
    title: 'rows read in D1',
    dollars: 0.001,
    unitCount: ONE_MILLION,
    pageUrl: D1,
    readDay: PRICES_READ_ON,
  },
  'd1.rowsWritten': {
    title: 'rows written in D1',
    dollars: 1,
    unitCount: ONE_MILLION,
    pageUrl: D1,
    readDay: PRICES_READ_ON,
  },
  'd1.gigabyteMonths': {
    title: 'storage of D1, GB-months',
    dollars: 0.75,
    unitCount: 1,
    pageUrl: D1,
    readDay: PRICES_READ_ON,
  },
  'r2.a': {
    title: 'operations of R2, class A',
    dollars: 4.5,
    unitCount: ONE_MILLION,
    pageUrl: R2,
    readDay: PRICES_READ_ON,
  },
  'r2.b': {
    title: 'operations of R2, class B',
    dollars: 0.36,
    unitCount: ONE_MILLION,
    pageUrl: R2,
    readDay: PRICES_READ_ON,
  },
  'r2.gigabyteMonths': {
    title: 'storage of R2, GB-months',
    dollars: 0.015,
    unitCount: 1,
    pageUrl: R2,
    readDay: PRICES_READ_ON,
  },
  'queues.operations': {
    title: 'operations of Queues',
    dollars: 0.4,
    unitCount: ONE_MILLION,
    pageUrl: QUEUES_PRICING_URL,
    readDay: PRICES_READ_ON,
  },
} as const satisfies Record<string, Price>;

export type PricedUse = keyof typeof PRICES;

/** Price of the platform's plan in US dollars a month, apart from the use. */
export const PLAN_DOLLARS = 5;

/** Adds up the costs of all counted uses, in dollars. */
export const computeTotalCost = (usage: Partial<Record<PricedUse, number>>): number =>
  (Object.keys(PRICES) as PricedUse[]).reduce((sum, name) => sum + computeCost(name, usage[name]), 0);

/** Returns the cost of one kind of use, in dollars. */
export const computeCost = (name: PricedUse, amount = 0): number =>
  (amount * PRICES[name].dollars) / PRICES[name].unitCount;
