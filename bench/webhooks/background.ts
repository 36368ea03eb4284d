/** The background Worker with its use of the platform counted, and written to its log. */
import background from '../../src/background.ts';
import type { Bindings } from '../../src/config.ts';
import { meterEnvironment } from '../metered/environment.ts';
import { addUse, takeUsage } from '../metered/meter.ts';

type Background = Required<ExportedHandler<Bindings>>;
const { queue, scheduled } = background as unknown as Background;

/** Prefix of a log line that reports use of the platform. */
const USAGE_LINE_PREFIX = 'bench used ';

export default {
  async queue(batch, env, execution) {
    addUse('worker.requests');
    await queue(batch, meterEnvironment(env), execution);
    console.log(USAGE_LINE_PREFIX + JSON.stringify(takeUsage()));
  },
  scheduled: (controller, env, execution) => scheduled(controller, meterEnvironment(env), execution),
} satisfies ExportedHandler<Bindings>;
