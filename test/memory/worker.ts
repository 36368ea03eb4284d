import { fillDay } from '../../bench/log/records.ts';
import worker, { CompanyLog as ProductLog } from '../../src/api.ts';
import type { Bindings } from '../../src/config.ts';
import { runCollecting } from './collecting.ts';
import { rememberPrincipals } from './principals.ts';

export * from '../../src/api.ts';

const MEGABYTE = 1_000_000;
const NUMBERS = 125_000;

/** What `/probe` makes, a megabyte at a time: each kind of memory that a Worker can hold. */
const KINDS: Record<string, (index: number) => unknown> = {
  heap: (index) => Array.from({ length: NUMBERS }, (_, at) => index + at + 0.5),
  buffers: () => new Uint8Array(MEGABYTE).fill(1),
  wasm: () => new WebAssembly.Memory({ initial: 16 }),
};

/** The log of the product, which moves its old days when it is told to, as by its alarm. */
export class CompanyLog extends ProductLog {
  async move(): Promise<void> {
    await this.alarm();
  }
}

const ROUTES: Record<string, (query: URLSearchParams, env: Bindings) => Promise<number>> = {
  /** Holds memory for a second: the test sees whether it would notice. */
  async '/probe'(query) {
    const make = KINDS[query.get('kind') ?? ''];
    const held = Array.from({ length: Number(query.get('megabytes')) }, (_, index) => make?.(index));
    await scheduler.wait(1000);
    return held.length;
  },
  /** Has the isolate know as many principals. */
  async '/principals'(query) {
    const count = Number(query.get('count'));
    rememberPrincipals(count);
    return count;
  },
  /** Fills a day of a log. */
  async '/log/fill'(query, { COMPANY_LOG }) {
    const [daysAgo, from, count] = ['days_ago', 'from', 'count'].map((name) => Number(query.get(name)));
    const name = query.get('name') ?? '';
    return fillDay(COMPANY_LOG.getByName(name), name, { daysAgo, from, count } as Parameters<typeof fillDay>[2]);
  },
  async '/log/move'(query, { COMPANY_LOG }) {
    await (COMPANY_LOG as DurableObjectNamespace<CompanyLog>).getByName(query.get('name') ?? '').move();
    return 0;
  },
};

/** The API's Worker with a few more routes. */
export default {
  ...worker,
  async fetch(request: Request, env: Bindings, execution: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const route = ROUTES[pathname];
    return route
      ? Response.json(await route(searchParams, env))
      : runCollecting(() => worker.fetch(request, env, execution));
  },
};
