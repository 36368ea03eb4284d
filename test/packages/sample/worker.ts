import 'data-console-embed';
import { useClient } from './use.js';

export default {
  fetch: async (request: Request): Promise<Response> => Response.json(await useClient(await request.json())),
};
