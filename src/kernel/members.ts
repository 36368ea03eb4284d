import type { z } from 'zod';
import type { FieldProblem } from './failure.ts';
import { isRecord } from './fields.ts';
import { shorten } from './text.ts';

type Schema = z.core.$ZodType;
type Members = Readonly<Record<string, unknown>>;

/** The message for each member that a schema does not define. */
export const UNKNOWN_FIELD_MESSAGE = 'is not a field of this request';

/** The maximum number of unknown fields that a response names, and of characters of each name. */
export const UNKNOWN_FIELD_LIMITS = { names: 20, characters: 80 };

/** Returns the problems for a form's fields that its route does not define. */
export const describeUnknownFields = (names: readonly string[]): FieldProblem[] =>
  [...new Set(names)]
    .slice(0, UNKNOWN_FIELD_LIMITS.names)
    .map((name) => ({ field: shorten(name, UNKNOWN_FIELD_LIMITS.characters), message: UNKNOWN_FIELD_MESSAGE }));

/** A member of a JSON value that its schema does not define. */
export interface UnknownMember {
  path: string[];
  value: unknown;
  /** The objects of the stored record that may correspond to the object holding this member. */
  counterpartObjects: Members[];
}

/** Returns a schema without its wrappers: `optional`, `nullable`, defaults, transformations. */
export function unwrapSchema(schema: Schema): z.core.$ZodTypes {
  const typedSchema = schema as z.core.$ZodTypes;
  const { def } = typedSchema._zod;
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
      return typedSchema;
  }
}

/** Returns the members of an object that a schema defines; null where it accepts any member or is not an object schema. */
export function getKnownMembers(schema: Schema): Readonly<Record<string, Schema>> | null {
  const { def } = unwrapSchema(schema)._zod;
  if (def.type !== 'object') return null;
  const acceptsAnyMember = def.catchall && (def.catchall as z.core.$ZodTypes)._zod.def.type !== 'never';
  return acceptsAnyMember ? null : def.shape;
}

/**
 * Yields the members of a value that its schema does not define, at any depth; no more are computed than the caller asks for.
 * @param records forms in which the same record is shown. Objects of a list are matched in them by their identifying members and
 * by their index: either can have been changed @param path the path to the value; the caller may use it again once all members
 * were yielded
 */
export function* findUnknownMembers(
  schema: Schema,
  value: unknown,
  records: readonly unknown[] = [],
  path: string[] = [],
): Generator<UnknownMember, undefined> {
  const { def } = unwrapSchema(schema)._zod;
  if (def.type === 'union') {
    const closestOption = isObjectOrArray(value) ? findClosestOption(def.options, value) : undefined;
    if (closestOption) yield* findUnknownMembers(closestOption, value, records, path);
  } else if (def.type === 'array' && Array.isArray(value)) {
    // It is refused for its length, whatever its entries are.
    if (value.length > getMaxItems(def)) return;
    const findCounterparts = makeCounterpartFinder(records.filter(Array.isArray));
    for (const [index, item] of value.entries()) {
      if (isObjectOrArray(item))
        yield* findUnknownMembersWithin(String(index), def.element, item, findCounterparts(item, index), path);
    }
  } else if (isRecord(value)) {
    const knownMembers = getKnownMembers(schema);
    if (def.type !== 'record' && !knownMembers) return;
    const counterpartRecords = records.filter(isRecord);
    for (const [name, member] of Object.entries(value)) {
      // A record of zod drops this name without a word.
      const isDroppedByZod = name === '__proto__';
      const memberSchema =
        def.type !== 'record' ? getOwnMember(knownMembers, name) : isDroppedByZod ? undefined : def.valueType;
      const recordsWithMember = counterpartRecords.filter((record) => Object.hasOwn(record, name));
      if (!memberSchema) yield { path: [...path, name], value: member, counterpartObjects: recordsWithMember };
      else if (isObjectOrArray(member))
        yield* findUnknownMembersWithin(
          name,
          memberSchema,
          member,
          recordsWithMember.map((record) => record[name]),
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

function* findUnknownMembersWithin(
  name: string,
  schema: Schema,
  value: object,
  records: readonly unknown[],
  path: string[],
) {
  path.push(name);
  yield* findUnknownMembers(schema, value, records, path);
  path.pop();
}

const isObjectOrArray = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Returns an object's own member; undefined if it is inherited or absent. */
export const getOwnMember = <T>(
  members: Readonly<Record<string, T>> | null | undefined,
  name: string,
): T | undefined => (members && Object.hasOwn(members, name) ? members[name] : undefined);

/** Returns the union option that a value was probably written for; undefined where it matches none. */
function findClosestOption(options: readonly Schema[], value: object): Schema | undefined {
  const distances = options.map((option) => measureDistance(option, value));
  const leastDistance = Math.min(...distances);
  return leastDistance === Number.MAX_VALUE ? undefined : options[distances.indexOf(leastDistance)];
}

/** Returns how far a value is from a union option: the number of unknown members, or the maximum if it is another option. */
function measureDistance(option: Schema, value: object): number {
  const { def } = unwrapSchema(option)._zod;
  if (Array.isArray(value)) return def.type === 'array' ? 0 : Number.MAX_VALUE;
  const knownMembers = getKnownMembers(option);
  if (!knownMembers) return def.type === 'array' ? Number.MAX_VALUE : 0;
  const sentMembers = Object.entries(value);
  const isOtherOption = sentMembers.some(([name, member]) =>
    contradictsSchema(getOwnMember(knownMembers, name), member),
  );
  return isOtherOption ? Number.MAX_VALUE : sentMembers.filter(([name]) => !Object.hasOwn(knownMembers, name)).length;
}

/** Tells whether the value of a discriminating member contradicts this union option. */
function contradictsSchema(schema: Schema | undefined, value: unknown): boolean {
  const values = schema && unwrapSchema(schema)._zod.values;
  return values !== undefined && !values.has(value as z.core.util.Literal);
}

/** Members that may identify the objects of a list. */
const IDENTIFYING_MEMBERS = ['id', '_id', 'source_index', 'slug', 'name'];

const isScalar = (value: unknown): boolean => typeof value === 'string' || typeof value === 'number';

/** Returns a function that finds the objects of a record's lists that correspond to an object of a request's list. */
function makeCounterpartFinder(recordLists: readonly unknown[][]): (item: unknown, index: number) => unknown[] {
  if (recordLists.length === 0) return () => [];
  const itemMapsByKey = new Map<string, Map<unknown, unknown>>();
  const getItemsByKey = (key: string) => {
    const itemsByValue =
      itemMapsByKey.get(key) ?? new Map(recordLists.flat().map((item) => [getOwnMember(Object(item), key), item]));
    itemMapsByKey.set(key, itemsByValue);
    return itemsByValue;
  };
  return (item, index) => {
    const keys = IDENTIFYING_MEMBERS.filter((name) => isScalar(getOwnMember(Object(item), name)));
    return [...keys.map((key) => getItemsByKey(key).get(Object(item)[key])), ...recordLists.map((list) => list[index])];
  };
}
