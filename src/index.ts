import api from './api.ts';
import type { Bindings } from './config.ts';
import { consume } from './jobs/queues.ts';
import { runScheduled } from './jobs/scheduled.ts';

export * from './api.ts';

/**
 * The whole system as one Worker, as `wrangler.toml` describes it: for `npx wrangler deploy` and for tests. `operations/workers.ts`
 * divides it between `api.ts` and `background.ts`.
 */
export default { ...api, queue: consume, scheduled: runScheduled } satisfies ExportedHandler<Bindings>;
