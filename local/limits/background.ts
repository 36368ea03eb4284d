/** The Worker in the background, as `npm start` runs it: `src/background.ts` under the platform's limits. */
import './enforce.ts';
import background from '../../src/background.ts';
import { limitHandlers } from './handlers.ts';

export default limitHandlers(background);
