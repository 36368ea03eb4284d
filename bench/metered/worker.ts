/** The API with what it uses counted, and what it asks put at a distance. */
import { z } from 'zod';
import { createApp, SURFACES } from '../../src/app.ts';
import type { Bindings } from '../../src/config.ts';
import { ok } from '../../src/http/endpoint.ts';
import { withConcepts } from '../../src/http/openapi.ts';
import * as console from '../../src/http/surfaces/console.ts';
import * as organization from '../../src/http/surfaces/organization.ts';
import { clock, DAY_MS } from '../../src/kernel/clock.ts';
import { DEFAULT_RETENTION_DAYS } from '../../src/logs/log.ts';
import { forgetPrincipals } from '../../test/support/known-principals.ts';
import { logs, metered } from './environment.ts';
import { foundCompany } from './found.ts';
import { beginHandler, follow, place, takeUsage, use } from './meter.ts';

export { Variables } from '../../src/api.ts';
export * from './objects.ts';

const returns = ok(z.object({ done: z.boolean() }));
const nothing = () => ({ done: true });

// Routes that only let in, with each of the two credentials.
SURFACES.push(
  withConcepts(organization.surface, {
    Bench: [
      organization.endpoint(
        {
          method: 'get',
          path: '/bench/signed',
          access: 'users:ListUsers',
          operationId: 'doNothingSigned',
          summary: 'Do nothing',
          description: 'Answers at once, for a measurement.',
          returns,
        },
        nothing,
      ),
    ],
  }),
  withConcepts(console.surface, {
    Bench: [
      console.endpoint(
        {
          method: 'get',
          path: '/bench/bearer',
          access: 'users:list',
          operationId: 'doNothingBearer',
          summary: 'Do nothing',
          description: 'Answers at once, for a measurement.',
          returns,
        },
        nothing,
      ),
    ],
  }),
);
for (const each of SURFACES) {
  each.endpoints = each.endpoints.map(({ contract, handle }) => ({
    contract,
    handle: (call) => {
      beginHandler();
      return handle(call);
    },
  }));
}

const app = createApp();

export default {
  fetch(request: Request, env: Bindings, execution: ExecutionContext): Response | Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === '/bench/usage') return Response.json(takeUsage());
    if (pathname === '/bench/distance') {
      place(Number(searchParams.get('milliseconds')));
      return Response.json({});
    }
    if (pathname === '/bench/forget') {
      forgetPrincipals();
      return Response.json({});
    }
    if (pathname === '/bench/move') return moveLogs(env);
    if (pathname === '/bench/found') {
      const [slug, principals] = ['slug', 'principals'].map((name) => searchParams.get(name) ?? '') as [string, string];
      return foundCompany(env, execution, slug, Number(principals)).then((made) => Response.json(made));
    }
    use('worker.requests');
    return follow(async () => app.fetch(request, metered(env), execution));
  },
} satisfies ExportedHandler<Bindings>;

/** Has all logs move all days that are over, as they do when these have been kept for long enough. */
async function moveLogs({ COMPANY_LOG }: Bindings): Promise<Response> {
  const { now } = clock;
  clock.now = () => now() + (DEFAULT_RETENTION_DAYS + 1) * DAY_MS;
  for (const name of logs) await (COMPANY_LOG.getByName(name) as unknown as { move(): Promise<void> }).move();
  clock.now = now;
  return Response.json({});
}
