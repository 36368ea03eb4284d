import type { Bindings } from '../config.ts';
import { openContext } from '../context.ts';
import { purgeExpired as purgeSingleSignOn } from '../modules/single-sign-on/service.ts';
import { sweepUploads } from '../modules/uploads/jobs.ts';

/** The scheduled run, once a minute: takes up what was left lying and cleans up what has ended. */
export async function runScheduled(controller: ScheduledController, env: Bindings, execution: ExecutionContext): Promise<void> {
  const origin = {
    env,
    waitUntil: (work: Promise<unknown>) => execution.waitUntil(work),
    correlationId: `scheduled-${controller.scheduledTime}`,
    baseUrl: '',
    ip: null,
  };
  const { context, close } = openContext(origin, { kind: 'anonymous' });
  try {
    await sweepUploads(context, (companyId) => openContext(origin, { kind: 'system', companyId }));
    await purgeSingleSignOn(context);
  } finally {
    await close();
  }
}
