/** The API with its use of the platform counted, and its remote calls delayed. */
import { z } from 'zod';
import { createApp, SURFACES } from '../../src/app.ts';
import type { Bindings } from '../../src/config.ts';
import { type Endpoint, ok } from '../../src/http/endpoint.ts';
import { makeSurfaceEndpoints } from '../../src/http/openapi.ts';
import { surface as console } from '../../src/http/surfaces/console.ts';
import { surface as organization } from '../../src/http/surfaces/organization.ts';
import { clock, DAY_MS } from '../../src/kernel/clock.ts';
import { DEFAULT_RETENTION_DAYS } from '../../src/logs/log.ts';
import type { Action } from '../../src/permissions/actions.ts';
import { forgetPrincipals } from '../../test/support/known-principals.ts';
import { createCompany } from './create-company.ts';
import { appendedLogs, meterEnvironment } from './environment.ts';
import { addUse, beginHandler, followRequest, setLatency, takeUsage } from './meter.ts';

export { Variables } from '../../src/api.ts';
export * from './objects.ts';

/** Makes a route that checks authorization and does nothing else. */
const makeEmptyEndpoint = (path: string, access: Action): Endpoint => ({
  contract: {
    method: 'get',
    path,
    access,
    operationId: path.slice(1).replace('/', '_'),
    summary: 'Do nothing',
    description: 'Answers at once, for a measurement.',
    returns: ok(z.object({ done: z.boolean() })),
  },
  handle: async () => ({ done: true }),
});

// With each of the two credentials.
SURFACES.push(
  makeSurfaceEndpoints(organization, { Bench: [makeEmptyEndpoint('/bench/signed', 'users:ListUsers')] }),
  makeSurfaceEndpoints(console, { Bench: [makeEmptyEndpoint('/bench/bearer', 'users:list')] }),
);
for (const surface of SURFACES) {
  surface.endpoints = surface.endpoints.map(({ contract, handle }) => ({
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
      setLatency(Number(searchParams.get('milliseconds')));
      return Response.json({});
    }
    if (pathname === '/bench/forget') {
      forgetPrincipals();
      return Response.json({});
    }
    if (pathname === '/bench/move') return moveLogs(env);
    if (pathname === '/bench/found') {
      const [slug, principals] = ['slug', 'principals'].map((name) => searchParams.get(name) ?? '') as [string, string];
      return createCompany(env, execution, slug, Number(principals)).then((company) => Response.json(company));
    }
    addUse('worker.requests');
    return followRequest(async () => app.fetch(request, meterEnvironment(env), execution));
  },
} satisfies ExportedHandler<Bindings>;

/** Has all logs move every complete day to R2, as they do once the days are old enough. */
async function moveLogs({ COMPANY_LOG }: Bindings): Promise<Response> {
  const { now } = clock;
  clock.now = () => now() + (DEFAULT_RETENTION_DAYS + 1) * DAY_MS;
  for (const name of appendedLogs) await (COMPANY_LOG.getByName(name) as unknown as { move(): Promise<void> }).move();
  clock.now = now;
  return Response.json({});
}
