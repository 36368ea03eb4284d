import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { OBJECT_NAMES, withinJurisdiction } from '../../src/objects/jurisdiction.ts';
import { call } from '../support/api.ts';
import { aCompany } from '../support/worlds.ts';

const OBJECTS = ['ORGANIZATION_GATE', 'IP_LIMITER', 'ATTEMPT_LIMITER', 'COMPANY_LOG'] as const;

it('requests call only Durable Objects of the configured jurisdiction', async () => {
  const { slug, owner } = await aCompany();
  const asked: string[] = [];
  // workerd knows no jurisdictions: outside one there is nothing here, and in one are the objects that are there.
  const within = OBJECTS.map((name) => [
    name,
    {
      jurisdiction: (jurisdiction: string) => {
        asked.push(`${name} in ${jurisdiction}`);
        return env[name];
      },
    },
  ]);
  const bindings = {
    ...Object.fromEntries(within),
    TOKEN_LIMITER: { jurisdiction: () => env.TOKEN_LIMITER },
    VIEWER_GATE: { jurisdiction: () => env.VIEWER_GATE },
  };
  const sending = { env: { ...bindings, DATA_JURISDICTION: 'eu' } as unknown as Record<string, string> };
  const json = { company_slug: slug, email: owner.email, password: owner.password };
  const { body, status } = await call('POST', '/v1/auth/login', { json, ...sending });
  expect(status).toBe(200);
  const token = `Bearer ${body.token}`;
  expect((await call('GET', '/v1/users', { headers: { authorization: token }, ...sending })).status).toBe(200);
  expect(new Set(asked)).toEqual(new Set(OBJECTS.map((name) => `${name} in eu`)));
});

it('bindings that are limited to a jurisdiction are not limited again', () => {
  const limited = { jurisdiction: () => expect.fail('A namespace of a jurisdiction has none to be limited to.') };
  const bindings = Object.fromEntries(OBJECT_NAMES.map((name) => [name, { jurisdiction: () => limited }]));
  const within = withinJurisdiction(bindings as never, 'eu') as Record<string, unknown>;
  const again = withinJurisdiction(within as never, 'eu') as Record<string, unknown>;
  expect(OBJECT_NAMES.map((name) => again[name])).toEqual(OBJECT_NAMES.map(() => limited));
});
