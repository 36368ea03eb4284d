import worker from '../../src/background.ts';
import { collecting } from './collecting.ts';

type Handlers = Required<typeof worker>;

/** The Worker in the background, which collects while it works. */
export default {
  queue: (...call) => collecting(() => worker.queue(...call)),
  scheduled: (...call) => collecting(() => worker.scheduled(...call)),
} satisfies Handlers;
