import { z } from 'zod';
import { parseExactJson } from '../../kernel/exact-json.ts';
import { type FieldProblem, invalid } from '../../kernel/failure.ts';
import { findIllFormedText, shorten } from '../../kernel/text.ts';
import { toDeepParameters } from '../deep-object.ts';
import type { Contract, Route, RouteInput } from '../endpoint.ts';
import { listParameters } from '../paths.ts';

/** A tool, as its module declares it: its route, and those of the route's arguments that it takes. */
export interface Tool {
  name: string;
  title: string;
  /** For a model: the data that it returns, and when to call it. */
  description: string;
  /** The route's `operationId`. */
  operation: string;
  /** The tool's argument for the route's `{id}`. */
  id?: string;
  /** The parameters of the route's query and fields of its body that the tool takes. */
  argumentNames: readonly string[];
  /** Schemas that describe some of the arguments to a model, where the route's own schema says less. */
  argumentSchemas?: Readonly<Record<string, object>>;
  /** Names under which some of them may be sent as well. */
  aliases?: Readonly<Record<string, string>>;
  /** The only values that some of them may have here. */
  allowedValues?: Readonly<Record<string, readonly string[]>>;
  /** An argument that may hold the whole body in the place of the others. */
  bodyArgument?: string;
  /** Parameters of the query where nothing is sent, and those that nobody can send. */
  defaults?: Readonly<Record<string, string>>;
  fixed?: Readonly<Record<string, string>>;
}

/** The arguments of a tool that stands for a list. */
export const LIST_ARGUMENTS: readonly string[] = ['search', 'page', 'per_page'];

export interface ArgumentsSchema {
  type: 'object';
  properties: Record<string, object>;
  required?: string[];
  additionalProperties: false;
  [more: string]: unknown;
}

const ID = { type: 'string', description: 'The `_id` or `id` from the list.' };

/** The arguments of a tool as JSON Schema: the schemas of the route, so that a model is told what the route expects. */
export function makeArgumentsSchema(tool: Tool, { contract }: Route['endpoint']): ArgumentsSchema {
  const { argumentNames, argumentSchemas, id, aliases = {}, bodyArgument } = tool;
  // What a query is read as says more than the text that it is sent as: `page` is a whole number.
  const query = toSchema(contract.query, 'output');
  const body = toSchema(contract.body, 'input');
  const known: Record<string, object> = { ...query.properties, ...body.properties, ...argumentSchemas };
  const taken = argumentNames.map((name) => [name, { ...known[name], ...getArgumentLimits(tool, name) }] as const);
  const required = bodyArgument ? [] : argumentNames.filter((name) => body.required?.includes(name));
  const mustHave = [...(id ? [id] : []), ...required];
  return {
    type: 'object',
    properties: {
      ...(id && { [id]: ID }),
      ...Object.fromEntries(taken),
      ...Object.fromEntries(
        Object.entries(aliases).map(([name, of]) => [name, { ...known[of], description: `The same as \`${of}\`.` }]),
      ),
      ...(bodyArgument && {
        [bodyArgument]: {
          type: 'object',
          description:
            'An object that holds all other arguments; when it is sent, none of them may be sent separately.',
        },
      }),
    },
    ...(mustHave.length > 0 && { required: mustHave }),
    additionalProperties: false,
  };
}

/** The result of a tool as JSON Schema: the answer of the route, as data that may be cut. */
export function makeOutputSchema({ contract: { returns } }: Route['endpoint']): {
  type: 'object';
  [more: string]: unknown;
} {
  const answer = 'body' in returns ? returns.body : 'json' in returns ? returns.json : z.unknown();
  const result = z.object({
    is_data: z.string(),
    cut: z.boolean().meta({ description: 'Whether there is more than fits.' }),
    note: z.string().optional().meta({ description: 'What was cut, and what to ask for instead.' }),
    data: answer.nullable(),
  });
  // A list that is cut may have no item left.
  const override = ({ jsonSchema }: { jsonSchema: { minItems?: number } }) => delete jsonSchema.minItems;
  return splitTypeLists(z.toJSONSchema(result, { ...MODEL_SCHEMA_OPTIONS, io: 'output', override })) as {
    type: 'object';
  };
}

const getArgumentLimits = ({ allowedValues, defaults }: Tool, name: string): object => ({
  ...(allowedValues?.[name] && { enum: allowedValues[name] }),
  ...(defaults?.[name] !== undefined && { default: defaults[name] }),
});

function toSchema(schema: z.ZodType | undefined, io: 'input' | 'output') {
  const made = schema ? splitTypeLists(z.toJSONSchema(schema, { ...MODEL_SCHEMA_OPTIONS, io })) : {};
  return made as { properties?: Record<string, object>; required?: string[] };
}

/** A registry without metadata for readers of the API's description: a model would take examples for facts. */
const METADATA_FOR_MODELS = {
  get(schema: z.core.$ZodType) {
    const { id: _id, param: _param, examples: _examples, ...rest } = z.globalRegistry.get(schema) ?? {};
    return rest;
  },
} as typeof z.globalRegistry;

const MODEL_SCHEMA_OPTIONS = { unrepresentable: 'any', metadata: METADATA_FOR_MODELS } as const;

/** A schema whose lists of types are alternatives: several clients of the protocol cannot read one. */
const splitTypeLists = (schema: object): object =>
  JSON.parse(JSON.stringify(schema), (_name, part) => {
    if (!Array.isArray(part?.type)) return part;
    const { type, ...rest } = part;
    return { ...rest, anyOf: type.map((each: string) => ({ type: each })) };
  });

/**
 * The request that a call of a tool makes to its route.
 * @param schema of the tool's arguments
 * @throws where arguments are missing, unknown, or said twice. Their values are for the route to judge
 */
export function toRouteInput(
  tool: Tool,
  contract: Contract,
  { properties }: ArgumentsSchema,
  sent: Record<string, unknown>,
): RouteInput {
  const { bodyArgument, defaults, fixed } = tool;
  const { resource, given, problems } = readArguments(tool, fromJsonTexts(sent, properties));
  if (contract.method === 'get') problems.push(...findLists(given, properties));
  if (problems.length > 0) throw invalid(problems.slice(0, MAX_PROBLEMS));
  const [parameter] = listParameters(contract.path);
  return {
    params: parameter && typeof resource === 'string' ? { [parameter]: resource } : {},
    query: contract.method === 'get' ? toQuery({ ...defaults, ...given, ...fixed }) : {},
    body: bodyArgument && bodyArgument in given ? given[bodyArgument] : { ...given },
  };
}

interface JsonSchema {
  type?: string;
  anyOf?: JsonSchema[];
}

const takesText = ({ type, anyOf }: JsonSchema): boolean => type === 'string' || (anyOf?.some(takesText) ?? false);

/** The problems of lists among a query's arguments. To its schema a list is a parameter that was sent several times. */
const findLists = (given: Record<string, unknown>, properties: Record<string, JsonSchema>): FieldProblem[] =>
  Object.entries(given)
    .filter(([name, value]) => name !== 'filter' && Array.isArray(value))
    .map(([name]) => ({
      field: name,
      message: takesText(properties[name] ?? {}) ? 'must be text' : 'must be one value',
    }));

/** Arguments of which some clients send an object, a list, a number or a boolean as its JSON, where no text is expected. */
function fromJsonTexts(sent: Record<string, unknown>, properties: Record<string, JsonSchema>): Record<string, unknown> {
  const read = ([name, value]: [string, unknown]) => {
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
    return [name, typeof value === 'string' && schema && !takesText(schema) ? fromJsonText(value) : value];
  };
  return Object.fromEntries(Object.entries(sent).map(read));
}

/** The value of a text that is JSON; else the text itself. */
function fromJsonText(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    return text;
  }
}

/** The arguments of a call by their own names, the id of the resource, and the problems of the arguments. */
function readArguments(tool: Tool, sent: Record<string, unknown>) {
  const { id, argumentNames, aliases = {}, allowedValues = {}, bodyArgument } = tool;
  const { [id ?? '']: resource, ...rest } = Object.assign(Object.create(null), sent) as Record<string, unknown>;
  const problems: FieldProblem[] = [];
  if (id && (typeof resource !== 'string' || resource === ''))
    problems.push({ field: id, message: describeMissingId(resource) });

  const given: Record<string, unknown> = Object.create(null);
  for (const [name, value] of Object.entries(rest)) {
    const meant = Object.hasOwn(aliases, name) ? (aliases[name] as string) : name;
    if (!argumentNames.includes(meant) && name !== bodyArgument) {
      problems.push({
        field: shorten(name, MAX_NAME_LENGTH).toWellFormed(),
        message: 'is not an argument of this tool',
      });
    } else if (value !== null) {
      // Null is what many models send for nothing.
      if (meant in given) problems.push({ field: name, message: `is the same as ${meant}: send one of them` });
      else given[meant] = value;
    }
  }
  if (bodyArgument && bodyArgument in given && Object.keys(given).length > 1) {
    problems.push({ field: bodyArgument, message: 'holds all the other arguments: send none of them beside it' });
  }
  for (const [name, values] of Object.entries(allowedValues)) {
    if (name in given && !values.includes(given[name] as string)) {
      problems.push({ field: name, message: `must be one of ${values.join(', ')}` });
    }
  }
  const illFormed = findIllFormedText(sent);
  if (illFormed) problems.push({ field: illFormed.join('.').toWellFormed(), message: 'must be Unicode text' });
  return { resource, given, problems };
}

const describeMissingId = (value: unknown): string =>
  value === undefined ? 'is required' : value === '' ? 'must not be empty' : 'must be an id';

const MAX_NAME_LENGTH = 80;
const MAX_PROBLEMS = 20;

/** Arguments as the query of an address would hold them: texts, and the parameters of a deep object one by one. */
const toQuery = (given: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(given)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, name === 'filter' ? toDeepParameters(name, value) : stringify(value)]),
  );

/** Numbers and booleans as an address writes them; other values stay as they are, for the schema to refuse. */
const stringify = (value: unknown): unknown =>
  typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
