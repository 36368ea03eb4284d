import type { Bindings } from './config.ts';
import { consume } from './jobs/queues.ts';
import { runScheduled } from './jobs/scheduled.ts';
import { logError } from './platform/log.ts';
import { type WithApiVariables, withVariables } from './platform/variables.ts';

type BackgroundBindings = Bindings & WithApiVariables;

const RETRY_SECONDS = 30;

/** The Worker in the background: no request shares its isolates. `operations/workers.ts` says what it is bound to. */
export default {
  async queue(batch, env, execution) {
    let complete: BackgroundBindings;
    try {
      complete = await withVariables(env);
    } catch (error) {
      logError('variables_unknown', error, { queue: batch.queue });
      batch.retryAll({ delaySeconds: RETRY_SECONDS });
      return;
    }
    await consume(batch, complete, execution);
  },
  scheduled: async (controller, env, execution) => runScheduled(controller, await withVariables(env), execution),
} satisfies ExportedHandler<BackgroundBindings>;
