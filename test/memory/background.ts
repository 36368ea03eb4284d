import worker from '../../src/background.ts';
import { collect, collecting } from './collecting.ts';

type Handlers = Required<typeof worker>;
type Environment = Parameters<Handlers['queue']>[1];

/** Files are read and written where conversions hold the most: timers seldom come in between. */
const watched = (env: Environment): Environment => ({
  ...env,
  FILES: new Proxy(env.FILES, {
    get: (files, name) => {
      collect();
      const value = Reflect.get(files, name);
      return typeof value === 'function' ? value.bind(files) : value;
    },
  }),
});

/** The Worker in the background, which collects while it works. */
export default {
  queue: (batch, env, execution) => collecting(() => worker.queue(batch, watched(env), execution)),
  scheduled: (controller, env, execution) => collecting(() => worker.scheduled(controller, env, execution)),
} satisfies Handlers;
