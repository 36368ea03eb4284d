import { describe, expect, it } from 'vitest';
import { SURFACES } from '../../src/app.ts';
import { call } from '../support/api.ts';
import { findMismatches, requireConformity } from '../support/conformity.ts';
import { LINES, listOperations, listSuccessStatuses, type Operation, ROUTES, type Route } from './routes.ts';

const { body: description } = await call('GET', '/openapi.json');
const describedOperations = listOperations(description);
const makeRouteKey = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;

const contracts = new Map(
  SURFACES.flatMap(({ surface, endpoints }) =>
    endpoints.map(({ contract }) => [
      `${contract.method.toUpperCase()} ${contract.path}`,
      { ...contract, credential: contract.credential ?? surface.credential },
    ]),
  ),
);

/** Whether the table does not list a route: a page that people open, a picture, or an answer for nobody to parse. */
const isOfPages = (key: string): boolean => {
  const returns = contracts.get(key)?.returns;
  return (
    returns !== undefined &&
    'raw' in returns &&
    returns.mediaTypes.some((type) => /^(text\/html|text\/plain|image\/)/.test(type))
  );
};

/** The credential of the table, as a description says it. */
const SECURITY: Record<string, unknown[]> = {
  signature: [{ signature: [] }],
  bearer: [{ bearer: [] }],
  'bearer?': [{ bearer: [] }, {}],
  external: [{ external: [] }, { bearer: [] }],
  directory: [{ directory: [] }],
  operator: [{ operator: [] }],
  'token in path': [],
  none: [],
};

/** What the table's credential is in a description, where the contract does not add another way. */
function readSecurity(key: string, { credential }: Route): unknown[] | undefined {
  const contract = contracts.get(key);
  if (contract?.credential === 'machine') return [{ signature: [] }, { bearer: [] }];
  // Takes the token of a sign-in under way, in the body, in place of a session.
  if (contract?.access === 'pending') return SECURITY['bearer?'];
  // Needs no token; but the session of one that is sent ends.
  if (contract?.access === 'optional' && contract.credential === 'external') {
    return [{ external: [] }, { bearer: [] }, {}];
  }
  return SECURITY[credential];
}

/** A route that nobody agreed on yet, as its declaration says it. */
function formatLine({ method, path, operation }: (typeof describedOperations)[number]): string {
  const { security, 'x-permission': permission = '-' } = operation;
  const open = path.includes('{token}') ? 'token in path' : 'none';
  const asks = (credential: string) => JSON.stringify(SECURITY[credential]) === JSON.stringify(security);
  const credential = security.length === 0 ? open : Object.keys(SECURITY).find(asks);
  return ['beyond', method, path, credential, permission, listSuccessStatuses(operation)[0]].join('\t');
}

describe('/openapi.json', () => {
  it('describes exactly the routes of the generated list, as `npm run contract` writes it', async () => {
    const kept = ROUTES.flatMap((route, at) =>
      describedOperations.some((found) => makeRouteKey(found) === makeRouteKey(route)) ? at : [],
    );
    const known = ROUTES.map(makeRouteKey);
    const isNew = (key: string) => !known.includes(key) && !isOfPages(key);
    const added = describedOperations.filter((found) => isNew(makeRouteKey(found))).map(formatLine);
    const [head] = LINES;
    const table = [head, ...kept.map((at) => LINES[at + 1]), ...added].join('\n');
    await expect(`${table}\n`).toMatchFileSnapshot('generated/routes.tsv');
  });

  it.each(ROUTES.map((route) => [makeRouteKey(route), route] as const))(
    'has the credential, the permission and the success status of the contract: %s',
    (key, route) => {
      const { operation } = describedOperations.find((found) => makeRouteKey(found) === key) ?? {};
      expect(operation?.security).toEqual(readSecurity(key, route));
      const answers = operation ? listSuccessStatuses(operation) : [];
      expect(answers).toEqual(key === 'POST /mcp' ? [route.success, '202'] : [route.success]);
      expect(operation?.tags).toHaveLength(1);
      expectPermission(route, operation ?? {});
    },
  );
});

describe('the examples of /openapi.json', () => {
  const json = describedOperations.filter(
    ({ operation }) => listMediaTypes(operation)?.['application/json']?.example !== undefined,
  );

  it('are given for every route that answers JSON', () => {
    const without = describedOperations.filter(
      (found) => listMediaTypes(found.operation)?.['application/json'] && !json.includes(found),
    );
    // A file, where a person's way through an identity provider begins, and the description itself.
    expect(without.map(makeRouteKey)).toEqual([
      'GET /data/results/{token}',
      'GET /openapi.json',
      'GET /v1/auth/sso/{company_slug}/start',
      'GET /v1/auth/social/{company_slug}/start',
    ]);
  });

  it.each(json.map((found) => [makeRouteKey(found), found] as const))('have the declared shape: %s', (_key, found) => {
    const [status = ''] = listSuccessStatuses(found.operation);
    const body = listMediaTypes(found.operation)?.['application/json']?.example;
    const headers = new Headers({ 'content-type': 'application/json' });
    requireConformity(found.method, found.path, { status: Number(status), headers, body });
  });

  const sent = describedOperations.flatMap((found) => {
    const { parameters = [], requestBody } = found.operation;
    const { schema, example } = requestBody?.content['application/json'] ?? {};
    return [...parameters, ...(schema ? [{ name: 'body', schema, example }] : [])]
      .filter((part) => part.example !== undefined)
      .map((part) => [`${part.name} of ${makeRouteKey(found)}`, part] as const);
  });

  it('include parts of requests', () => expect(sent.length).toBeGreaterThan(200));

  it.each(sent)('fit the schema of what the route takes: %s', (_what, { schema, example }) => {
    expect(findMismatches(example, schema)).toEqual([]);
  });
});

/** Media types of an operation's success. */
const listMediaTypes = (operation: Operation) => operation.responses[listSuccessStatuses(operation)[0] ?? '']?.content;

/** Where the table names actions, exactly these; where it says it in words, the description says something as well. */
function expectPermission(
  { permission }: Route,
  said: { 'x-permission'?: string; 'x-legacy-permission'?: string },
): void {
  const [first, second] = permission.split(' | ');
  if (permission === '-') expect(said['x-permission']).toBeUndefined();
  else if (second) {
    expect(said['x-permission']).toBe(second);
    expect(said['x-legacy-permission']).toBe(first);
  } else if (/^[\w-]+:[\w-]+$/.test(permission)) expect(said['x-permission']).toContain(permission);
  else expect(said['x-permission']).toEqual(expect.any(String));
}
