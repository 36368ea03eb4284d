import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { SURFACES } from '../../src/app.ts';
import type { Contract } from '../../src/http/endpoint.ts';
import { getQuerySchema } from '../../src/http/query.ts';
import { isTokenAccess } from '../../src/http/request-checks.ts';
import type { Credential } from '../../src/http/surface.ts';
import { type Caller, callApi } from '../support/api.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { createSecretCaller, createSignedCaller } from '../support/signed.ts';

const company = await createOwnedCompany();

/** Returns a caller who may do anything, with the credential of a route. */
const chooseCaller = ({ access }: Contract, credential: Credential): Caller => {
  if (credential === 'directory') return createSecretCaller({ key: company.apiKey });
  return ['signature', 'machine'].includes(credential) && access !== 'public'
    ? createSignedCaller(company.apiKey)
    : company.as;
};

const routes = SURFACES.flatMap(({ surface, endpoints }) =>
  endpoints.map(({ contract }) => ({
    contract,
    credential: contract.credential ?? surface.credential,
    route: `${contract.method.toUpperCase()} ${contract.path}`,
  })),
);

/** Returns true for pages, and for routes whose query parameters other systems, monitors or browsers add. */
const mayIgnoreParameters = ({ path, returns }: Contract): boolean =>
  'raw' in returns || ['/', '/health', '/openapi.json'].includes(path) || /^\/\.well-known\/|\/callback$/.test(path);

const NAMED_IN_MESSAGE = expect.stringContaining("'surprise'");

describe('a query parameter that the route does not have', () => {
  it('is refused on every route except pages, callbacks, metadata and health', () => {
    const openRoutes = routes.filter(({ contract }) => contract.openQuery && !mayIgnoreParameters(contract));
    expect(openRoutes.map(({ route }) => route)).toEqual([]);
  });

  /**
   * The routes that check parameters first. Routes with a token, and endpoints of the Data API, must find a record before they
   * know which parameters exist.
   */
  const checkedRoutes = routes.filter(
    ({ contract, route }) => !contract.openQuery && !isTokenAccess(contract.access) && route !== 'GET /data/{slug}',
  );

  const sendQuery = ({ contract, credential }: (typeof checkedRoutes)[number], query: string) => {
    const { method, path, access } = contract;
    const address = `${path.replaceAll(/\{\w+\}/g, 'f'.repeat(24))}${query}`;
    const operator = { headers: { authorization: `Bearer ${env.PLATFORM_ADMIN_TOKEN}` } };
    if (access === 'operator') return callApi(method.toUpperCase(), address, operator);
    return chooseCaller(contract, credential)[method](address);
  };

  it.each(checkedRoutes)('is refused with its name by $route', async (route) => {
    const { status, body } = await sendQuery(route, '?surprise=1');
    // The protocol has its own words.
    if (route.contract.path.startsWith('/oauth/'))
      return expect([status, body.error_description]).toEqual([400, NAMED_IN_MESSAGE]);
    expect([status, body.details?.map(({ field }: { field: string }) => field)]).toEqual([
      422,
      expect.arrayContaining(['surprise']),
    ]);
  });

  const SAMPLED_ROUTES = ['GET /v1/groups', 'GET /groups', 'POST /oauth/token', 'GET /scim/v2/Users'];

  it.each(checkedRoutes.filter(({ route }) => SAMPLED_ROUTES.includes(route)))(
    'is refused with an empty name by $route',
    async (route) => {
      for (const query of ['?=1', '?%3D=1&=']) {
        const { status, body } = await sendQuery(route, query);
        if (route.contract.path.startsWith('/oauth/'))
          expect([query, status, body.error]).toEqual([query, 400, 'invalid_request']);
        else expect([query, status, JSON.stringify(body)]).toEqual([query, 422, expect.stringMatching('"field":""')]);
      }
    },
  );

  const openRoutes = routes.filter(({ contract }) => contract.openQuery);

  it.each(openRoutes)('is ignored by $route, in whatever encoding', async ({ contract: { method, path } }) => {
    const { body } = await callApi(
      method.toUpperCase(),
      `${path.replaceAll(/\{\w+\}/g, 'f'.repeat(24))}?surprise=%E9&=1`,
    );
    expect(JSON.stringify(body)).not.toContain('"details":[');
  });

  const tokenRoutes = routes.filter(({ contract }) => !contract.openQuery && isTokenAccess(contract.access));

  it.each(tokenRoutes)(
    'is refused with its name by the query schema of $route, which a token opens',
    ({ contract }) => {
      const { error } = getQuerySchema(contract).safeParse({ surprise: '1' });
      expect(error?.issues).toContainEqual(expect.objectContaining({ keys: ['surprise'] }));
    },
  );
});
