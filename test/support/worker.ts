import api from '../../src/index.ts';
import { consume } from '../../src/jobs/queues.ts';
import { runScheduled } from '../../src/jobs/scheduled.ts';

export * from '../../src/index.ts';

/** Both Workers as one, which the tests of this project run in; those of processes run the two, as they are deployed. */
export default { ...api, queue: consume, scheduled: runScheduled };
