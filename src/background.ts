import type { Bindings } from './config.ts';
import { consumeBatch } from './jobs/queues.ts';
import { runScheduled } from './jobs/scheduled.ts';
import { logError } from './platform/log.ts';
import { type ApiVariablesBinding, addApiVariables } from './platform/variables.ts';

type BackgroundBindings = Bindings & ApiVariablesBinding;

const RETRY_SECONDS = 30;

/** The background Worker: no request shares its isolates. `operations/workers.ts` lists its bindings. */
export default {
  async queue(batch, env, execution) {
    let completeEnv: BackgroundBindings;
    try {
      completeEnv = await addApiVariables(env);
    } catch (error) {
      logError('variables_unknown', error, { queue: batch.queue });
      batch.retryAll({ delaySeconds: RETRY_SECONDS });
      return;
    }
    await consumeBatch(batch, completeEnv, execution);
  },
  scheduled: async (controller, env, execution) => runScheduled(controller, await addApiVariables(env), execution),
} satisfies ExportedHandler<BackgroundBindings>;
