import { describe, expect, it } from 'vitest';
import { SURFACES } from '../../src/app.ts';
import { fillPath } from '../../src/http/paths.ts';
import { callApi, createCaller } from '../support/api.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { createKeyedAccount, createTokenCaller } from '../support/signed.ts';

const company = await createOwnedCompany();
const serviceCaller = await createTokenCaller(await createKeyedAccount(company));

const UNSIGNED_ACCESS = ['public', 'operator'];
const SIGNED_ROUTES = SURFACES.flatMap(({ surface, endpoints }) =>
  endpoints
    .map(({ contract }) => contract)
    .filter(({ credential = surface.credential }) => credential === 'signature')
    .filter(({ access }) => !(typeof access === 'string' ? UNSIGNED_ACCESS.includes(access) : 'token' in access))
    .map(({ method, path }) => ({ route: `${method.toUpperCase()} ${path}`, method, path })),
);

/** The routes that take tokens for the same operation as a route with signed requests. */
const TOKEN_ROUTES: Record<string, string> = {
  '/users': '/v1/users',
  '/users/{id}': '/v1/users/{id}',
  '/groups': '/v1/groups',
  '/groups/{id}': '/v1/groups/{id}',
  '/groups/{id}/policies/{policy_id}': '/v1/groups/{id}/policies/{policy_id}',
  '/service-accounts': '/v1/service-accounts',
  '/service-accounts/{id}': '/v1/service-accounts/{id}',
  '/service-accounts/{id}/keys': '/v1/service-accounts/{id}/keys',
  '/service-accounts/{id}/keys/{key_id}': '/v1/service-accounts/{id}/keys/{key_id}',
  '/admin/audit-events': '/v1/audit-events',
};

describe('a token on a route that takes signed requests', () => {
  it.each(SIGNED_ROUTES)(
    'is refused with an error that names the route that accepts tokens, whether the token is valid or not: $route',
    async (route) => {
      const address = fillPath(route.path, () => 'a'.repeat(24));
      const counterpart = TOKEN_ROUTES[route.path];
      const answers = [
        await company.as[route.method](address),
        await serviceCaller[route.method](address),
        await createCaller('garbage')[route.method](address),
        await createCaller('sa_a_b_c:secret')[route.method](address),
        await callApi(route.method.toUpperCase(), address, { headers: { authorization: 'bearer' } }),
      ];
      for (const { status, body } of answers) {
        expect(status).toBe(401);
        expect(body).toEqual({
          error: 'Unauthorized',
          message: expect.stringContaining(counterpart ?? '/v1'),
          details: {
            field: 'authorization',
            reason: 'malformed',
            takes: 'signature',
            counterpart: counterpart ?? '/v1',
          },
        });
        expect(body.message).toMatch(/^This route takes signed requests, not tokens\. /);
      }
    },
  );

  it('is refused with an error that names an existing route', () => {
    const paths = SURFACES.flatMap(({ endpoints }) => endpoints.map(({ contract }) => contract.path));
    const namedRoutes = Object.entries(TOKEN_ROUTES).flat();
    expect(namedRoutes.filter((path) => !paths.includes(path))).toEqual([]);
  });
});
