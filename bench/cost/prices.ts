/**
 * What the platform's use costs, by list prices in US dollars without what a plan includes and without discounts. Companies'
 * Postgres is billed by Neon by the hours that its computes run, and stands apart.
 */
export interface Price {
  /** What is counted, in words. */
  what: string;
  /** Price of so many of them. */
  dollars: number;
  per: number;
  /** The page that says so, as read on the day. */
  page: string;
  read: string;
}

const MILLION = 1e6;
const WORKERS = 'https://developers.cloudflare.com/workers/platform/pricing/';
const OBJECTS = 'https://developers.cloudflare.com/durable-objects/platform/pricing/';
const D1 = 'https://developers.cloudflare.com/d1/platform/pricing/';
const R2 = 'https://developers.cloudflare.com/r2/pricing/';
const QUEUES = 'https://developers.cloudflare.com/queues/platform/pricing/';
const readOn = '2026-11-22';

/** By the name under which a bench counts it. */
export const PRICES = {
  'worker.requests': { what: 'requests to Workers', dollars: 0.3, per: MILLION, page: WORKERS, read: readOn },
  'worker.cpuMilliseconds': { what: 'CPU of Workers, ms', dollars: 0.02, per: MILLION, page: WORKERS, read: readOn },
  'objects.requests': {
    what: 'calls and alarms of Durable Objects',
    dollars: 0.15,
    per: MILLION,
    page: OBJECTS,
    read: readOn,
  },
  'objects.gigabyteSeconds': {
    what: 'duration of Durable Objects, GB-s',
    dollars: 12.5,
    per: MILLION,
    page: OBJECTS,
    read: readOn,
  },
  'objects.rowsRead': {
    what: 'rows read in Durable Objects',
    dollars: 0.001,
    per: MILLION,
    page: OBJECTS,
    read: readOn,
  },
  'objects.rowsWritten': {
    what: 'rows written in Durable Objects',
    dollars: 1,
    per: MILLION,
    page: OBJECTS,
    read: readOn,
  },
  'objects.gigabyteMonths': {
    what: 'storage of Durable Objects, GB-months',
    dollars: 0.2,
    per: 1,
    page: OBJECTS,
    read: readOn,
  },
  'd1.rowsRead': { what: 'rows read in D1', dollars: 0.001, per: MILLION, page: D1, read: readOn },
  'd1.rowsWritten': { what: 'rows written in D1', dollars: 1, per: MILLION, page: D1, read: readOn },
  'd1.gigabyteMonths': { what: 'storage of D1, GB-months', dollars: 0.75, per: 1, page: D1, read: readOn },
  'r2.a': { what: 'operations of R2, class A', dollars: 4.5, per: MILLION, page: R2, read: readOn },
  'r2.b': { what: 'operations of R2, class B', dollars: 0.36, per: MILLION, page: R2, read: readOn },
  'r2.gigabyteMonths': { what: 'storage of R2, GB-months', dollars: 0.015, per: 1, page: R2, read: readOn },
  'queues.operations': { what: 'operations of Queues', dollars: 0.4, per: MILLION, page: QUEUES, read: readOn },
} as const satisfies Record<string, Price>;

export type PricedUse = keyof typeof PRICES;

/** The plan itself, a month. */
export const PLAN_DOLLARS = 5;

/** What so much use costs, in dollars. */
export const computePrice = (usage: Partial<Record<PricedUse, number>>): number =>
  (Object.keys(PRICES) as PricedUse[]).reduce((sum, name) => sum + computeCost(name, usage[name]), 0);

/** The same of one kind of use. */
export const computeCost = (name: PricedUse, amount = 0): number => (amount * PRICES[name].dollars) / PRICES[name].per;
