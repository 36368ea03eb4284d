import { createApp } from './app.ts';
import type { Bindings } from './config.ts';

export { AttemptLimiter } from './objects/attempt-limiter.ts';
export { CompanyLog } from './objects/company-log.ts';
export { IpLimiter } from './objects/ip-limiter.ts';
export { OrganizationGate } from './objects/organization-gate.ts';
export { TokenLimiter } from './objects/token-limiter.ts';
export { ViewerGate } from './objects/viewer-gate.ts';
export { WebhookSender } from './objects/webhook-sender.ts';
export { Variables } from './platform/variables.ts';

const app = createApp();

/** The Worker that answers requests; `background.ts` handles the queues and the schedule. */
export default { fetch: app.fetch } satisfies ExportedHandler<Bindings>;
