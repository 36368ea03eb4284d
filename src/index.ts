import { createApp } from './app.ts';
import type { Bindings } from './config.ts';
import { consume } from './jobs/queues.ts';
import { runScheduled } from './jobs/scheduled.ts';

export { AttemptLimiter } from './objects/attempt-limiter.ts';
export { CompanyLog } from './objects/company-log.ts';
export { IpLimiter } from './objects/ip-limiter.ts';
export { OrganizationGate } from './objects/organization-gate.ts';
export { TokenLimiter } from './objects/token-limiter.ts';
export { ViewerGate } from './objects/viewer-gate.ts';

const app = createApp();

export default {
  fetch: app.fetch,
  queue: consume,
  scheduled: runScheduled,
} satisfies ExportedHandler<Bindings>;
