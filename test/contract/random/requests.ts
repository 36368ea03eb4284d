import fc from 'fast-check';
import { generateKnown, generateValues, type JsonSchema, junkValue, knownOfAnyKind } from './values.ts';

/** Who sends a request. */
export type Who = 'owner' | 'weak' | 'nobody' | 'forger';

/** A request as it is sent, once what it names is put in. */
export interface RandomRequest {
  who: Who;
  method: string;
  /** Path and query. */
  path: string;
  headers: Record<string, string>;
  /** JSON or another text; members of a form; or nothing. */
  body: { text: string } | { form: [name: string, value: string, fileName: string | null][] } | null;
}

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  style?: string;
  schema: JsonSchema;
}

interface Operation {
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: JsonSchema }> };
}

export interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, JsonSchema> };
}

const WILDNESS = 1 / 12;

/** Requests to any of the operations, most of them nearly right. */
export function generateRequests({ paths, components }: Description): fc.Arbitrary<RandomRequest> {
  const resolve = (ref: string) => components.schemas[ref.split('/').at(-1) as string] as JsonSchema;
  const each = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => generateRequest(path, method.toUpperCase(), operation, resolve)),
  );
  return fc.oneof(...each);
}

function generateRequest(
  template: string,
  method: string,
  { parameters = [], requestBody }: Operation,
  resolve: (ref: string) => JsonSchema,
): fc.Arbitrary<RandomRequest> {
  const asked = parameters.filter((parameter) => parameter.in === 'query');
  const query = fc.tuple(...asked.map((parameter) => generateQueryPart(parameter, resolve)));
  const words = template.split('/');
  const segments = fc.tuple(
    ...words.map((part, at) => (part.startsWith('{') ? generateSegment(findKindAt(words, at)) : fc.constant(part))),
  );
  const json = requestBody?.content['application/json'];
  const bodies: fc.Arbitrary<RandomRequest['body']>[] = [];
  if (json)
    bodies.push(generateValues(json.schema, resolve, WILDNESS).map((value) => ({ text: JSON.stringify(value) ?? '' })));
  if (requestBody?.content['multipart/form-data']) bodies.push(formRequest);
  const right = bodies.length > 0 ? fc.oneof(...bodies) : fc.constant(null);
  const body =
    method === 'GET'
      ? fc.constant(null)
      : fc.oneof({ weight: 12, arbitrary: right }, { weight: 1, arbitrary: wrongRequest });
  return fc
    .record({ who: WHO, query, segments, headers: HEADERS, body })
    .map(({ who, query: asking, segments: path, headers, body: sent }) => {
      const search = asking.filter((part) => part !== '').join('&');
      const type: Record<string, string> = sent && 'text' in sent ? { 'content-type': 'application/json' } : {};
      return {
        who,
        method,
        path: path.join('/') + (search && `?${search}`),
        headers: { ...type, ...headers },
        body: sent,
      };
    });
}

const WHO = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Who>('owner') },
  { weight: 1, arbitrary: fc.constantFrom<Who>('weak', 'nobody', 'forger') },
);

/** The last word of a path before one of its parameters: what the parameter is an id of. */
const findKindAt = (parts: string[], at: number): string =>
  parts.slice(0, at).findLast((part) => part !== '' && !part.startsWith('{')) ?? '';

/** The kind of what a route answers. */
export const findKind = (template: string): string => findKindAt(template.split('/'), template.split('/').length);

const generateSegment = (kind: string) =>
  fc.oneof(
    { weight: 20, arbitrary: generateKnown(kind) },
    { weight: 1, arbitrary: knownOfAnyKind },
    {
      weight: 1,
      arbitrary: fc.constantFrom('acme', 'overview', 'regions', 'f'.repeat(24), '0194c0de-0000-7000-8000-000000000000'),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom('%', '%00', '%zz', '%2F', '%E0%A4%A', '*', '_', "'", 'x'.repeat(3_000), '%EF%BF%BF'),
    },
    {
      weight: 1,
      arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }).map((text) => encodeURIComponent(text)),
    },
  );

function generateQueryPart(parameter: Parameter, resolve: (ref: string) => JsonSchema): fc.Arbitrary<string> {
  const { name, required, schema, style } = parameter;
  if (style === 'form') return generateOpenPart;
  if (style === 'deepObject') return deepObject(name, Object(schema.anyOf?.[0]?.additionalProperties), resolve);
  const written = generateValues(schema, resolve, WILDNESS, name).map((value) => {
    const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
    return `${name}=${text.startsWith('@known:') ? text : encodeURIComponent(text.toWellFormed())}`;
  });
  return fc.option(
    fc.oneof({ weight: 20, arbitrary: written }, { weight: 1, arbitrary: fc.constantFrom(`${name}=%`, name) }),
    {
      nil: '',
      freq: required ? 20 : 1,
    },
  );
}

/** A parameter whose name depends on the data. */
const generateOpenPart = fc
  .tuple(
    fc.constantFrom('region', 'regions', 'days.from', 'nope', '__proto__', ''),
    fc.constantFrom('north', '1', '', '%'),
  )
  .map(([name, value]) => `${name}=${value}`);

/** Members of the members of a deep object: `filter[city][eq]=…`, or the same as JSON. */
function deepObject(name: string, { properties = {} }: JsonSchema, resolve: (ref: string) => JsonSchema) {
  const member = fc.constantFrom('id', 'day', 'region', 'amount', 'nope', '__proto__', '');
  const inner = fc
    .constantFrom(...Object.keys(properties))
    .chain((key) =>
      fc.tuple(fc.constant(key), fc.oneof(generateValues(properties[key] ?? {}, resolve, WILDNESS), WRITTEN)),
    );
  const encoded = (value: unknown) => encodeURIComponent(String(value).toWellFormed());
  return fc
    .tuple(fc.array(fc.tuple(member, inner), { maxLength: 3 }), fc.boolean())
    .map(([members, asJson]) =>
      asJson
        ? members.map(([one, [key, value]]) => `${name}=${encoded(JSON.stringify({ [one]: { [key]: value } }))}`)
        : members.map(([one, [key, value]]) => `${name}[${one}][${key}]=${encoded(value)}`),
    )
    .map((parameters) => parameters.join('&'));
}

/** Values as a query writes them. */
const WRITTEN = fc.constantFrom(
  '1',
  '-0.5',
  '2026-01-05',
  'north',
  'north,"so,uth"',
  '"',
  'true',
  '%',
  '\u0000',
  '10.50,',
);

const HEADERS: fc.Arbitrary<Record<string, string>> = fc.oneof(
  { weight: 10, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.dictionary(
      fc.constantFrom(
        'origin',
        'content-type',
        'accept',
        'user-agent',
        'cf-connecting-ip',
        'cf-ipcountry',
        'referer',
        'x-date',
        'content-encoding',
        'if-none-match',
      ),
      fc.oneof(
        fc.constantFrom(
          '',
          'null',
          'https://a.test',
          'text/plain',
          'application/json; charset=x',
          'multipart/form-data',
          'gzip',
          '::1',
          '*',
          'x'.repeat(2_000),
        ),
        fc.string({ maxLength: 30 }).map((text) => text.trim()),
      ),
      { maxKeys: 3 },
    ),
  },
);

const wrongRequest: fc.Arbitrary<RandomRequest['body']> = fc.oneof(
  fc.constantFrom(
    null,
    ...['', '{', 'null', '[]', '"x"', '{"a":1}}', '1e999', '\u0000', '['.repeat(2_000)].map((text) => ({ text })),
  ),
  junkValue.map((value) => ({ text: JSON.stringify(value) ?? '' })),
);

const FILES = ['day,region,amount\n2026-01-05,north,10.50\n', 'city\nLisboa\n', '', '\u0000', 'a,a\n"', ';;;\n1;2\n'];

const formRequest: fc.Arbitrary<RandomRequest['body']> = fc
  .array(
    fc.tuple(
      fc.constantFrom('files', 'files', 'file', 'mode', 'business_domains', 'text', 'x'),
      fc.oneof(fc.constantFrom(...FILES, 'append', 'replace', 'sales'), fc.string({ maxLength: 30 })),
      fc.option(fc.constantFrom('sales.csv', 'a.txt', 'b.zip', 'c.xlsx', 'd.exe', '../e.csv', '"', 'é.CSV', ''), {
        nil: null,
      }),
    ),
    { maxLength: 4 },
  )
  .map((members) => ({ form: members as [string, string, string | null][] }));
