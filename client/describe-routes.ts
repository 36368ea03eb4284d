/** The parts of an OpenAPI 3.1 document that the types of a client are made of. */
export interface OpenApi {
  paths?: Record<string, Record<string, Operation>>;
  webhooks?: Record<string, Record<string, Operation>>;
  components?: { schemas?: Record<string, Schema> };
}

interface Operation {
  summary?: string;
  description?: string;
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Record<string, { schema?: Schema }> };
  responses: Record<string, { content?: Record<string, { schema?: Schema }> }>;
}

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  schema?: Schema;
  style?: string;
}

interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
}

const HEADER = '// Made from /openapi.json by `npm run contract`; test/client holds it to be true.\n';

/** The TypeScript source of `Routes`, by method and path, and of `WebhookEvents`, the body of each type of event. */
export function describeTypes({ paths = {}, webhooks = {}, components = {} }: OpenApi): string {
  const routes = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => route(`${method.toUpperCase()} ${path}`, operation)),
  );
  const schemas = Object.entries(components.schemas ?? {}).map(
    ([name, schema]) => `export type ${name} = ${type(schema)};\n`,
  );
  const events = Object.entries(webhooks).map(([name, { post }]) => event(name, post ?? { responses: {} }));
  const all = `export interface Routes {\n${routes.join('')}}\n\nexport interface WebhookEvents {\n${events.join('')}}\n`;
  return `${HEADER}\n${all}\n${schemas.join('\n')}`;
}

/** The JSON that something is sent or answered as, by whichever media type. */
const getJsonSchema = (content: Record<string, { schema?: Schema }>): Schema | undefined =>
  (content['application/json'] ?? content['application/scim+json'])?.schema;

const documented = (summary: string | undefined): string =>
  summary ? `  /** ${summary.replaceAll('*/', '*')} */\n` : '';

const event = (name: string, { description, requestBody }: Operation): string =>
  `${documented(description)}  ${JSON.stringify(name)}: ${type(requestBody?.content['application/json']?.schema ?? {})};\n`;

function route(name: string, { summary, parameters = [], requestBody, responses }: Operation): string {
  // What a change of access would change is answered with 200, whatever the change itself is answered with.
  const isTried = parameters.some((parameter) => parameter.name === 'dry_run');
  const successes = Object.entries(responses).filter(([status]) => status.startsWith('2'));
  const [, success] = successes.find(([status]) => !isTried || status !== '200') ?? successes[0] ?? [];
  const members = [
    ...place(
      'params',
      parameters.filter((parameter) => parameter.in === 'path'),
    ),
    ...place(
      'query',
      parameters.filter((parameter) => parameter.in === 'query'),
    ),
    ...versions(parameters),
    ...describeRequestBody(requestBody ?? { content: {} }),
    `answer: ${describeResponse(success?.content ?? {})}`,
    ...(isTried ? [`dryRun: ${TRIED}`] : []),
    ...files(parameters, success?.content ?? {}),
  ];
  return `${documented(summary)}  ${JSON.stringify(name)}: { ${members.join('; ')} };\n`;
}

/** Parameters of one place. Those of a query go out as text, whatever they are written as. */
function place(name: string, parameters: readonly Parameter[]): string[] {
  if (parameters.length === 0) return [];
  const members = parameters.map(({ name: key, required, schema = {}, style }) =>
    style === 'form'
      ? '[parameter: string]: string | number | boolean | Array<string | number> | undefined'
      : `${JSON.stringify(key)}${required ? '' : '?'}: ${name === 'query' ? orNumber(schema) : type(schema)}`,
  );
  const isOptional = parameters.every(({ required }) => !required);
  return [`${name}${isOptional ? '?' : ''}: { ${members.join('; ')} }`];
}

/** Whole numbers of a query are described as they arrive: text of digits. */
const orNumber = (schema: Schema): string => (type(schema) === 'string' ? 'string | number' : type(schema));

/** Headers that name versions of a record, as the client calls them. */
const VERSIONS: Record<string, string> = { 'If-Match': 'ifMatch', 'If-None-Match': 'ifNoneMatch' };

const versions = (parameters: readonly Parameter[]): string[] =>
  parameters.flatMap(({ name, in: place }) =>
    place === 'header' && VERSIONS[name] ? [`${VERSIONS[name]}?: string`] : [],
  );

function describeRequestBody({ required, content }: NonNullable<Operation['requestBody']>): string[] {
  const json = getJsonSchema(content);
  const isForm = 'multipart/form-data' in content;
  if (json && isForm) return [`body?: ${type(json)}`, 'form?: FormData'];
  if (json) return [`body${required ? '' : '?'}: ${type(json)}`];
  return isForm ? ['form: FormData'] : [];
}

/** The schema of the answer to a dry run. */
const TRIED = 'ChangeOfAccess';

function describeResponse(content: Record<string, { schema?: Schema }>): string {
  const json = getJsonSchema(content);
  if (json?.anyOf) return union(json.anyOf.map(type).filter((name) => name !== TRIED));
  if (json) return type(json);
  return Object.keys(content).length > 0 ? 'string' : 'undefined';
}

/** The format of a file and the type in which the client returns it, by its media type. */
const FILES: Record<string, [format: string, made: string]> = {
  'text/csv': ['csv', 'string'],
  'application/x-ndjson': ['ndjson', 'string'],
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': ['xlsx', 'Blob'],
  'application/yaml': ['ossie', 'string'],
  'application/vnd.apache.parquet': ['parquet', 'Blob'],
};

/** The answer for each `format` that a route can be asked for, other than JSON. */
function files(parameters: readonly Parameter[], content: Record<string, unknown>): string[] {
  const formats = parameters.find(({ name, in: place }) => name === 'format' && place === 'query')?.schema?.enum ?? [];
  const made = Object.keys(content).flatMap((mediaType) => (FILES[mediaType] ? [FILES[mediaType]] : []));
  const members = made.filter(([format]) => formats.includes(format)).map(([format, kind]) => `"${format}": ${kind}`);
  return members.length > 0 ? [`files: { ${members.join('; ')} }`] : [];
}

function type(schema: Schema): string {
  if (schema.$ref) return schema.$ref.split('/').at(-1) as string;
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.enum) return union(schema.enum.map((value) => JSON.stringify(value)));
  if (schema.allOf) return schema.allOf.map((part) => `(${type(part)})`).join(' & ');
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return union(choices.map(type));
  return union([schema.type ?? 'unknown'].flat().map((name) => describeNamedType(name, schema)));
}

function describeNamedType(name: string, schema: Schema): string {
  switch (name) {
    case 'object':
      return object(schema);
    case 'array':
      return `Array<${type(schema.items ?? {})}>`;
    case 'integer':
      return 'number';
    default:
      return name;
  }
}

function object({ properties, required = [], additionalProperties }: Schema): string {
  const others = typeof additionalProperties === 'object' ? type(additionalProperties) : 'unknown';
  if (!properties) return `Record<string, ${others}>`;
  const members = Object.entries(properties).map(
    ([name, schema]) => `${JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ${type(schema)}`,
  );
  const known = `{ ${members.join('; ')} }`;
  return others === 'unknown' ? known : `${known} & Record<string, ${others}>`;
}

const union = (types: string[]): string => [...new Set(types)].join(' | ');
