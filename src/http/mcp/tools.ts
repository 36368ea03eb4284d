import { z } from 'zod';
import { ExactNumber, parseExactJson } from '../../kernel/exact-json.ts';
import { type FieldProblem, invalidInput } from '../../kernel/failure.ts';
import { isRecord } from '../../kernel/fields.ts';
import { findIllFormedTextPath, shorten } from '../../kernel/text.ts';
import { toDeepParameters } from '../deep-object.ts';
import type { Contract, Route, RouteInput } from '../endpoint.ts';
import { JSON_BOUNDS } from '../json-body.ts';
import { findExceededBound } from '../json-bounds.ts';
import { listParameters } from '../paths.ts';

/** Tool as its module declares it: its route, and the arguments of the route that it accepts. */
export interface Tool {
  name: string;
  title: string;
  /** Description for a model: the data that the tool returns, and when to call it. */
  description: string;
  /** Value of `operationId` of the tool's route. */
  operationId: string;
  /** Argument of the tool for the route's `{id}`. */
  id?: string;
  /** Parameters of the route's query and fields of its body that the tool accepts. */
  argumentNames: readonly string[];
  /** Schemas that describe some of the arguments to a model, if the route's own schema says less. */
  argumentSchemas?: Readonly<Record<string, object>>;
  /** Alternative names under which arguments may be sent. */
  aliases?: Readonly<Record<string, string>>;
  /** Allowed values of some arguments, fewer than the route allows. */
  allowedValues?: Readonly<Record<string, readonly string[]>>;
  /** Argument that may hold the whole body instead of the single arguments. */
  bodyArgument?: string;
  /** Default parameters of the query. */
  defaultParameters?: Readonly<Record<string, string>>;
  /** Parameters of the query that callers cannot set. */
  fixedParameters?: Readonly<Record<string, string>>;
}

/** Names of the arguments of a list's tool. */
export const LIST_ARGUMENTS: readonly string[] = ['search', 'page', 'per_page'];

export interface ArgumentsSchema {
  type: 'object';
  properties: Record<string, object>;
  required?: string[];
  additionalProperties: false;
  [key: string]: unknown;
}

const ID = { type: 'string', description: 'The `_id` or `id` from the list.' };

/** Makes the schema of a tool's arguments from those of its route, so that a model learns what the route expects. */
export function makeArgumentsSchema(tool: Tool, { contract }: Route['endpoint']): ArgumentsSchema {
  const { argumentNames, argumentSchemas, id, aliases = {}, bodyArgument } = tool;
  // What a query is read as says more than the text that it is sent as: `page` is a whole number.
  const query = toSchema(contract.query, 'output');
  const body = toSchema(contract.body, 'input');
  const routeProperties: Record<string, object> = { ...query.properties, ...body.properties, ...argumentSchemas };
  const toolProperties = argumentNames.map(
    (name) => [name, { ...routeProperties[name], ...getArgumentLimits(tool, name) }] as const,
  );
  const required = bodyArgument ? [] : argumentNames.filter((name) => body.required?.includes(name));
  const requiredNames = [...(id ? [id] : []), ...required];
  return {
    type: 'object',
    properties: {
      ...(id && { [id]: ID }),
      ...Object.fromEntries(toolProperties),
      ...Object.fromEntries(
        Object.entries(aliases).map(([name, parameter]) => [
          name,
          { ...routeProperties[parameter], description: `The same as \`${parameter}\`.` },
        ]),
      ),
      ...(bodyArgument && {
        [bodyArgument]: {
          type: 'object',
          description:
            'An object that holds all other arguments; when it is sent, none of them may be sent separately.',
        },
      }),
    },
    ...(requiredNames.length > 0 && { required: requiredNames }),
    additionalProperties: false,
  };
}

/** Makes the JSON Schema of a tool's result: the answer of the route, as data that may be cut. */
export function makeOutputSchema({ contract: { returns } }: Route['endpoint']): {
  type: 'object';
  [key: string]: unknown;
} {
  const answer = 'body' in returns ? returns.body : 'json' in returns ? returns.json : z.unknown();
  const result = z.object({
    is_data: z.string(),
    cut: z.boolean().meta({ description: 'Whether there is more than fits.' }),
    note: z.string().optional().meta({ description: 'What was cut, and what to ask for instead.' }),
    data: answer.nullable(),
  });
  // A list that is cut may have no item left.
  const removeMinItems = ({ jsonSchema }: { jsonSchema: { minItems?: number } }) => delete jsonSchema.minItems;
  return splitTypeLists(
    z.toJSONSchema(result, { ...MODEL_SCHEMA_OPTIONS, io: 'output', override: removeMinItems }),
  ) as {
    type: 'object';
  };
}

const getArgumentLimits = ({ allowedValues, defaultParameters: defaults }: Tool, name: string): object => ({
  ...(allowedValues?.[name] && { enum: allowedValues[name] }),
  ...(defaults?.[name] !== undefined && { default: defaults[name] }),
});

function toSchema(schema: z.ZodType | undefined, io: 'input' | 'output') {
  const madeSchema = schema ? splitTypeLists(z.toJSONSchema(schema, { ...MODEL_SCHEMA_OPTIONS, io })) : {};
  return madeSchema as { properties?: Record<string, object>; required?: string[] };
}

/** Registry that leaves out metadata for readers of the API's description: a model would take examples for facts. */
const METADATA_FOR_MODELS = {
  get(schema: z.core.$ZodType) {
    const { id: _id, param: _param, examples: _examples, ...rest } = z.globalRegistry.get(schema) ?? {};
    return rest;
  },
} as typeof z.globalRegistry;

const MODEL_SCHEMA_OPTIONS = { unrepresentable: 'any', metadata: METADATA_FOR_MODELS } as const;

/** Rewrites a schema's lists of types as alternatives: several clients of the protocol cannot read such lists. */
const splitTypeLists = (schema: object): object =>
  JSON.parse(JSON.stringify(schema), (_name, memberValue) => {
    if (!Array.isArray(memberValue?.type)) return memberValue;
    const { type, ...rest } = memberValue;
    return { ...rest, anyOf: type.map((typeName: string) => ({ type: typeName })) };
  });

/**
 * Makes the request that a call of a tool sends to its route, which checks the values of the arguments.
 * @param schema.properties the schemas of the tool's arguments @throws if arguments are missing, unknown, or sent twice
 */
export function toRouteInput(
  tool: Tool,
  contract: Contract,
  { properties }: ArgumentsSchema,
  callArguments: Record<string, unknown>,
): RouteInput {
  const { bodyArgument, defaultParameters: defaults, fixedParameters: fixed } = tool;
  const bodySchema = bodyArgument && { [bodyArgument]: { type: 'object', properties } };
  const parsedArguments = parseMembers(callArguments, { properties: { ...properties, ...bodySchema } });
  const { resource, given, sentNames, problems } = readArguments(tool, parsedArguments);
  if (contract.method === 'get') problems.push(...findLists(given, sentNames, properties));
  if (problems.length > 0) throw invalidInput(problems.slice(0, MAX_PROBLEMS));
  const [parameter] = listParameters(contract.path);
  return {
    params: parameter && typeof resource === 'string' ? { [parameter]: resource } : {},
    query: contract.method === 'get' ? toQuery({ ...defaults, ...given, ...fixed }, properties) : {},
    body: bodyArgument && bodyArgument in given ? given[bodyArgument] : { ...given },
  };
}

interface JsonSchema {
  type?: string;
  anyOf?: JsonSchema[];
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
  additionalProperties?: JsonSchema | boolean;
}

const acceptsText = ({ type, anyOf }: JsonSchema): boolean => type === 'string' || (anyOf?.some(acceptsText) ?? false);

/** Finds the problems of lists among a query's arguments: to its schema, a list is a parameter that was sent several times. */
const findLists = (
  queryArguments: Record<string, unknown>,
  sentNames: ReadonlyMap<string, string>,
  properties: Record<string, JsonSchema>,
): FieldProblem[] =>
  Object.entries(queryArguments)
    .filter(([name, value]) => name !== 'filter' && Array.isArray(value))
    .map(([name]) => ({
      field: sentNames.get(name) ?? name,
      message: acceptsText(properties[name] ?? {}) ? 'must be text' : 'must be one value',
    }));

/**
 * Parses the JSON texts that some clients send for an object, list, number or boolean, in a value and in everything that it
 * contains. A text stays as it is where the schema accepts texts, or says nothing about the value.
 */
function parseJsonTexts(sentValue: unknown, schema: JsonSchema): unknown {
  const value = typeof sentValue === 'string' ? parseJsonText(sentValue, schema) : sentValue;
  const { items } = schema;
  if (Array.isArray(value)) return items ? value.map((item) => parseJsonTexts(item, items)) : value;
  if (!isRecord(value) || value instanceof ExactNumber) return value;
  return parseMembers(value, schema);
}

const parseMembers = (
  members: Record<string, unknown>,
  { properties = {}, additionalProperties }: JsonSchema,
): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(members).map(([name, member]) => {
      const schema = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
      return [name, typeof schema === 'object' ? parseJsonTexts(member, schema) : member];
    }),
  );

/** Parses a text where the schema expects JSON and the text is JSON within a body's bounds; else returns it. */
function parseJsonText(text: string, schema: JsonSchema): unknown {
  const expectsJson = (schema.type ?? schema.anyOf) !== undefined && !acceptsText(schema);
  // In the request's own JSON, the text was one value.
  if (!expectsJson || findExceededBound(text, JSON_BOUNDS) !== null) return text;
  try {
    const value = parseExactJson(text);
    // A filter also takes the text of one value in place of a list.
    return schema.type === 'array' && typeof value !== 'object' ? text : value;
  } catch {
    return text;
  }
}

/**
 * Reads a call's arguments by their own names, the names under which they were sent, the id of the resource, and the problems
 * of the arguments.
 */
function readArguments(tool: Tool, sentArguments: Record<string, unknown>) {
  const { id, argumentNames, aliases = {}, allowedValues = {}, bodyArgument } = tool;
  const { [id ?? '']: resource, ...rest } = Object.assign(Object.create(null), sentArguments) as Record<
    string,
    unknown
  >;
  const problems: FieldProblem[] = [];
  if (id && (typeof resource !== 'string' || resource === ''))
    problems.push({ field: id, message: describeMissingId(resource) });

  const readValues: Record<string, unknown> = Object.create(null);
  const sentNames = new Map<string, string>();
  for (const [name, value] of Object.entries(rest)) {
    const argumentName = Object.hasOwn(aliases, name) ? (aliases[name] as string) : name;
    if (!argumentNames.includes(argumentName) && name !== bodyArgument) {
      problems.push({
        field: shorten(name, MAX_NAME_LENGTH).toWellFormed(),
        message: 'is not an argument of this tool',
      });
    } else if (value !== null) {
      // Null is what many models send for nothing.
      const sentName = sentNames.get(argumentName);
      if (sentName !== undefined)
        problems.push({ field: name, message: `is the same as ${sentName}: send one of them` });
      else {
        readValues[argumentName] = value;
        sentNames.set(argumentName, name);
      }
    }
  }
  if (bodyArgument && bodyArgument in readValues && Object.keys(readValues).length > 1) {
    problems.push({ field: bodyArgument, message: 'holds all the other arguments: send none of them beside it' });
  }
  const body = bodyArgument === undefined ? undefined : readValues[bodyArgument];
  if (bodyArgument && body !== undefined && (!isRecord(body) || body instanceof ExactNumber))
    problems.push({ field: bodyArgument, message: 'must be an object' });
  for (const [name, values] of Object.entries(allowedValues)) {
    if (name in readValues && !values.includes(readValues[name] as string)) {
      problems.push({ field: sentNames.get(name) ?? name, message: `must be one of ${values.join(', ')}` });
    }
  }
  const illFormedText = findIllFormedTextPath(sentArguments);
  if (illFormedText) problems.push({ field: illFormedText.join('.').toWellFormed(), message: 'must be Unicode text' });
  return { resource, given: readValues, sentNames, problems };
}

const describeMissingId = (value: unknown): string =>
  value === undefined || value === null ? 'is required' : value === '' ? 'must not be empty' : 'must be text';

const MAX_NAME_LENGTH = 80;
const MAX_PROBLEMS = 20;

/** Formats arguments like the query of an address: texts, and the parameters of a deep object one by one. */
const toQuery = (
  queryArguments: Record<string, unknown>,
  properties: Record<string, JsonSchema>,
): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(queryArguments)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [
        name,
        name === 'filter' ? toDeepParameters(name, value) : toQueryText(value, properties[name] ?? {}),
      ]),
  );

/**
 * Formats numbers and booleans like an address, and an object as JSON where no text is expected, since the schema would
 * otherwise ask for text. Other values stay as they are, for the schema to refuse.
 */
function toQueryText(value: unknown, schema: JsonSchema): unknown {
  if (value instanceof ExactNumber) return value.digits;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return isRecord(value) && !acceptsText(schema) ? JSON.stringify(value) : value;
}
