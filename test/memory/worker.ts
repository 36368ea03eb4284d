import { fillDay } from '../../bench/log/records.ts';
import worker, { CompanyLog as ProductLog } from '../../src/api.ts';
import type { Bindings } from '../../src/config.ts';
import { runCollecting } from './garbage-collection.ts';
import { cachePrincipals } from './principals.ts';

export * from '../../src/api.ts';

const MEGABYTE_BYTES = 1_000_000;
const NUMBERS_PER_MEGABYTE = 125_000;

/** Functions that allocate a megabyte of each kind of memory that a Worker can use, for `/probe`. */
const ALLOCATORS: Record<string, (index: number) => unknown> = {
  heap: (index) => Array.from({ length: NUMBERS_PER_MEGABYTE }, (_, at) => index + at + 0.5),
  buffers: () => new Uint8Array(MEGABYTE_BYTES).fill(1),
  wasm: () => new WebAssembly.Memory({ initial: 16 }),
};

/** The product's company log, with a method that moves old days on request, as its alarm does. */
export class CompanyLog extends ProductLog {
  async move(): Promise<void> {
    await this.alarm();
  }
}

const TEST_ROUTES: Record<string, (query: URLSearchParams, env: Bindings) => Promise<number>> = {
  /** Allocates memory for a second, so that the test can check whether it notices. */
  async '/probe'(query) {
    const allocate = ALLOCATORS[query.get('kind') ?? ''];
    const allocatedMemory = Array.from({ length: Number(query.get('megabytes')) }, (_, index) => allocate?.(index));
    await scheduler.wait(1000);
    return allocatedMemory.length;
  },
  /** Fills the isolate's cache with the given number of principals. */
  async '/principals'(query) {
    const count = Number(query.get('count'));
    cachePrincipals(count);
    return count;
  },
  /** Fills a day of a company log. */
  async '/log/fill'(query, { COMPANY_LOG }) {
    const [daysAgo, from, count] = ['days_ago', 'from', 'count'].map((name) => Number(query.get(name)));
    const name = query.get('name') ?? '';
    return fillDay(COMPANY_LOG.getByName(name), name, { daysAgo, firstNumber: from, count } as Parameters<
      typeof fillDay
    >[2]);
  },
  async '/log/move'(query, { COMPANY_LOG }) {
    await (COMPANY_LOG as DurableObjectNamespace<CompanyLog>).getByName(query.get('name') ?? '').move();
    return 0;
  },
};

/** The API's Worker with additional routes. */
export default {
  ...worker,
  async fetch(request: Request, env: Bindings, execution: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const handleRoute = TEST_ROUTES[pathname];
    return handleRoute
      ? Response.json(await handleRoute(searchParams, env))
      : runCollecting(() => worker.fetch(request, env, execution));
  },
};
