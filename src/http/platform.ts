import { z } from 'zod';
import { ok, raw } from './endpoint.ts';
import { describe, type SurfaceEndpoints } from './openapi.ts';
import { pageResponse } from './page.ts';
import { endpoint } from './surfaces/organization.ts';

/** Routes about the API itself. `surfaces` is asked for when the description is first read. */
export const platformEndpoints = (surfaces: () => SurfaceEndpoints[]) => [
  endpoint(
    {
      method: 'get',
      path: '/health',
      access: 'public',
      summary: 'Whether the API is up',
      returns: ok(z.object({ status: z.literal('ok'), version: z.string() })),
    },
    ({ ctx }) => ({ status: 'ok' as const, version: ctx.config.VERSION }),
  ),
  endpoint(
    {
      method: 'get',
      path: '/openapi.json',
      access: 'public',
      summary: 'This description',
      returns: raw(200, 'The OpenAPI 3.1 description of every route.'),
    },
    ({ ctx }) => Response.json(describe(surfaces(), ctx.config.VERSION, ctx.baseUrl)),
  ),
  endpoint(
    {
      method: 'get',
      path: '/docs',
      access: 'public',
      summary: 'This description, to read and try in a browser',
      returns: raw(200, 'HTML.'),
    },
    ({ ctx }) => pageResponse(ctx.bindings.PAGES, 'docs', []),
  ),
];
