import worker from '../../src/background.ts';
import { runCollecting } from './garbage-collection.ts';

type WorkerHandlers = Required<typeof worker>;

/** The background Worker, with garbage collection while it works. */
export default {
  queue: (...call) => runCollecting(() => worker.queue(...call)),
  scheduled: (...call) => runCollecting(() => worker.scheduled(...call)),
} satisfies WorkerHandlers;
