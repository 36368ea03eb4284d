import fc from 'fast-check';
import { generateKnown, generateValues, type JsonSchema, JUNK_VALUE, KNOWN_OF_ANY_KIND } from './values.ts';

/** The kind of sender of a request. */
export type SenderKind = 'owner' | 'weak' | 'nobody' | 'forger';

/** A random request as it is sent after its placeholders were replaced by known values. */
export interface RandomRequest {
  sender: SenderKind;
  method: string;
  /** The path with its query. */
  path: string;
  headers: Record<string, string>;
  /** JSON or another text; the members of a form; or null. */
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

export interface ApiDescription {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, JsonSchema> };
}

const JUNK_SHARE = 1 / 12;

/** Generates requests to random operations, most of them nearly valid. */
export function generateRequests({ paths, components }: ApiDescription): fc.Arbitrary<RandomRequest> {
  const resolve = (ref: string) => components.schemas[ref.split('/').at(-1) as string] as JsonSchema;
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => generateRequest(path, method.toUpperCase(), operation, resolve)),
  );
  return fc.oneof(...operations);
}

function generateRequest(
  template: string,
  method: string,
  { parameters = [], requestBody }: Operation,
  resolve: (ref: string) => JsonSchema,
): fc.Arbitrary<RandomRequest> {
  const queryParameters = parameters.filter((parameter) => parameter.in === 'query');
  const query = fc.tuple(...queryParameters.map((parameter) => generateQueryPart(parameter, resolve)));
  const words = template.split('/');
  const segments = fc.tuple(
    ...words.map((part, at) => (part.startsWith('{') ? generateSegment(findKindAt(words, at)) : fc.constant(part))),
  );
  const json = requestBody?.content['application/json'];
  const bodies: fc.Arbitrary<RandomRequest['body']>[] = [];
  if (json)
    bodies.push(
      generateValues(json.schema, resolve, JUNK_SHARE).map((value) => ({ text: JSON.stringify(value) ?? '' })),
    );
  if (requestBody?.content['multipart/form-data']) bodies.push(FORM_BODY);
  const right = bodies.length > 0 ? fc.oneof(...bodies) : fc.constant(null);
  const body =
    method === 'GET'
      ? fc.constant(null)
      : fc.oneof({ weight: 12, arbitrary: right }, { weight: 1, arbitrary: WRONG_BODY });
  return fc
    .record({ sender: SENDER, query, segments, headers: RANDOM_HEADERS, body })
    .map(({ sender, query: queryParts, segments: path, headers, body: randomBody }) => {
      const search = queryParts.filter((part) => part !== '').join('&');
      const type: Record<string, string> =
        randomBody && 'text' in randomBody ? { 'content-type': 'application/json' } : {};
      return {
        sender,
        method,
        path: path.join('/') + (search && `?${search}`),
        headers: { ...type, ...headers },
        body: randomBody,
      };
    });
}

const SENDER = fc.oneof(
  { weight: 8, arbitrary: fc.constant<SenderKind>('owner') },
  { weight: 1, arbitrary: fc.constantFrom<SenderKind>('weak', 'nobody', 'forger') },
);

/** Returns the last fixed word of a path before a parameter, which says what the parameter identifies. */
const findKindAt = (parts: string[], at: number): string =>
  parts.slice(0, at).findLast((part) => part !== '' && !part.startsWith('{')) ?? '';

/** Returns the kind of record that a route answers with. */
export const findKind = (template: string): string => findKindAt(template.split('/'), template.split('/').length);

const generateSegment = (kind: string) =>
  fc.oneof(
    { weight: 20, arbitrary: generateKnown(kind) },
    { weight: 1, arbitrary: KNOWN_OF_ANY_KIND },
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
  if (style === 'form') return OPEN_QUERY_PART;
  if (style === 'deepObject') return generateDeepObject(name, Object(schema.anyOf?.[0]?.additionalProperties), resolve);
  const queryTexts = generateValues(schema, resolve, JUNK_SHARE, name).map((value) => {
    const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
    return `${name}=${text.startsWith('@known:') ? text : encodeURIComponent(text.toWellFormed())}`;
  });
  return fc.option(
    fc.oneof({ weight: 20, arbitrary: queryTexts }, { weight: 1, arbitrary: fc.constantFrom(`${name}=%`, name) }),
    {
      nil: '',
      freq: required ? 20 : 1,
    },
  );
}

/** A random query parameter whose name depends on the data, such as a column name. */
const OPEN_QUERY_PART = fc
  .tuple(
    fc.constantFrom('region', 'regions', 'days.from', 'nope', '__proto__', ''),
    fc.constantFrom('north', '1', '', '%'),
  )
  .map(([name, value]) => `${name}=${value}`);

/** Generates the members of a nested query parameter: `filter[city][eq]=…`, or the same value as JSON. */
function generateDeepObject(name: string, { properties = {} }: JsonSchema, resolve: (ref: string) => JsonSchema) {
  const member = fc.constantFrom('id', 'day', 'region', 'amount', 'nope', '__proto__', '');
  const innerMember = fc
    .constantFrom(...Object.keys(properties))
    .chain((key) =>
      fc.tuple(fc.constant(key), fc.oneof(generateValues(properties[key] ?? {}, resolve, JUNK_SHARE), QUERY_TEXTS)),
    );
  const encode = (value: unknown) => encodeURIComponent(String(value).toWellFormed());
  return fc
    .tuple(fc.array(fc.tuple(member, innerMember), { maxLength: 3 }), fc.boolean())
    .map(([members, asJson]) =>
      asJson
        ? members.map(([one, [key, value]]) => `${name}=${encode(JSON.stringify({ [one]: { [key]: value } }))}`)
        : members.map(([one, [key, value]]) => `${name}[${one}][${key}]=${encode(value)}`),
    )
    .map((parameters) => parameters.join('&'));
}

/** Values in the form in which a query string contains them. */
const QUERY_TEXTS = fc.constantFrom(
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

const RANDOM_HEADERS: fc.Arbitrary<Record<string, string>> = fc.oneof(
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

const WRONG_BODY: fc.Arbitrary<RandomRequest['body']> = fc.oneof(
  fc.constantFrom(
    null,
    ...['', '{', 'null', '[]', '"x"', '{"a":1}}', '1e999', '\u0000', '['.repeat(2_000)].map((text) => ({ text })),
  ),
  JUNK_VALUE.map((value) => ({ text: JSON.stringify(value) ?? '' })),
);

const FILE_TEXTS = [
  'day,region,amount\n2026-01-05,north,10.50\n',
  'city\nLisboa\n',
  '',
  '\u0000',
  'a,a\n"',
  ';;;\n1;2\n',
];

const FORM_BODY: fc.Arbitrary<RandomRequest['body']> = fc
  .array(
    fc.tuple(
      fc.constantFrom('files', 'files', 'file', 'mode', 'business_domains', 'text', 'x'),
      fc.oneof(fc.constantFrom(...FILE_TEXTS, 'append', 'replace', 'sales'), fc.string({ maxLength: 30 })),
      fc.option(fc.constantFrom('sales.csv', 'a.txt', 'b.zip', 'c.xlsx', 'd.exe', '../e.csv', '"', 'é.CSV', ''), {
        nil: null,
      }),
    ),
    { maxLength: 4 },
  )
  .map((members) => ({ form: members as [string, string, string | null][] }));
