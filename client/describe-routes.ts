/** Parts of an OpenAPI 3.1 document from which a client's types are generated. */
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

const FILE_HEADER = '// Made from /openapi.json by `npm run contract`; test/client holds it to be true.\n';

/** Generates the TypeScript source of `Routes`, by method and path, and of `WebhookEvents`, by event type. */
export function describeTypes({ paths = {}, webhooks = {}, components = {} }: OpenApi): string {
  const routes = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => describeRoute(`${method.toUpperCase()} ${path}`, operation)),
  );
  const schemas = Object.entries(components.schemas ?? {}).map(
    ([name, schema]) => `export type ${name} = ${describeType(schema)};\n`,
  );
  const events = Object.entries(webhooks).map(([name, { post }]) => describeEvent(name, post ?? { responses: {} }));
  const typesSource = `export interface Routes {\n${routes.join('')}}\n\nexport interface WebhookEvents {\n${events.join('')}}\n`;
  return `${FILE_HEADER}\n${typesSource}\n${schemas.join('\n')}`;
}

/** Returns the JSON schema of a body or an answer, of whichever media type; undefined if it has none. */
const getJsonSchema = (content: Record<string, { schema?: Schema }>): Schema | undefined =>
  (content['application/json'] ?? content['application/scim+json'])?.schema;

const formatSummary = (summary: string | undefined): string =>
  summary ? `  /** ${summary.replaceAll('*/', '*')} */\n` : '';

const describeEvent = (name: string, { description, requestBody }: Operation): string =>
  `${formatSummary(description)}  ${JSON.stringify(name)}: ${describeType(requestBody?.content['application/json']?.schema ?? {})};\n`;

function describeRoute(name: string, { summary, parameters = [], requestBody, responses }: Operation): string {
  // What a change of access would change is answered with 200, whatever the change itself is answered with.
  const hasDryRun = parameters.some((parameter) => parameter.name === 'dry_run');
  const successes = Object.entries(responses).filter(([status]) => status.startsWith('2'));
  const [, success] = successes.find(([status]) => !hasDryRun || status !== '200') ?? successes[0] ?? [];
  const members = [
    ...describeParameters(
      'params',
      parameters.filter((parameter) => parameter.in === 'path'),
    ),
    ...describeParameters(
      'query',
      parameters.filter((parameter) => parameter.in === 'query'),
    ),
    ...describeVersions(parameters),
    ...describeRequestBody(requestBody ?? { content: {} }),
    `answer: ${describeResponse(success?.content ?? {})}`,
    ...(hasDryRun ? [`dryRun: ${DRY_RUN_SCHEMA}`] : []),
    ...describeFiles(parameters, success?.content ?? {}),
  ];
  return `${formatSummary(summary)}  ${JSON.stringify(name)}: { ${members.join('; ')} };\n`;
}

/** Describes the path's or the query's parameters as a member. Query parameters are text, whatever their type. */
function describeParameters(name: string, parameters: readonly Parameter[]): string[] {
  if (parameters.length === 0) return [];
  const members = parameters.map(({ name: key, required, schema = {}, style }) =>
    style === 'form'
      ? '[parameter: string]: string | number | boolean | Array<string | number> | undefined'
      : `${JSON.stringify(key)}${required ? '' : '?'}: ${name === 'query' ? allowNumber(schema) : describeType(schema)}`,
  );
  const isOptional = parameters.every(({ required }) => !required);
  return [`${name}${isOptional ? '?' : ''}: { ${members.join('; ')} }`];
}

/** Returns the type of a schema, with number allowed for text: whole numbers of a query are described as digits. */
const allowNumber = (schema: Schema): string =>
  describeType(schema) === 'string' ? 'string | number' : describeType(schema);

/** Names of the version headers in the client's input. */
const VERSION_MEMBERS: Record<string, string> = { 'If-Match': 'ifMatch', 'If-None-Match': 'ifNoneMatch' };

const describeVersions = (parameters: readonly Parameter[]): string[] =>
  parameters.flatMap(({ name, in: location }) =>
    location === 'header' && VERSION_MEMBERS[name] ? [`${VERSION_MEMBERS[name]}?: string`] : [],
  );

function describeRequestBody({ required, content }: NonNullable<Operation['requestBody']>): string[] {
  const json = getJsonSchema(content);
  const isForm = 'multipart/form-data' in content;
  if (json && isForm) return [`body?: ${describeType(json)}`, 'form?: FormData'];
  if (json) return [`body${required ? '' : '?'}: ${describeType(json)}`];
  return isForm ? ['form: FormData'] : [];
}

/** Name of the schema of a dry run's answer. */
const DRY_RUN_SCHEMA = 'ChangeOfAccess';

function describeResponse(content: Record<string, { schema?: Schema }>): string {
  const json = getJsonSchema(content);
  if (json?.anyOf) return joinUnion(json.anyOf.map(describeType).filter((name) => name !== DRY_RUN_SCHEMA));
  if (json) return describeType(json);
  return Object.keys(content).length > 0 ? 'string' : 'undefined';
}

/** Format name of a file, and the type in which the client returns it, by its media type. */
const FILE_TYPES: Record<string, [format: string, made: string]> = {
  'text/csv': ['csv', 'string'],
  'application/x-ndjson': ['ndjson', 'string'],
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': ['xlsx', 'Blob'],
  'application/yaml': ['ossie', 'string'],
  'application/vnd.apache.parquet': ['parquet', 'Blob'],
};

/** Describes the file answer for each `format` that a route offers besides JSON. */
function describeFiles(parameters: readonly Parameter[], content: Record<string, unknown>): string[] {
  const formats =
    parameters.find(({ name, in: location }) => name === 'format' && location === 'query')?.schema?.enum ?? [];
  const fileTypes = Object.keys(content).flatMap((mediaType) => (FILE_TYPES[mediaType] ? [FILE_TYPES[mediaType]] : []));
  const members = fileTypes
    .filter(([format]) => formats.includes(format))
    .map(([format, kind]) => `"${format}": ${kind}`);
  return members.length > 0 ? [`files: { ${members.join('; ')} }`] : [];
}

function describeType(schema: Schema): string {
  if (schema.$ref) return schema.$ref.split('/').at(-1) as string;
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.enum) return joinUnion(schema.enum.map((value) => JSON.stringify(value)));
  if (schema.allOf) return schema.allOf.map((memberSchema) => `(${describeType(memberSchema)})`).join(' & ');
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return joinUnion(choices.map(describeType));
  return joinUnion([schema.type ?? 'unknown'].flat().map((name) => describeNamedType(name, schema)));
}

function describeNamedType(name: string, schema: Schema): string {
  switch (name) {
    case 'object':
      return describeObject(schema);
    case 'array':
      return `Array<${describeType(schema.items ?? {})}>`;
    case 'integer':
      return 'number';
    default:
      return name;
  }
}

function describeObject({ properties, required = [], additionalProperties }: Schema): string {
  const otherMembers = typeof additionalProperties === 'object' ? describeType(additionalProperties) : 'unknown';
  if (!properties) return `Record<string, ${otherMembers}>`;
  const members = Object.entries(properties).map(
    ([name, schema]) => `${JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ${describeType(schema)}`,
  );
  const knownMembers = `{ ${members.join('; ')} }`;
  return otherMembers === 'unknown' ? knownMembers : `${knownMembers} & Record<string, ${otherMembers}>`;
}

const joinUnion = (types: string[]): string => [...new Set(types)].join(' | ');
