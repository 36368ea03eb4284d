import { describe, expect, it } from 'vitest';
import { SURFACES } from '../../src/app.ts';
import { callApi } from '../support/api.ts';
import { expectConformity, findMismatches } from '../support/conformity.ts';
import { listOperations, listSuccessStatuses, type Operation, ROUTES, type Route, TABLE_LINES } from './routes.ts';

const { body: description } = await callApi('GET', '/openapi.json');
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

/** Returns true for a route that the table does not list: a page, a picture, or another answer that is not parsed. */
const isPageRoute = (key: string): boolean => {
  const returns = contracts.get(key)?.returns;
  return (
    returns !== undefined &&
    'raw' in returns &&
    returns.mediaTypes.some((type) => /^(text\/html|text\/plain|image\/)/.test(type))
  );
};

/** For each credential of the table, its security requirements in the OpenAPI document. */
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

/** Returns the security requirements of a route's credential, unless the contract declares a further credential. */
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

/** Formats a route that is not yet in the table as a line of the table. */
function formatLine({ method, path, operation }: (typeof describedOperations)[number]): string {
  const { security, 'x-permission': permission = '-' } = operation;
  const openCredential = path.includes('{token}') ? 'token in path' : 'none';
  const hasCredential = (credential: string) => JSON.stringify(SECURITY[credential]) === JSON.stringify(security);
  const credential = security.length === 0 ? openCredential : Object.keys(SECURITY).find(hasCredential);
  return ['beyond', method, path, credential, permission, listSuccessStatuses(operation)[0]].join('\t');
}

describe('/openapi.json', () => {
  it('describes exactly the routes of the generated list, as `npm run contract` writes it', async () => {
    const listedIndexes = ROUTES.flatMap((route, at) =>
      describedOperations.some((describedOperation) => makeRouteKey(describedOperation) === makeRouteKey(route))
        ? at
        : [],
    );
    const listedKeys = ROUTES.map(makeRouteKey);
    const isNew = (key: string) => !listedKeys.includes(key) && !isPageRoute(key);
    const newLines = describedOperations
      .filter((describedOperation) => isNew(makeRouteKey(describedOperation)))
      .map(formatLine);
    const [head] = TABLE_LINES;
    const table = [head, ...listedIndexes.map((at) => TABLE_LINES[at + 1]), ...newLines].join('\n');
    await expect(`${table}\n`).toMatchFileSnapshot('generated/routes.tsv');
  });

  it.each(ROUTES.map((route) => [makeRouteKey(route), route] as const))(
    'has the credential, the permission and the success status of the contract: %s',
    (key, route) => {
      const { operation } =
        describedOperations.find((describedOperation) => makeRouteKey(describedOperation) === key) ?? {};
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
    const routesWithoutExample = describedOperations.filter(
      (describedOperation) =>
        listMediaTypes(describedOperation.operation)?.['application/json'] && !json.includes(describedOperation),
    );
    // A file, where a person's way through an identity provider begins, and the description itself.
    expect(routesWithoutExample.map(makeRouteKey)).toEqual([
      'GET /data/results/{token}',
      'GET /openapi.json',
      'GET /v1/auth/sso/{company_slug}/start',
      'GET /v1/auth/social/{company_slug}/start',
    ]);
  });

  it.each(json.map((describedOperation) => [makeRouteKey(describedOperation), describedOperation] as const))(
    'have the declared shape: %s',
    (_key, resource) => {
      const [status = ''] = listSuccessStatuses(resource.operation);
      const body = listMediaTypes(resource.operation)?.['application/json']?.example;
      const headers = new Headers({ 'content-type': 'application/json' });
      expectConformity(resource.method, resource.path, { status: Number(status), headers, body });
    },
  );

  const sentParts = describedOperations.flatMap((describedOperation) => {
    const { parameters = [], requestBody } = describedOperation.operation;
    const { schema, example } = requestBody?.content['application/json'] ?? {};
    return [...parameters, ...(schema ? [{ name: 'body', schema, example }] : [])]
      .filter((part) => part.example !== undefined)
      .map((part) => [`${part.name} of ${makeRouteKey(describedOperation)}`, part] as const);
  });

  it('include more than 200 parameters and bodies of requests', () => expect(sentParts.length).toBeGreaterThan(200));

  it.each(sentParts)('fit the schema of the request part: %s', (_what, { schema, example }) => {
    expect(findMismatches(example, schema)).toEqual([]);
  });
});

/** Returns the media types of an operation's success response. */
const listMediaTypes = (operation: Operation) => operation.responses[listSuccessStatuses(operation)[0] ?? '']?.content;

/**
 * Requires exactly the actions that the table names; where the table has words, the operation must describe a permission, too.
 */
function expectPermission(
  { permission }: Route,
  describedPermissions: { 'x-permission'?: string; 'x-legacy-permission'?: string },
): void {
  const [first, second] = permission.split(' | ');
  if (permission === '-') expect(describedPermissions['x-permission']).toBeUndefined();
  else if (second) {
    expect(describedPermissions['x-permission']).toBe(second);
    expect(describedPermissions['x-legacy-permission']).toBe(first);
  } else if (/^[\w-]+:[\w-]+$/.test(permission)) expect(describedPermissions['x-permission']).toContain(permission);
  else expect(describedPermissions['x-permission']).toEqual(expect.any(String));
}
