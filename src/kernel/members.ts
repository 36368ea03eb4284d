import type { z } from 'zod';
import type { FieldProblem } from './failure.ts';
import { isRecord } from './fields.ts';
import { shorten } from './text.ts';

type Schema = z.core.$ZodType;
type Members = Readonly<Record<string, unknown>>;

/** The message for each member that a schema does not know. */
export const UNKNOWN_FIELD = 'is not a field of this request';

/** The maximum number of unknown fields that an answer names, and of characters of each. */
export const MAX_UNKNOWN = { names: 20, characters: 80 };

/** The problems of a form's fields that its route does not know. */
export const describeUnknownFields = (names: readonly string[]): FieldProblem[] =>
  [...new Set(names)]
    .slice(0, MAX_UNKNOWN.names)
    .map((name) => ({ field: shorten(name, MAX_UNKNOWN.characters), message: UNKNOWN_FIELD }));

/** A member of a JSON value that its schema does not know. */
export interface UnknownMember {
  path: string[];
  value: unknown;
  /** The objects of the record that may stand where this member's object does. */
  within: Members[];
}

/** A schema without its wrappers: `optional`, `nullable`, defaults, transformations. */
export function unwrapSchema(schema: Schema): z.core.$ZodTypes {
  const typed = schema as z.core.$ZodTypes;
  const { def } = typed._zod;
  switch (def.type) {
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'nonoptional':
    case 'readonly':
    case 'catch':
      return unwrapSchema(def.innerType);
    case 'lazy':
      return unwrapSchema(def.getter());
    case 'pipe':
      return unwrapSchema((def.in as z.core.$ZodTypes)._zod.def.type === 'transform' ? def.out : def.in);
    default:
      return typed;
  }
}

/** The members of an object that a schema knows; null where the schema takes any, or is of no object. */
export function knownMembers(schema: Schema): Readonly<Record<string, Schema>> | null {
  const { def } = unwrapSchema(schema)._zod;
  if (def.type !== 'object') return null;
  const isOpen = def.catchall && (def.catchall as z.core.$ZodTypes)._zod.def.type !== 'never';
  return isOpen ? null : def.shape;
}

/**
 * The members that a schema does not know, however deep, one after the other: of a body that has many, no more are made than are
 * asked for.
 * @param records forms in which the same record is shown. Objects of a list are found in them by the members that identify them,
 * and by their place: either can have been changed
 * @param path the place of the value; it is the caller's again once all members are made
 */
export function* unknownMembers(
  schema: Schema,
  value: unknown,
  records: readonly unknown[] = [],
  path: string[] = [],
): Generator<UnknownMember, undefined> {
  const { def } = unwrapSchema(schema)._zod;
  if (def.type === 'union') {
    const meant = isNested(value) ? findClosestOption(def.options, value) : undefined;
    if (meant) yield* unknownMembers(meant, value, records, path);
  } else if (def.type === 'array' && Array.isArray(value)) {
    // It is refused for its length, whatever its entries are.
    if (value.length > getMaxItems(def)) return;
    const counterparts = counterpartsIn(records.filter(Array.isArray));
    for (const [index, item] of value.entries()) {
      if (isNested(item)) yield* findUnknownWithin(String(index), def.element, item, counterparts(item, index), path);
    }
  } else if (isRecord(value)) {
    const known = knownMembers(schema);
    if (def.type !== 'record' && !known) return;
    const within = records.filter(isRecord);
    for (const [name, member] of Object.entries(value)) {
      // A record of zod drops this name without a word.
      const isDropped = name === '__proto__';
      const inner = def.type !== 'record' ? ownMember(known, name) : isDropped ? undefined : def.valueType;
      const shown = within.filter((each) => Object.hasOwn(each, name));
      if (!inner) yield { path: [...path, name], value: member, within: shown };
      else if (isNested(member))
        yield* findUnknownWithin(
          name,
          inner,
          member,
          shown.map((each) => each[name]),
          path,
        );
    }
  }
}

/** The maximum number of items that an array schema accepts; `Infinity` if it has no maximum. */
const getMaxItems = ({ checks = [] }: z.core.$ZodArrayDef): number =>
  Math.min(
    ...checks.flatMap(({ _zod: { def } }) =>
      def.check === 'max_length' ? (def as z.core.$ZodCheckMaxLengthDef).maximum : [],
    ),
  );

function* findUnknownWithin(name: string, schema: Schema, value: object, records: readonly unknown[], path: string[]) {
  path.push(name);
  yield* unknownMembers(schema, value, records, path);
  path.pop();
}

const isNested = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** A member of an object, unless it is inherited. */
export const ownMember = <T>(members: Readonly<Record<string, T>> | null | undefined, name: string): T | undefined =>
  members && Object.hasOwn(members, name) ? members[name] : undefined;

/** The form of a union that a value is probably meant in; undefined where it can be none of them. */
function findClosestOption(options: readonly Schema[], value: object): Schema | undefined {
  const distances = options.map((option) => measureDistance(option, value));
  const least = Math.min(...distances);
  return least === Number.MAX_VALUE ? undefined : options[distances.indexOf(least)];
}

/** The distance of a value from a form: the members that it does not know, the maximum for another form. */
function measureDistance(option: Schema, value: object): number {
  const { def } = unwrapSchema(option)._zod;
  if (Array.isArray(value)) return def.type === 'array' ? 0 : Number.MAX_VALUE;
  const known = knownMembers(option);
  if (!known) return def.type === 'array' ? Number.MAX_VALUE : 0;
  const sent = Object.entries(value);
  const isOther = sent.some(([name, member]) => contradicts(ownMember(known, name), member));
  return isOther ? Number.MAX_VALUE : sent.filter(([name]) => !Object.hasOwn(known, name)).length;
}

/** Whether a member that tells forms apart says that it is another form. */
function contradicts(schema: Schema | undefined, value: unknown): boolean {
  const values = schema && unwrapSchema(schema)._zod.values;
  return values !== undefined && !values.has(value as z.core.util.Literal);
}

/** Members that may identify the objects of a list. */
const IDENTIFYING_MEMBERS = ['id', '_id', 'source_index', 'slug', 'name'];

const isScalar = (value: unknown): boolean => typeof value === 'string' || typeof value === 'number';

/** Finds the objects of a record's lists that an object of a body's list may have been read from. */
function counterpartsIn(lists: readonly unknown[][]): (item: unknown, index: number) => unknown[] {
  if (lists.length === 0) return () => [];
  const maps = new Map<string, Map<unknown, unknown>>();
  const found = (key: string) => {
    const known = maps.get(key) ?? new Map(lists.flat().map((item) => [ownMember(Object(item), key), item]));
    maps.set(key, known);
    return known;
  };
  return (item, index) => {
    const keys = IDENTIFYING_MEMBERS.filter((name) => isScalar(ownMember(Object(item), name)));
    return [...keys.map((key) => found(key).get(Object(item)[key])), ...lists.map((list) => list[index])];
  };
}
