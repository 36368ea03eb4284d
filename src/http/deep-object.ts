import { z } from 'zod';
import { ExactNumber, parseExactJson } from '../kernel/exact-json.ts';
import { invalidInput } from '../kernel/failure.ts';
import { shorten } from '../kernel/text.ts';

/** Parameter `name[a][b]=value` of a deep object. */
export interface DeepParameter {
  column: string;
  operator: string;
  value: string;
}

const PARAMETER_PATTERN = /^([^[\]]+)\[([^[\]]*)\]\[([^[\]]*)\]$/;

/**
 * Makes a function that gathers a query's parameters of deep objects, which the schema names by `param: { style: 'deepObject' }`:
 * `filter[a][eq]=1&filter[b][in]=2` become a list under `filter`, one element for each parameter, however often it comes. The
 * JSON form of one parameter means the same: `filter={"a":{"eq":1},"b":{"in":[2]}}`. Both forms may be combined. Parameters of a
 * deep object in any other form are refused.
 */
export function makeDeepObjectGatherer(schema: z.ZodType): (query: unknown) => unknown {
  const names = schema instanceof z.ZodObject ? listDeepObjects(schema.shape) : [];
  if (names.length === 0) return (query) => query;
  return (query) => gatherParameters(names, query as Record<string, SentParameter | SentParameter[]>);
}

const listDeepObjects = (shape: Record<string, z.ZodType>): string[] =>
  Object.keys(shape).filter((name) => shape[name]?.meta()?.param?.style === 'deepObject');

/** Sent parameter: a text, or its parts if a tool has already parsed it. */
type SentParameter = string | DeepParameter;

/** Gathers the parameters of the named deep objects. @throws invalid */
function gatherParameters(
  names: string[],
  query: Record<string, SentParameter | SentParameter[]>,
): Record<string, unknown> {
  const gatheredParameters = new Map<string, DeepParameter[]>();
  const otherParameters: [string, unknown][] = [];
  for (const [key, values] of Object.entries(query)) {
    const [, named, column = '', operator = ''] = PARAMETER_PATTERN.exec(key) ?? [];
    const name = named ?? key;
    const objectName = names.find((candidate) => key.startsWith(`${candidate}[`));
    if (objectName !== undefined && named === undefined)
      throw invalidInput([{ field: shorten(key, MAX_SHOWN_NAME_LENGTH), message: describeSyntax(objectName) }]);
    if (!names.includes(name)) {
      otherParameters.push([key, values]);
      continue;
    }
    const parameters = gatheredParameters.get(name) ?? [];
    for (const value of [values].flat()) {
      if (typeof value !== 'string') parameters.push(value);
      else parameters.push(...(named === undefined ? parseJsonParameters(name, value) : [{ column, operator, value }]));
    }
    gatheredParameters.set(name, parameters);
  }
  return Object.fromEntries([...gatheredParameters, ...otherParameters]);
}

/** Parses a deep object that was sent as JSON. @throws invalid */
function parseJsonParameters(name: string, text: string): DeepParameter[] {
  let value: unknown;
  try {
    value = parseExactJson(text);
  } catch {
    value = undefined;
  }
  return toDeepParameters(name, value);
}

const describeSyntax = (name: string): string =>
  `must be written as ${name}[column][operator]=value, or as JSON: ${name}={"column":{"operator":value}}`;

/** Maximum number of parameters that one object may contain; every schema takes fewer. */
const MAX_PARAMETERS = 1000;

/** Maximum number of characters of a name that an answer repeats. */
const MAX_SHOWN_NAME_LENGTH = 80;

/** Lists `{ column: { operator: value } }` as parameters: a list is one for `in` and `nin`, else one for each value. */
export function toDeepParameters(name: string, object: unknown): DeepParameter[] {
  if (!isObject(object)) throw invalidInput([{ field: name, message: describeSyntax(name) }]);
  const parameters = Object.entries(object).flatMap(([column, operators]) => {
    const field = `${name}[${shorten(column, MAX_SHOWN_NAME_LENGTH)}]`;
    if (!isObject(operators)) throw invalidInput([{ field, message: 'must be an object of operators' }]);
    return Object.entries(operators).flatMap(([operator, value]) =>
      toTexts(`${field}[${shorten(operator, MAX_SHOWN_NAME_LENGTH)}]`, operator, value).map((text) => ({
        column,
        operator,
        value: text,
      })),
    );
  });
  return parameters.slice(0, MAX_PARAMETERS);
}

function toTexts(field: string, operator: string, value: unknown): string[] {
  if (!Array.isArray(value)) return [toText(field, value)];
  if (value.length === 0) throw invalidInput([{ field, message: 'must hold at least one value' }]);
  const texts = value.map((item) => toText(field, item));
  return operator === 'in' || operator === 'nin' ? [texts.map(quoteIfNeeded).join(',')] : texts;
}

const quoteIfNeeded = (text: string): string => (/[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

function toText(field: string, value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (value instanceof ExactNumber) return value.digits;
  throw invalidInput([{ field, message: 'must be a text, a number or a boolean' }]);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
