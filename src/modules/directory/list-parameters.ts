import { isRecord } from '../../kernel/fields.ts';
import { invalidSyntax, invalidValue } from './failures.ts';
import { MAX_RESULTS } from './schemas.ts';
import type { Search } from './service.ts';

/** The attributes that a request asks for or excludes; names as sent. */
export interface RequestedAttributes {
  attributes?: string;
  excludedAttributes?: string;
}

/** The parameters of a list, from the query string or the body of a `.search`. */
export interface ListParameters extends RequestedAttributes {
  filter?: string;
  startIndex?: string | number;
  count?: string | number;
  sortBy?: string;
  sortOrder?: string;
}

/** The default number of resources on a page. */
const DEFAULT_COUNT = 100;
const ATTRIBUTE_LIMITS = { names: 100, characters: 8_000 };

/** Parses the parameters of a list. Too large a page is cut, not refused. @throws invalidValue for a number that is not whole */
export const parseSearch = ({ filter, startIndex, count, sortBy, sortOrder = 'ascending' }: ListParameters): Search => {
  if (!/^(ascending|descending)$/i.test(sortOrder)) throw invalidValue('sortOrder must be ascending or descending.');
  return {
    startIndex: Math.max(1, parseWholeNumber('startIndex', startIndex, 1)),
    count: Math.min(MAX_RESULTS, Math.max(0, parseWholeNumber('count', count, DEFAULT_COUNT))),
    descending: sortOrder.toLowerCase() === 'descending',
    ...(filter !== undefined && { filter }),
    ...(sortBy !== undefined && sortBy !== '' && { sortBy }),
  };
};

const MAX_NUMBER = 1_000_000_000;

function parseWholeNumber(name: string, value: string | number | undefined, defaultNumber: number): number {
  if (value === undefined || value === '') return defaultNumber;
  if (!/^-?\d{1,15}$/.test(String(value))) throw invalidValue(`${name} must be a whole number.`);
  return Math.min(MAX_NUMBER, Number(value));
}

/** Reads the body of a `.search`. @throws invalidSyntax, invalidValue */
export function readListParameters(body: unknown): ListParameters {
  if (!isRecord(body)) throw invalidSyntax('must be a JSON object');
  const sentValues = new Map(Object.entries(body).map(([name, value]) => [name.toLowerCase(), value]));
  const readValue = (name: string): unknown => sentValues.get(name.toLowerCase()) ?? undefined;
  const readText = (name: string): string | undefined => {
    const value = readValue(name);
    if (value !== undefined && (typeof value !== 'string' || value.length > ATTRIBUTE_LIMITS.characters))
      throw invalidValue(`${name} must be a text of at most ${ATTRIBUTE_LIMITS.characters} characters.`);
    return value;
  };
  const readNumber = (name: string): number | undefined => {
    const value = readValue(name);
    if (value !== undefined && typeof value !== 'number') throw invalidValue(`${name} must be a whole number.`);
    return value;
  };
  const readNames = (name: string): string | undefined => {
    const value = readValue(name);
    if (!Array.isArray(value)) return readText(name);
    const isName = (text: unknown) => typeof text === 'string' && text.length <= ATTRIBUTE_LIMITS.names * 2;
    if (value.length > ATTRIBUTE_LIMITS.names || !value.every(isName))
      throw invalidValue(`${name} must be at most ${ATTRIBUTE_LIMITS.names} names of attributes.`);
    return value.join(',');
  };
  return {
    filter: readText('filter'),
    startIndex: readNumber('startIndex'),
    count: readNumber('count'),
    sortBy: readText('sortBy'),
    sortOrder: readText('sortOrder'),
    attributes: readNames('attributes'),
    excludedAttributes: readNames('excludedAttributes'),
  };
}

/** Attributes that are always returned, even if excluded. */
const ALWAYS_RETURNED_ATTRIBUTES = ['id', 'schemas'];

/** Returns the names in a list of attributes, without schemas, in lower case: `name.formatted`. */
const parseAttributeNames = (text = ''): Set<string> =>
  new Set(
    text
      .split(',')
      .slice(0, ATTRIBUTE_LIMITS.names)
      .map((name) =>
        name
          .trim()
          .toLowerCase()
          .replace(/^urn:.*:/, ''),
      )
      .filter((name) => name !== ''),
  );

/** Tells whether the response to this request includes an attribute. */
export function isAttributeRequested({ attributes, excludedAttributes }: RequestedAttributes, name: string): boolean {
  const [requestedPaths, excludedPaths] = [parseAttributeNames(attributes), parseAttributeNames(excludedAttributes)];
  return (
    (requestedPaths.size === 0 || [...requestedPaths].some((requestedPath) => requestedPath.split('.')[0] === name)) &&
    !excludedPaths.has(name)
  );
}

/** Returns a resource with only the attributes that the request asks for. */
export function selectAttributes<R extends object>(
  resource: R,
  { attributes, excludedAttributes }: RequestedAttributes,
): R {
  const [requestedPaths, excludedPaths] = [parseAttributeNames(attributes), parseAttributeNames(excludedAttributes)];
  if (requestedPaths.size + excludedPaths.size === 0) return resource;
  const isPathRequested = (path: string, parent?: string): boolean =>
    (requestedPaths.size === 0 || requestedPaths.has(path) || (parent !== undefined && requestedPaths.has(parent))) &&
    !excludedPaths.has(path);
  const selectedEntries = Object.entries(resource).flatMap(([name, value]) => {
    const key = name.toLowerCase();
    if (ALWAYS_RETURNED_ATTRIBUTES.includes(key)) return [[name, value] as const];
    const listParts = (element: object) =>
      Object.entries(element).filter(([part]) => isPathRequested(`${key}.${part.toLowerCase()}`, key));
    const isSubAttributeRequested = [...requestedPaths].some((requestedPath) => requestedPath.startsWith(`${key}.`));
    if (!isPathRequested(key) && !(isSubAttributeRequested && !excludedPaths.has(key))) return [];
    if (!isRecord(value) && !Array.isArray(value)) return [[name, value] as const];
    const requestedParts = [value]
      .flat()
      .map(listParts)
      .filter((parts) => parts.length > 0)
      .map((parts) => Object.fromEntries(parts));
    // What has no part left has no value; an empty list is one.
    if (requestedParts.length === 0 && !(Array.isArray(value) && value.length === 0)) return [];
    return [[name, Array.isArray(value) ? requestedParts : requestedParts[0]] as const];
  });
  return Object.fromEntries(selectedEntries) as R;
}
