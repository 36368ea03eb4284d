import { describe, expect, it } from 'vitest';
import { SURFACES } from '../../src/app.ts';
import { call } from '../support/api.ts';

interface Parameter {
  name: string;
  schema: object;
}

interface Operation {
  parameters?: (Parameter | { $ref: string })[];
}

const resolveReference = (
  { components }: { components: { parameters: Record<string, Parameter> } },
  parameter: Parameter | { $ref: string },
): Parameter =>
  '$ref' in parameter ? (components.parameters[parameter.$ref.split('/').at(-1) as string] as Parameter) : parameter;

/** Every `pattern` of a schema that stands anywhere in a document. */
function listPatterns(document: unknown, found = new Set<string>()): Set<string> {
  if (typeof document !== 'object' || document === null) return found;
  if ('pattern' in document && typeof document.pattern === 'string') found.add(document.pattern);
  for (const part of Object.values(document)) listPatterns(part, found);
  return found;
}

const CHARACTER = String.raw`(?:[\w @'":;,<>=!~#%&/\x60+-]|\\x[0-9a-f]{2}|\\\.)`;
/** A class needs no escape but `\\-`, `\\n` and `\\t`; `[` and `&&` would be more than themselves in Java. */
const CLASS = String.raw`\[\^?(?:[^\[\]\\&^]|\\x[0-9a-f]{2}|\\[-nt])+\]`;
/** Without `.`: they do not agree on which characters end a line. */
const PIECE = String.raw`(?:${CHARACTER}|${CLASS}|\\[*+?.]|\(\?:|\(|\)|\|)`;
const COUNT = String.raw`(?:[*+?]|\{\d+(?:,\d*)?\})?`;
const PORTABLE = new RegExp(String.raw`^\^(?:${PIECE}${COUNT})*\$$`);

/** Whether a regular expression is written in what they have in common: no sets of Unicode, lookarounds, flags or names. */
function isPortable(pattern: string): boolean {
  try {
    for (const flags of ['', 'u', 'v']) new RegExp(pattern, flags);
    return PORTABLE.test(pattern) && !/\\[dwsbDWSBpP]|\(\?(?!:)/.test(pattern);
  } catch {
    return false;
  }
}

interface Worded {
  operationId: string;
  summary: string;
  description: string;
}

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

  it('has a different description for each operation', async () => {
    const { body } = await call('GET', '/openapi.json');
    const operations = Object.values<Record<string, Worded>>(body.paths).flatMap((path) => Object.values(path));
    const byWords = Map.groupBy(operations, ({ description }) => description);
    const shared = [...byWords.values()].filter(({ length }) => length > 1);
    expect(shared.map((all) => all.map(({ operationId }) => operationId))).toEqual([]);
    const sentence = /^[A-Z`].{15,}[.:]/;
    const unlike = operations.filter(({ summary, description }) => summary !== description.replace(/\.$/, ''));
    expect(unlike.filter(({ description }) => sentence.test(description))).toHaveLength(operations.length);
  });

  it('has defaults of body members in descriptions only, so that generated clients need not send them', async () => {
    const { body } = await call('GET', '/openapi.json');
    const { properties, required } = body.paths['/v1/dashboards'].post.requestBody.content['application/json'].schema;
    expect(properties.cache_seconds).not.toHaveProperty('default');
    expect(properties.cache_seconds.description).toMatch(/`60` when not sent\.$/);
    expect(required).toEqual(['name']);
    const [page] = body.paths['/v1/dashboards'].get.parameters.filter(({ name }: Parameter) => name === 'page');
    expect(page.schema.default).toBe(1);
  });

  it('says which answers are text, and which are bytes', async () => {
    const { body } = await call('GET', '/openapi.json');
    const { content } = body.paths['/v1/managed-tables/{id}/export'].get.responses[200];
    expect(content['text/csv'].schema).toEqual({ type: 'string' });
    expect(content['application/vnd.apache.parquet'].schema).toEqual({ type: 'string', format: 'binary' });
  });

  it('has a description of each failure (4xx and 5xx)', async () => {
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

  it('describes page sizes as integers with their bounds', async () => {
    const { body } = await call('GET', '/openapi.json');
    const operations = Object.values<Record<string, Operation>>(body.paths).flatMap((path) => Object.values(path));
    const parameters = operations
      .flatMap(({ parameters = [] }) => parameters)
      .map((each) => resolveReference(body, each));
    const sizes = parameters.filter(({ name }) => ['page', 'per_page', 'quantity'].includes(name));
    expect(sizes.length).toBeGreaterThan(50);
    for (const { schema } of sizes) {
      expect(schema).toMatchObject({
        type: 'integer',
        minimum: 1,
        maximum: expect.any(Number),
        default: expect.any(Number),
      });
      expect(schema).not.toHaveProperty('pattern');
    }
  });

  it('has only patterns that JavaScript, Python, Go and Java read alike', async () => {
    const { body } = await call('GET', '/openapi.json');
    const patterns = listPatterns(body);
    expect(patterns.size).toBeGreaterThan(5);
    for (const pattern of patterns) expect(isPortable(pattern), pattern).toBe(true);
  });

  it.each([
    '\\P{Cc}*',
    '\\d{6}',
    '\\w+',
    '(?=a)b',
    '(?<n>a)',
    '(?i)a',
    '[^[a]]',
    '[a&&b]',
    'a\\-b',
    '{',
    '[\\]a]',
    'a++',
    'a$|b',
    'a.b',
    '[a+-]',
  ])('has no pattern such as ^%s$, which JavaScript, Python, Go and Java do not read alike', (pattern) => {
    expect(isPortable(`^${pattern}$`)).toBe(false);
    expect(isPortable('^[a+\\-]$')).toBe(true);
  });

  it('has only patterns that are anchored at both ends', () => {
    expect([isPortable('a'), isPortable('^a'), isPortable('a$'), isPortable('^a$')]).toEqual([
      false,
      false,
      false,
      true,
    ]);
  });

  it('lists the error code of a 500 where the API has one', async () => {
    const { body } = await call('GET', '/openapi.json');
    const resolved = (described: Described) =>
      described.$ref ? body.components.responses[described.$ref.split('/').at(-1) as string] : described;
    const codeless = SURFACES.filter(({ surface }) => surface.internalError.code !== '').flatMap(
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
