import { isRecord } from '../../kernel/fields.ts';
import { invalidSyntax, invalidValue } from './failures.ts';
import { MAX_RESULTS } from './schemas.ts';
import type { Search } from './service.ts';

/** The attributes of resources that a request asks for; names as sent. */
export interface WantedAttributes {
  attributes?: string;
  excludedAttributes?: string;
}

/** The parameters of a list, from its query or the body of a `.search`. */
export interface ListParameters extends WantedAttributes {
  filter?: string;
  startIndex?: string | number;
  count?: string | number;
  sortBy?: string;
  sortOrder?: string;
}

/** The number of resources on a page when none is asked for. */
const DEFAULT_COUNT = 100;
const ATTRIBUTE_LIMITS = { names: 100, characters: 8_000 };

/** Reads the parameters of a list. Too large a page is cut, not refused. @throws invalidValue for a number that is not whole */
export const toSearch = ({ filter, startIndex, count, sortBy, sortOrder = 'ascending' }: ListParameters): Search => {
  if (!/^(ascending|descending)$/i.test(sortOrder)) throw invalidValue('sortOrder must be ascending or descending.');
  return {
    startIndex: Math.max(1, wholeNumber('startIndex', startIndex, 1)),
    count: Math.min(MAX_RESULTS, Math.max(0, wholeNumber('count', count, DEFAULT_COUNT))),
    descending: sortOrder.toLowerCase() === 'descending',
    ...(filter !== undefined && { filter }),
    ...(sortBy !== undefined && sortBy !== '' && { sortBy }),
  };
};

const MAX_NUMBER = 1_000_000_000;

function wholeNumber(name: string, value: string | number | undefined, standard: number): number {
  if (value === undefined || value === '') return standard;
  if (!/^-?\d{1,15}$/.test(String(value))) throw invalidValue(`${name} must be a whole number.`);
  return Math.min(MAX_NUMBER, Number(value));
}

/** Reads the body of a `.search`. @throws invalidSyntax, invalidValue */
export function readListParameters(body: unknown): ListParameters {
  if (!isRecord(body)) throw invalidSyntax('must be a JSON object');
  const sent = new Map(Object.entries(body).map(([name, value]) => [name.toLowerCase(), value]));
  const text = (name: string): string | undefined => {
    const value = sent.get(name.toLowerCase()) ?? undefined;
    if (value !== undefined && (typeof value !== 'string' || value.length > ATTRIBUTE_LIMITS.characters))
      throw invalidValue(`${name} must be a text of at most ${ATTRIBUTE_LIMITS.characters} characters.`);
    return value;
  };
  const number = (name: string): number | undefined => {
    const value = sent.get(name.toLowerCase()) ?? undefined;
    if (value !== undefined && typeof value !== 'number') throw invalidValue(`${name} must be a whole number.`);
    return value;
  };
  const names = (name: string): string | undefined => {
    const value = sent.get(name.toLowerCase()) ?? undefined;
    if (!Array.isArray(value)) return text(name);
    if (
      value.length > ATTRIBUTE_LIMITS.names ||
      value.some((each) => typeof each !== 'string' || each.length > ATTRIBUTE_LIMITS.names * 2)
    )
      throw invalidValue(`${name} must be at most ${ATTRIBUTE_LIMITS.names} names of attributes.`);
    return value.join(',');
  };
  return {
    filter: text('filter'),
    startIndex: number('startIndex'),
    count: number('count'),
    sortBy: text('sortBy'),
    sortOrder: text('sortOrder'),
    attributes: names('attributes'),
    excludedAttributes: names('excludedAttributes'),
  };
}

/** Attributes that are always answered, even if excluded. */
const ALWAYS_RETURNED = ['id', 'schemas'];

/** The names in a list of attributes, without schemas, in lower case: `name.formatted`. */
const parseNames = (text = ''): Set<string> =>
  new Set(
    text
      .split(',')
      .slice(0, ATTRIBUTE_LIMITS.names)
      .map((name) =>
        name
          .trim()
          .replace(/^urn:.*:/i, '')
          .toLowerCase(),
      )
      .filter((name) => name !== ''),
  );

/** Whether an answer to this request has an attribute. */
export function isWanted({ attributes, excludedAttributes }: WantedAttributes, name: string): boolean {
  const [only, without] = [parseNames(attributes), parseNames(excludedAttributes)];
  return (only.size === 0 || [...only].some((each) => each.split('.')[0] === name)) && !without.has(name);
}

/** A resource with only the attributes that the request asks for. */
export function selectAttributes<R extends object>(
  resource: R,
  { attributes, excludedAttributes }: WantedAttributes,
): R {
  const [only, without] = [parseNames(attributes), parseNames(excludedAttributes)];
  if (only.size + without.size === 0) return resource;
  const isShown = (path: string, parent?: string): boolean =>
    (only.size === 0 || only.has(path) || (parent !== undefined && only.has(parent))) && !without.has(path);
  const shown = Object.entries(resource).flatMap(([name, value]) => {
    const key = name.toLowerCase();
    if (ALWAYS_RETURNED.includes(key)) return [[name, value] as const];
    const parts = (each: object) =>
      Object.entries(each).filter(([part]) => isShown(`${key}.${part.toLowerCase()}`, key));
    const isInPart = [...only].some((each) => each.startsWith(`${key}.`));
    if (!isShown(key) && !(isInPart && !without.has(key))) return [];
    if (!isRecord(value) && !Array.isArray(value)) return [[name, value] as const];
    const left = [value]
      .flat()
      .map(parts)
      .filter((each) => each.length > 0)
      .map((each) => Object.fromEntries(each));
    // What has no part left has no value; an empty list is one.
    if (left.length === 0 && !(Array.isArray(value) && value.length === 0)) return [];
    return [[name, Array.isArray(value) ? left : left[0]] as const];
  });
  return Object.fromEntries(shown) as R;
}
