import type { Bindings } from '../../src/config.ts';
import worker from '../../src/index.ts';
import { clock } from '../../src/kernel/clock.ts';

export { AttemptLimiter, CompanyLog, IpLimiter, OrganizationGate, TokenLimiter, ViewerGate } from '../../src/index.ts';

/** So little for each message that a load of megabytes takes dozens of them. */
const UPLOAD_MESSAGE_BYTES = String(256 * 1024);
const RATE_LIMIT_ORGANIZATION_PER_MINUTE = '1000000';
const MINUTE = 60_000;
const realNow = clock.now;

/** The Worker, its loads cut into small messages, with the scheduled run as it is so much later at `/sweep?minutes=`. */
export default {
  ...worker,
  queue: (batch: MessageBatch, env: Bindings, execution: ExecutionContext) =>
    worker.queue(batch, { ...env, UPLOAD_MESSAGE_BYTES } as Bindings, execution),
  // Whoever plays the person asks faster than one.
  async fetch(request: Request, env: Bindings, execution: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname !== '/sweep') {
      return worker.fetch(request, { ...env, RATE_LIMIT_ORGANIZATION_PER_MINUTE } as Bindings, execution);
    }
    const scheduledTime = realNow() + Number(searchParams.get('minutes')) * MINUTE;
    clock.now = () => scheduledTime;
    try {
      await worker.scheduled(
        { scheduledTime, cron: '* * * * *', noRetry: () => {} } as ScheduledController,
        env,
        execution,
      );
    } finally {
      clock.now = realNow;
    }
    return Response.json({});
  },
};
