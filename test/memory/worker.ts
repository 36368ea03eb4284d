import type { Bindings } from '../../src/config.ts';
import worker from '../../src/index.ts';

export * from '../../src/index.ts';

const MEGABYTE = 1_000_000;
const NUMBERS = 125_000;

/** What `/probe` makes, a megabyte at a time: each kind of memory that a Worker can hold. */
const KINDS: Record<string, (index: number) => unknown> = {
  heap: (index) => Array.from({ length: NUMBERS }, (_, at) => index + at + 0.5),
  buffers: () => new Uint8Array(MEGABYTE).fill(1),
  wasm: () => new WebAssembly.Memory({ initial: 16 }),
};

/** The API's Worker with one more route, which holds memory for a second: the test sees whether it would notice. */
export default {
  ...worker,
  async fetch(request: Request, env: Bindings, execution: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const make = KINDS[searchParams.get('kind') ?? ''];
    if (pathname !== '/probe' || !make) return worker.fetch(request, env, execution);
    const held = Array.from({ length: Number(searchParams.get('megabytes')) }, (_, index) => make(index));
    await scheduler.wait(1000);
    return Response.json({ held: held.length });
  },
};
