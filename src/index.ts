import api from './api.ts';
import type { Bindings } from './config.ts';
import { consumeBatch } from './jobs/queues.ts';
import { runScheduled } from './jobs/scheduled.ts';

export * from './api.ts';

/** The whole system as one Worker, as in `wrangler.toml`. A deployment divides it: `operations/workers.ts`. */
export default { ...api, queue: consumeBatch, scheduled: runScheduled } satisfies ExportedHandler<Bindings>;
