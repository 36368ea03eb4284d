import { createApp } from './app.ts';
import type { Bindings } from './config.ts';
import { dispatch } from './jobs/dispatch.ts';
import { runScheduled } from './jobs/scheduled.ts';

export { AttemptLimiter } from './objects/attempt-limiter.ts';
export { IpLimiter } from './objects/ip-limiter.ts';
export { OrganizationGate } from './objects/organization-gate.ts';

const app = createApp();

export default {
  fetch: app.fetch,
  queue: dispatch,
  scheduled: runScheduled,
} satisfies ExportedHandler<Bindings>;
