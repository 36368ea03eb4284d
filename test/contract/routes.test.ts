import { describe, expect, it } from 'vitest';
import { call } from '../support/api.ts';
import { mustConform } from '../support/conformity.ts';
import { type Operation, operations, ROUTES, type Route } from './routes.ts';

const { body: description } = await call('GET', '/openapi.json');
const described = operations(description);
const keyOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;

/** Pages that people open, and the description's own neighbours: routes that the table of the contract does not list. */
const PAGES = ['GET /embed/d/{token}', 'GET /embed/v/{token}', 'GET /p/{token}', 'GET /portal/{company_slug}'];

/** Needs no token; but the session of one that is sent ends. */
const LEAVING = ['POST /api/v1/share-auth/logout'];

/** The credential of the table, as a description says it. */
const SECURITY: Record<string, unknown[]> = {
  signature: [{ signature: [] }],
  bearer: [{ bearer: [] }],
  'bearer?': [{ bearer: [] }, {}],
  external: [{ external: [] }, { bearer: [] }],
  operator: [{ operator: [] }],
  'token in path': [],
  none: [],
};

describe('/openapi.json against the contract', () => {
  it('describes every route of the contract, and no other', () => {
    expect(described.map(keyOf).sort()).toEqual([...ROUTES.map(keyOf), ...PAGES].sort());
  });

  it.each(ROUTES.map((route) => [keyOf(route), route] as const))(
    '%s: credential, permission, success',
    (key, route) => {
      const { operation } = described.find((found) => keyOf(found) === key) ?? {};
      expect(operation?.security).toEqual(
        LEAVING.includes(key) ? [{ external: [] }, { bearer: [] }, {}] : SECURITY[route.credential],
      );
      expect(Object.keys(operation?.responses ?? {}).filter((status) => !/^[45]|default/.test(status))).toEqual([
        route.success,
      ]);
      expect(operation?.tags).toHaveLength(1);
      expectPermission(route, operation ?? {});
    },
  );
});

describe('examples', () => {
  const json = described.filter(({ operation }) => contentOf(operation)?.['application/json']?.example !== undefined);

  it('stand at every route that answers JSON', () => {
    const without = described.filter(
      (found) => contentOf(found.operation)?.['application/json'] && !json.includes(found),
    );
    // Where a person's way through an identity provider begins, and the description itself.
    expect(without.map(keyOf)).toEqual(['GET /openapi.json', 'GET /v1/auth/sso/{company_slug}/start']);
  });

  it.each(json.map((found) => [keyOf(found), found] as const))('%s: is of the declared shape', (_key, found) => {
    const [status = ''] = Object.keys(found.operation.responses);
    const body = contentOf(found.operation)?.['application/json']?.example;
    const headers = new Headers({ 'content-type': 'application/json' });
    mustConform(found.method, found.path, { status: Number(status), headers, body });
  });
});

/** Media types of an operation's success. */
const contentOf = ({ responses }: Operation) => Object.values(responses)[0]?.content;

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
