import { describe, expect, it } from 'vitest';
import { SURFACES } from '../../src/app.ts';
import { callApi } from '../support/api.ts';

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

/** Lists every `pattern` in the schemas of a document. */
function listPatterns(document: unknown, foundPatterns = new Set<string>()): Set<string> {
  if (typeof document !== 'object' || document === null) return foundPatterns;
  if ('pattern' in document && typeof document.pattern === 'string') foundPatterns.add(document.pattern);
  for (const part of Object.values(document)) listPatterns(part, foundPatterns);
  return foundPatterns;
}

const CHARACTER_PATTERN = String.raw`(?:[\w @'":;,<>=!~#%&/\x60+-]|\\x[0-9a-f]{2}|\\\.)`;
/** Matches a character class without escapes except `\\-`, `\\n` and `\\t`; `[` and `&&` have special meanings in Java. */
const CLASS_PATTERN = String.raw`\[\^?(?:[^\[\]\\&^]|\\x[0-9a-f]{2}|\\[-nt])+\]`;
/** Matches a piece of a pattern, but not `.`: the languages do not agree on which characters end a line. */
const PIECE_PATTERN = String.raw`(?:${CHARACTER_PATTERN}|${CLASS_PATTERN}|\\[*+?.]|\(\?:|\(|\)|\|)`;
const COUNT_PATTERN = String.raw`(?:[*+?]|\{\d+(?:,\d*)?\})?`;
const PORTABLE_PATTERN = new RegExp(String.raw`^\^(?:${PIECE_PATTERN}${COUNT_PATTERN})*\$$`);

/** Returns true if a pattern uses only syntax that all languages share: no Unicode sets, lookarounds, flags or names. */
function isPortable(pattern: string): boolean {
  try {
    for (const flags of ['', 'u', 'v']) new RegExp(pattern, flags);
    return PORTABLE_PATTERN.test(pattern) && !/\\[dwsbDWSBpP]|\(\?(?!:)/.test(pattern);
  } catch {
    return false;
  }
}

interface OperationTexts {
  operationId: string;
  summary: string;
  description: string;
}

interface DescribedResponse {
  $ref?: string;
  description?: string;
}

describe('/openapi.json', () => {
  it('describes every endpoint once, with its permission, credential and answers', async () => {
    const { status, body } = await callApi('GET', '/openapi.json');
    expect([status, body.openapi]).toEqual([200, '3.1.0']);
    const contracts = SURFACES.flatMap(({ endpoints }) => endpoints).map(({ contract }) => contract);
    expect(new Set(contracts.map(({ method, path }) => `${method} ${path}`)).size).toBe(contracts.length);
    for (const { method, path, access, returns } of contracts) {
      const describedOperation = body.paths[path]?.[method];
      expect(describedOperation, `${method} ${path}`).toBeDefined();
      expect(describedOperation.responses).toHaveProperty(String(returns.status));
      const isOpen = access === 'public' || (typeof access === 'object' && 'token' in access);
      expect(describedOperation.security.length === 0).toBe(isOpen);
      if (typeof access === 'string' && access.includes(':')) expect(describedOperation['x-permission']).toBe(access);
    }
  });

  it('has a different description for each operation', async () => {
    const { body } = await callApi('GET', '/openapi.json');
    const operations = Object.values<Record<string, OperationTexts>>(body.paths).flatMap((path) => Object.values(path));
    const operationsByDescription = Map.groupBy(operations, ({ description }) => description);
    const sharedDescriptions = [...operationsByDescription.values()].filter(({ length }) => length > 1);
    expect(sharedDescriptions.map((sameOperations) => sameOperations.map(({ operationId }) => operationId))).toEqual(
      [],
    );
    const sentencePattern = /^[A-Z`].{15,}[.:]/;
    const describedOperations = operations.filter(
      ({ summary, description }) => summary !== description.replace(/\.$/, ''),
    );
    expect(describedOperations.filter(({ description }) => sentencePattern.test(description))).toHaveLength(
      operations.length,
    );
  });

  it('has defaults of body members in descriptions only, so that generated clients need not send them', async () => {
    const { body } = await callApi('GET', '/openapi.json');
    const { properties, required } = body.paths['/v1/dashboards'].post.requestBody.content['application/json'].schema;
    expect(properties.cache_seconds).not.toHaveProperty('default');
    expect(properties.cache_seconds.description).toMatch(/`60` when not sent\.$/);
    expect(required).toEqual(['name']);
    const [page] = body.paths['/v1/dashboards'].get.parameters.filter(({ name }: Parameter) => name === 'page');
    expect(page.schema.default).toBe(1);
  });

  it('says which answers are text, and which are bytes', async () => {
    const { body } = await callApi('GET', '/openapi.json');
    const { content } = body.paths['/v1/managed-tables/{id}/export'].get.responses[200];
    expect(content['text/csv'].schema).toEqual({ type: 'string' });
    expect(content['application/vnd.apache.parquet'].schema).toEqual({ type: 'string', format: 'binary' });
  });

  it('has a description of each failure (4xx and 5xx)', async () => {
    const { body } = await callApi('GET', '/openapi.json');
    const operations = Object.values<Record<string, { responses: Record<string, DescribedResponse> }>>(
      body.paths,
    ).flatMap((path) => Object.values(path));
    const descriptions = operations.flatMap(({ responses }) =>
      Object.entries(responses)
        .filter(([status]) => status.startsWith('4') || status.startsWith('5'))
        .map(([, { $ref, description }]) =>
          $ref
            ? (body.components.responses[$ref.split('/').at(-1) as string] as DescribedResponse).description
            : description,
        ),
    );
    const lines = [...new Set(descriptions.flatMap((description) => (description as string).split('\n')))];
    expect(lines.length).toBeGreaterThan(100);
    expect(lines.filter((line) => line === '- ' || /^- `\w+`$/.test(line))).toEqual([]);
  });

  it('describes page sizes as integers with their bounds', async () => {
    const { body } = await callApi('GET', '/openapi.json');
    const operations = Object.values<Record<string, Operation>>(body.paths).flatMap((path) => Object.values(path));
    const parameters = operations
      .flatMap(({ parameters = [] }) => parameters)
      .map((parameter) => resolveReference(body, parameter));
    const pageParameters = parameters.filter(({ name }) => ['page', 'per_page', 'quantity'].includes(name));
    expect(pageParameters.length).toBeGreaterThan(50);
    for (const { schema } of pageParameters) {
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
    const { body } = await callApi('GET', '/openapi.json');
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

  it('lists the error code of a 500 where the API has such a code', async () => {
    const { body } = await callApi('GET', '/openapi.json');
    const resolveResponse = (describedResponse: DescribedResponse) =>
      describedResponse.$ref
        ? body.components.responses[describedResponse.$ref.split('/').at(-1) as string]
        : describedResponse;
    const contractsWithoutCode = SURFACES.filter(({ surface }) => surface.internalError.code !== '').flatMap(
      ({ surface, endpoints }) =>
        endpoints
          .map(({ contract }) => contract)
          .filter(({ method, path }) => {
            const { schema } = resolveResponse(body.paths[path][method].responses['500']).content['application/json'];
            const code = schema.properties?.[surface.codeField];
            return !(code?.enum ?? [code?.const]).includes(surface.internalError.code);
          })
          .map(({ operationId }) => operationId),
    );
    expect(contractsWithoutCode).toEqual([]);
  });

  it('refers only to components it defines', async () => {
    const { body } = await callApi('GET', '/openapi.json');
    const references = [...JSON.stringify(body).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name);
    expect(references.length).toBeGreaterThan(0);
    for (const name of references) expect(body.components.schemas).toHaveProperty(name as string);
  });
});
