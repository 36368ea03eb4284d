import worker from '../../src/api.ts';
import type { Bindings } from '../../src/config.ts';

export * from '../../src/api.ts';

/** The Worker, with routes that store the body, read a form by `formData()`, and repeat a job's message. */
export default {
  ...worker,
  async fetch(request: Request, env: Bindings, execution: ExecutionContext): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (!pathname.startsWith('/bench/')) return worker.fetch(request, env, execution);
    if (pathname === '/bench/put') await env.FILES.put('bench/put', request.body);
    if (pathname === '/bench/form') await env.FILES.put('bench/form', (await request.formData()).get('files'));
    if (pathname === '/bench/message') await env.JOBS.send(await request.json());
    return Response.json({});
  },
};
