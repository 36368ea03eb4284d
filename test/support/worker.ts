import '../../local/limits/enforce.ts';
import { limitHandlers } from '../../local/limits/handlers.ts';
import worker from '../../src/index.ts';

export * from '../../local/limits/api.ts';

/** Both Workers as one, which the tests of this project run in; those of processes run the two, as they are deployed. */
export default limitHandlers(worker);
