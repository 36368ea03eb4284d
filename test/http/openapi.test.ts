import { describe, expect, it } from 'vitest';
import { SURFACES } from '../../src/app.ts';
import { call } from '../support/api.ts';

interface Described {
  $ref?: string;
  description?: string;
}

describe('/openapi.json', () => {
  it('describes every endpoint once, with its permission, credential and answers', async () => {
    const { status, body } = await call('GET', '/openapi.json');
    expect([status, body.openapi]).toEqual([200, '3.1.0']);
    const contracts = SURFACES.flatMap(({ endpoints }) => endpoints).map(({ contract }) => contract);
    expect(new Set(contracts.map(({ method, path }) => `${method} ${path}`)).size).toBe(contracts.length);
    for (const { method, path, access, returns } of contracts) {
      const operation = body.paths[path]?.[method];
      expect(operation, `${method} ${path}`).toBeDefined();
      expect(operation.responses).toHaveProperty(String(returns.status));
      const isOpen = access === 'public' || (typeof access === 'object' && 'token' in access);
      expect(operation.security.length === 0).toBe(isOpen);
      if (typeof access === 'string' && access.includes(':')) expect(operation['x-permission']).toBe(access);
    }
  });

  it('tells of each failure what it means', async () => {
    const { body } = await call('GET', '/openapi.json');
    const operations = Object.values<Record<string, { responses: Record<string, Described> }>>(body.paths).flatMap(
      (path) => Object.values(path),
    );
    const descriptions = operations.flatMap(({ responses }) =>
      Object.entries(responses)
        .filter(([status]) => status.startsWith('4') || status.startsWith('5'))
        .map(([, { $ref, description }]) =>
          $ref ? (body.components.responses[$ref.split('/').at(-1) as string] as Described).description : description,
        ),
    );
    const lines = [...new Set(descriptions.flatMap((description) => (description as string).split('\n')))];
    expect(lines.length).toBeGreaterThan(100);
    expect(lines.filter((line) => line === '- ' || /^- `\w+`$/.test(line))).toEqual([]);
  });

  it('lists the code of a 500, where its surface has one', async () => {
    const { body } = await call('GET', '/openapi.json');
    const resolved = (described: Described) =>
      described.$ref ? body.components.responses[described.$ref.split('/').at(-1) as string] : described;
    const codeless = SURFACES.filter(({ surface }) => surface.internalError.code !== undefined).flatMap(
      ({ surface, endpoints }) =>
        endpoints
          .map(({ contract }) => contract)
          .filter(({ method, path }) => {
            const { schema } = resolved(body.paths[path][method].responses['500']).content['application/json'];
            const code = schema.properties?.[surface.codeField];
            return !(code?.enum ?? [code?.const]).includes(surface.internalError.code);
          })
          .map(({ operationId }) => operationId),
    );
    expect(codeless).toEqual([]);
  });

  it('refers only to components it defines', async () => {
    const { body } = await call('GET', '/openapi.json');
    const references = [...JSON.stringify(body).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name);
    expect(references.length).toBeGreaterThan(0);
    for (const name of references) expect(body.components.schemas).toHaveProperty(name as string);
  });
});
