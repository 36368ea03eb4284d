import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { limitToJurisdiction, OBJECT_BINDING_NAMES } from '../../src/objects/jurisdiction.ts';
import { callApi } from '../support/api.ts';
import { createOwnedCompany } from '../support/companies.ts';

const OBJECT_BINDINGS = ['ORGANIZATION_GATE', 'IP_LIMITER', 'ATTEMPT_LIMITER', 'COMPANY_LOG'] as const;

it('requests call only Durable Objects of the configured jurisdiction', async () => {
  const { slug, owner } = await createOwnedCompany();
  const requestedJurisdictions: string[] = [];
  // workerd knows no jurisdictions: outside one there is nothing here, and in one are the objects that are there.
  const bindingEntries = OBJECT_BINDINGS.map((name) => [
    name,
    {
      jurisdiction: (jurisdiction: string) => {
        requestedJurisdictions.push(`${name} in ${jurisdiction}`);
        return env[name];
      },
    },
  ]);
  const bindings = {
    ...Object.fromEntries(bindingEntries),
    TOKEN_LIMITER: { jurisdiction: () => env.TOKEN_LIMITER },
    VIEWER_GATE: { jurisdiction: () => env.VIEWER_GATE },
  };
  const requestOptions = { env: { ...bindings, DATA_JURISDICTION: 'eu' } as unknown as Record<string, string> };
  const json = { company_slug: slug, email: owner.email, password: owner.password };
  const { body, status } = await callApi('POST', '/v1/auth/login', { json, ...requestOptions });
  expect(status).toBe(200);
  const token = `Bearer ${body.token}`;
  expect((await callApi('GET', '/v1/users', { headers: { authorization: token }, ...requestOptions })).status).toBe(
    200,
  );
  expect(new Set(requestedJurisdictions)).toEqual(new Set(OBJECT_BINDINGS.map((name) => `${name} in eu`)));
});

it('bindings that are limited to a jurisdiction are not limited again', () => {
  const limitedNamespace = {
    jurisdiction: () => expect.fail('A namespace of a jurisdiction has none to be limited to.'),
  };
  const bindings = Object.fromEntries(
    OBJECT_BINDING_NAMES.map((name) => [name, { jurisdiction: () => limitedNamespace }]),
  );
  const restrictedBindings = limitToJurisdiction(bindings as never, 'eu') as Record<string, unknown>;
  const restrictedAgain = limitToJurisdiction(restrictedBindings as never, 'eu') as Record<string, unknown>;
  expect(OBJECT_BINDING_NAMES.map((name) => restrictedAgain[name])).toEqual(
    OBJECT_BINDING_NAMES.map(() => limitedNamespace),
  );
});
