import worker from '../../src/background.ts';
import { runCollecting } from './collecting.ts';

type Handlers = Required<typeof worker>;

/** The Worker in the background, which collects while it works. */
export default {
  queue: (...call) => runCollecting(() => worker.queue(...call)),
  scheduled: (...call) => runCollecting(() => worker.scheduled(...call)),
} satisfies Handlers;
