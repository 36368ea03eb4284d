import '../../local/limits/enforce.ts';
import { limitHandlers } from '../../local/limits/invocation.ts';
import worker from '../../src/index.ts';

export * from '../../local/limits/api.ts';

/**
 * Both Workers combined into the one that the tests of this project run in; tests of processes run the two separately, as they
 * are deployed.
 */
export default limitHandlers(worker);
