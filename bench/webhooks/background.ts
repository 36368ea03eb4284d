/** The Worker in the background with what it uses counted, and written to its log. */
import background from '../../src/background.ts';
import type { Bindings } from '../../src/config.ts';
import { meterEnvironment } from '../metered/environment.ts';
import { addUse, takeUsage } from '../metered/meter.ts';

type Background = Required<ExportedHandler<Bindings>>;
const { queue, scheduled } = background as unknown as Background;

/** What a line of the log begins with that says what was used. */
const USED = 'bench used ';

export default {
  async queue(batch, env, execution) {
    addUse('worker.requests');
    await queue(batch, meterEnvironment(env), execution);
    console.log(USED + JSON.stringify(takeUsage()));
  },
  scheduled: (controller, env, execution) => scheduled(controller, meterEnvironment(env), execution),
} satisfies ExportedHandler<Bindings>;
