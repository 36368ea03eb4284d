import 'data-console-embed';
import { use } from './use.js';

export default { fetch: async (request: Request): Promise<Response> => Response.json(await use(await request.json())) };
