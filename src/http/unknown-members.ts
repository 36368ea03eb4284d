import type { z } from 'zod';
import { invalidToken } from '../access/failures.ts';
import type { PrincipalContext } from '../context.ts';
import { Failure, type FieldProblem } from '../kernel/failure.ts';
import { isRecord } from '../kernel/fields.ts';
import type { Contract, Endpoint } from './endpoint.ts';
import { UNKNOWN_FIELD } from './field-words.ts';
import { MAX_PROBLEMS } from './json-bounds.ts';
import { authorize } from './request-checks.ts';
import type { Call } from './versions.ts';

type Schema = z.core.$ZodType;
type Members = Readonly<Record<string, unknown>>;

/** A member of a JSON value that its schema does not know. */
interface UnknownMember {
  path: string[];
  value: unknown;
  /** The objects of the record that may stand where this member's object does. */
  within: Members[];
}

/** A schema without its wrappers: `optional`, `nullable`, defaults, transformations. */
function unwrapSchema(schema: Schema): z.core.$ZodTypes {
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
    if (value.length > mostEntries(def)) return;
    const counterparts = counterpartsIn(records.filter(Array.isArray));
    for (const [index, item] of value.entries()) {
      if (isNested(item)) yield* findUnknownBeneath(String(index), def.element, item, counterparts(item, index), path);
    }
  } else if (isRecord(value)) {
    const known = knownMembers(schema);
    if (def.type !== 'record' && !known) return;
    const within = records.filter(isRecord);
    for (const [name, member] of Object.entries(value)) {
      const inner = def.type === 'record' ? def.valueType : ownMember(known, name);
      const shown = within.filter((each) => Object.hasOwn(each, name));
      if (!inner) yield { path: [...path, name], value: member, within: shown };
      else if (isNested(member))
        yield* findUnknownBeneath(
          name,
          inner,
          member,
          shown.map((each) => each[name]),
          path,
        );
    }
  }
}

/** The most entries of a list that a schema takes. */
const mostEntries = ({ checks = [] }: z.core.$ZodArrayDef): number =>
  Math.min(
    ...checks.flatMap(({ _zod: { def } }) =>
      def.check === 'max_length' ? (def as z.core.$ZodCheckMaxLengthDef).maximum : [],
    ),
  );

function* findUnknownBeneath(name: string, schema: Schema, value: object, records: readonly unknown[], path: string[]) {
  path.push(name);
  yield* unknownMembers(schema, value, records, path);
  path.pop();
}

const isNested = (value: unknown): value is object => typeof value === 'object' && value !== null;

const ownMember = <T>(members: Readonly<Record<string, T>> | null | undefined, name: string): T | undefined =>
  members && Object.hasOwn(members, name) ? members[name] : undefined;

/** The form of a union that a value is probably meant in; undefined where it can be none of them. */
function findClosestOption(options: readonly Schema[], value: object): Schema | undefined {
  const distances = options.map((option) => measureDistance(option, value));
  const least = Math.min(...distances);
  return least === Number.MAX_VALUE ? undefined : options[distances.indexOf(least)];
}

/**
 * The distance of a value from a form: the number of members that the form does not know, or the maximum where it is another
 * form.
 */
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

/**
 * The record of a write's path, for a body that may hold members that the write does not know, and the routes that change them.
 */
export interface NamedRecord {
  /** The GET that shows it, where there is one on the surface. */
  reading: Endpoint | undefined;
  /** The route that changes a member of it, such as `POST /v1/users/{id}/activate`; undefined where none does. */
  changer: (member: string) => string | undefined;
}

/** The record of a write's path: the one its own GET shows, else that of the GET of a path above it. */
export function namedRecord(contract: Contract, endpoints: readonly Endpoint[]): NamedRecord {
  const { method, path } = contract;
  const beneath = [...path.matchAll(/\}/g)].map(({ index }) => path.slice(0, index + 1)).toReversed();
  const [reading] = (method === 'post' ? beneath : [path, ...beneath]).flatMap((shown) =>
    endpoints.filter(({ contract: other }) => other.method === 'get' && other.path === shown),
  );
  const record = reading?.contract.path ?? path;
  const writes = endpoints.map((endpoint) => endpoint.contract).filter((other) => isOf(other.path, record));
  return {
    reading,
    changer: (member) => {
      const found = writes.find((write) => write.alsoChanges?.includes(member) || replaces(write, member));
      return found && `${found.method.toUpperCase()} ${found.path}`;
    },
  };
}

const isOf = (path: string, record: string): boolean => path === record || path.startsWith(`${record}/`);

const replaces = ({ method, body }: Contract, member: string): boolean =>
  (method === 'put' || method === 'patch') && body !== undefined && !!ownMember(knownMembers(body), member);

/**
 * Returns the problems of a body's members that its route does not know. No problem are members that the GET of the path's record
 * shows with an equal value: they were read and are sent back.
 * @throws missing where the resource of the path is not there
 */
export async function unknownProblems(
  body: unknown,
  contract: Contract,
  record: NamedRecord,
  call: Omit<Call, 'body' | 'query'>,
): Promise<FieldProblem[]> {
  const schema = contract.body as Schema;
  if (unknownMembers(schema, body).next().done) return [];
  const sent = Object.keys(Object(body));
  // Nobody is told what is wrong before it is known who asks.
  const { pendingTokenField } = contract;
  if (pendingTokenField && call.ctx.actor.kind === 'anonymous' && !sent.includes(pendingTokenField))
    throw invalidToken();
  const shown = await shownRecord(contract, record, call, sent);
  // What does not count for the version moves, but for an id: that is left out where the version is made without it.
  const moves = (name: string): boolean =>
    MOVING.test(name) ||
    (!name.endsWith('_id') && record.reading?.contract.versioned?.ignoredFields.includes(name) === true);
  const isRight = ({ path, value, within }: UnknownMember): boolean => {
    if ((shown === undefined || path.length > 1) && isOfView(contract, record, path)) return true;
    const name = path.at(-1) as string;
    return within.length > 0 && (moves(name) || within.some((each) => isSame(value, each[name], moves)));
  };
  return unknownMembers(schema, body, [shown])
    .filter((member) => !isRight(member))
    .take(MAX_PROBLEMS)
    .map((member) => toProblem(member, record))
    .toArray();
}

/**
 * Returns a body without the members of these names that the GET of the path's record shows with the same value: what another
 * surface, or an earlier rule, gave the record may be sent back.
 */
export async function withoutKept(
  body: unknown,
  names: readonly string[],
  contract: Contract,
  record: NamedRecord,
  call: Omit<Call, 'body' | 'query'>,
): Promise<unknown> {
  const shown = await shownRecord(contract, record, call, names).catch((error: unknown) => {
    if (error instanceof Failure && error.kind === 'missing') return undefined;
    throw error;
  });
  if (!isRecord(body) || !isRecord(shown)) return body;
  const known = knownMembers(contract.body as Schema);
  const isKept = (name: string) =>
    staysWithout(ownMember(known, name)) &&
    names.includes(name) &&
    Object.hasOwn(shown, name) &&
    isSame(body[name], shown[name], () => false);
  return Object.fromEntries(Object.entries(body).filter(([name]) => !isKept(name)));
}

/** Whether a member that is not sent is left as it is: it has no default that would take its place. */
function staysWithout(schema: Schema | undefined): boolean {
  if (schema === undefined || schema._zod.optin !== 'optional') return false;
  for (
    let at = (schema as z.core.$ZodTypes)._zod.def;
    'innerType' in at;
    at = (at.innerType as z.core.$ZodTypes)._zod.def
  )
    if (at.type === 'default' || at.type === 'prefault' || at.type === 'catch') return false;
  return true;
}

function toProblem(member: UnknownMember, { changer }: NamedRecord): FieldProblem {
  const { path, within } = member;
  if (within.length === 0) return unknownProblem(member);
  const route = path.length === 1 ? changer(path[0] as string) : undefined;
  return { field: path.join('.'), message: route ? `is changed by ${route}` : 'cannot be changed' };
}

export const unknownProblem = ({ path }: UnknownMember): FieldProblem => ({
  field: path.join('.'),
  message: UNKNOWN_FIELD,
});

/**
 * Whether a member is one that the record is shown with, of a body that is made of what somebody has read: whoever is shown less
 * of the record, or nothing, may send that on, and is told nothing of what the record has.
 */
function isOfView({ bodySourceField }: Contract, { reading }: NamedRecord, path: readonly string[]): boolean {
  const returns = reading?.contract.returns;
  if (bodySourceField === undefined || !returns || !('body' in returns)) return false;
  const part = ownMember(knownMembers(returns.body), bodySourceField);
  return [returns.body, ...(part ? [part] : [])].some((view) => shows(view, path));
}

function shows(view: Schema, path: readonly string[]): boolean {
  let at: Schema | undefined = view;
  for (const name of path) {
    if (!at) return false;
    const { def }: { def: z.core.$ZodTypes['_zod']['def'] } = unwrapSchema(at)._zod;
    at = def.type === 'array' ? def.element : ownMember(knownMembers(at), name);
  }
  return at !== undefined;
}

/**
 * The record as its GET shows it to the caller; undefined where the caller may not get it, or the body is of something else.
 * @throws missing where the record of the path is not there, or cannot be read now
 */
async function shownRecord(
  { method, checkBeforeReplay, bodySourceField }: Contract,
  { reading }: NamedRecord,
  call: Omit<Call, 'body' | 'query'>,
  sent: readonly string[],
): Promise<unknown> {
  const { params } = call;
  const ctx = call.ctx as PrincipalContext;
  if (checkBeforeReplay) await checkBeforeReplay(ctx, params);
  if (!reading || checkBeforeReplay) return undefined;
  const { contract, handle } = reading;
  try {
    // Before it is known whether the caller may: who may write to it is told whether it is there.
    const query = contract.query?.parse(includedBy(contract, sent));
    const json = JSON.parse(JSON.stringify(await handle({ ...call, query, body: undefined })));
    await authorize(contract, ctx, (name) => params[name]);
    if (bodySourceField !== undefined) return { ...json, ...json[bodySourceField] };
    return method === 'post' ? undefined : json;
  } catch (error) {
    const isThere = Object.keys(params).length === 0 || Object(error).kind !== 'missing';
    if (error instanceof Failure && isThere && error.kind !== 'unavailable') return undefined;
    throw error;
  }
}

/** The query of a GET for members that it shows only on request. */
function includedBy({ query }: Contract, sent: readonly string[]): { include?: string } {
  const include = query && ownMember(knownMembers(query), 'include');
  const values = include && unwrapSchema(include)._zod.values;
  const asked = sent.find((name) => values?.has(name));
  return asked === undefined ? {} : { include: asked };
}

/** Times, counters and who was last: they change by themselves, or with any other change. */
const MOVING = /_at$|_count$|^version$|^updated_by/;

/** Whether two JSON values are the same, but for members that move. Members may stand in any order. */
function isSame(one: unknown, other: unknown, moves: (name: string) => boolean): boolean {
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, index) => isSame(item, other[index], moves));
  if (!isRecord(one) || !isRecord(other)) return one === other;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && (moves(name) || isSame(one[name], other[name], moves)))
  );
}
