import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import { SURFACES } from '../../src/app.ts';
import type { Contract } from '../../src/http/endpoint.ts';
import { getQuerySchema } from '../../src/http/query.ts';
import { isTokenAccess } from '../../src/http/request-checks.ts';
import type { Credential } from '../../src/http/surface.ts';
import { type Caller, call } from '../support/api.ts';
import { signed, withSecret } from '../support/signed.ts';
import { aCompany, type Company } from '../support/worlds.ts';

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});

/** Who may do anything, by the credential of a route. */
const chooseCaller = ({ access }: Contract, credential: Credential): Caller => {
  if (credential === 'directory') return withSecret({ key: company.apiKey });
  return ['signature', 'machine'].includes(credential) && access !== 'public' ? signed(company.apiKey) : company.as;
};

const routes = SURFACES.flatMap(({ surface, endpoints }) =>
  endpoints.map(({ contract }) => ({
    contract,
    credential: contract.credential ?? surface.credential,
    route: `${contract.method.toUpperCase()} ${contract.path}`,
  })),
);

/** Pages, what others make the addresses for, and what monitors and browsers ask for with parameters of their own. */
const mayIgnoreParameters = ({ path, returns }: Contract): boolean =>
  'raw' in returns || ['/', '/health', '/openapi.json'].includes(path) || /^\/\.well-known\/|\/callback$/.test(path);

const IN_WORDS = expect.stringContaining("'surprise'");

describe('a query parameter that the route does not have', () => {
  it('is refused on every route but pages, callbacks, metadata and health', () => {
    const open = routes.filter(({ contract }) => contract.openQuery && !mayIgnoreParameters(contract));
    expect(open.map(({ route }) => route)).toEqual([]);
  });

  /**
   * Without these: a token must open something before anything else is looked at, and so must an endpoint of the Data API,
   * whose visualization says which parameters there are.
   */
  const asked = routes.filter(
    ({ contract, route }) => !contract.openQuery && !isTokenAccess(contract.access) && route !== 'GET /data/{slug}',
  );

  const ask = ({ contract, credential }: (typeof asked)[number], query: string) => {
    const { method, path, access } = contract;
    const address = `${path.replaceAll(/\{\w+\}/g, 'f'.repeat(24))}${query}`;
    const operator = { headers: { authorization: `Bearer ${env.PLATFORM_ADMIN_TOKEN}` } };
    if (access === 'operator') return call(method.toUpperCase(), address, operator);
    return chooseCaller(contract, credential)[method](address);
  };

  it.each(asked)('is refused with its name by $route', async (route) => {
    const { status, body } = await ask(route, '?surprise=1');
    // The protocol has its own words.
    if (route.contract.path.startsWith('/oauth/'))
      return expect([status, body.error_description]).toEqual([400, IN_WORDS]);
    expect([status, body.details?.map(({ field }: { field: string }) => field)]).toEqual([
      422,
      expect.arrayContaining(['surprise']),
    ]);
  });

  it.each(asked)('is refused with an empty name by $route', async (route) => {
    for (const query of ['?=1', '?%3D=1&=']) {
      const { status, body } = await ask(route, query);
      if (route.contract.path.startsWith('/oauth/'))
        expect([query, status, body.error]).toEqual([query, 400, 'invalid_request']);
      else expect([query, status, JSON.stringify(body)]).toEqual([query, 422, expect.stringMatching('"field":""')]);
    }
  });

  const open = routes.filter(({ contract }) => contract.openQuery);

  it.each(open)('is ignored by $route, in whatever encoding', async ({ contract: { method, path } }) => {
    const { body } = await call(method.toUpperCase(), `${path.replaceAll(/\{\w+\}/g, 'f'.repeat(24))}?surprise=%E9&=1`);
    expect(JSON.stringify(body)).not.toContain('"details":[');
  });

  const byToken = routes.filter(({ contract }) => !contract.openQuery && isTokenAccess(contract.access));

  it.each(byToken)('is refused with its name by the query schema of $route, which a token opens', ({ contract }) => {
    const { error } = getQuerySchema(contract).safeParse({ surprise: '1' });
    expect(error?.issues).toContainEqual(expect.objectContaining({ keys: ['surprise'] }));
  });
});
