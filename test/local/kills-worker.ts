import worker from '../../src/api.ts';
import type { Bindings } from '../../src/config.ts';
import { runScheduled } from '../../src/jobs/scheduled.ts';
import { clock } from '../../src/kernel/clock.ts';

export * from '../../src/api.ts';

const MINUTE = 60_000;
const realNow = clock.now;

/** The API's Worker, with the scheduled run as it is so much later at `/sweep?minutes=`. */
export default {
  async fetch(request: Request, env: Bindings, execution: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname !== '/sweep') return worker.fetch(request, env, execution);
    const scheduledTime = realNow() + Number(searchParams.get('minutes')) * MINUTE;
    clock.now = () => scheduledTime;
    try {
      await runScheduled(
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
