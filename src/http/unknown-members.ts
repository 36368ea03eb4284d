import type { z } from 'zod';
import { invalidToken } from '../access/failures.ts';
import type { PrincipalContext } from '../context.ts';
import { Failure, type FieldProblem, MAX_PROBLEMS } from '../kernel/failure.ts';
import { isRecord } from '../kernel/fields.ts';
import {
  knownMembers,
  ownMember,
  UNKNOWN_FIELD,
  type UnknownMember,
  unknownMembers,
  unwrapSchema,
} from '../kernel/members.ts';
import type { Contract, Endpoint } from './endpoint.ts';
import { authorize } from './request-checks.ts';
import type { Call } from './versions.ts';

type Schema = z.core.$ZodType;

/** The record at the path of a write, whose body may have members that only other routes change. */
export interface NamedRecord {
  /** The GET that shows it, where there is one on the surface. */
  reading: Endpoint | undefined;
  /** What changes a member of it, such as `POST /v1/users/{id}/activate`, or another member; undefined where nothing does. */
  changer: (member: string) => string | undefined;
}

/** The record of a write's path: the one its own GET shows, else that of the GET of a path above it. */
export function findNamedRecord(contract: Contract, endpoints: readonly Endpoint[]): NamedRecord {
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
      const found = writes.find((write) => write.alsoChanges?.includes(member) || isReplacement(write, member));
      return contract.changedBy?.[member] ?? (found && `${found.method.toUpperCase()} ${found.path}`);
    },
  };
}

const isOf = (path: string, record: string): boolean => path === record || path.startsWith(`${record}/`);

const isReplacement = ({ method, body }: Contract, member: string): boolean =>
  (method === 'put' || method === 'patch') && body !== undefined && !!ownMember(knownMembers(body), member);

/**
 * Returns the problems of a body's members that its route does not know. Members that the GET of the path's record shows with
 * an equal value are accepted: the caller has read them and sends them back.
 * @throws missing where the resource of the path does not exist
 */
export async function findUnknownProblems(
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
  const shown = await readShownRecord(contract, record, call, sent);
  // What does not count for the version moves, but for an id: that is left out where the version is made without it.
  const moves = (name: string): boolean =>
    VOLATILE_MEMBERS.test(name) ||
    (!name.endsWith('_id') && record.reading?.contract.versioned?.ignoredFields.includes(name) === true);
  const isRight = ({ path, value, within }: UnknownMember): boolean => {
    if ((shown === undefined || path.length > 1) && isOfView(contract, record, path)) return true;
    const name = path.at(-1) as string;
    const source = path.length === 1 ? (contract.changedBy?.[name] ?? '') : '';
    // A repeated request finds the record as it left it.
    const isEarlier = (each: UnknownMember['within'][number]) =>
      sent.includes(source) && isEarlierValue(value, each[name], each[source]);
    const isShown = moves(name) || within.some((each) => isSame(value, each[name], moves));
    return within.length > 0 && (isShown || within.some(isEarlier));
  };
  return unknownMembers(schema, body, [shown])
    .filter((member) => !isRight(member))
    .take(MAX_PROBLEMS)
    .map((member) => toProblem(member, record))
    .toArray();
}

/**
 * Returns a body without those of the named members that the GET of the path's record shows with the same value, or null where
 * there are none: a value that was stored by another surface or under an earlier rule may be sent back unchanged.
 */
export async function removeUnchangedMembers(
  body: unknown,
  names: readonly string[],
  contract: Contract,
  record: NamedRecord,
  call: Omit<Call, 'body' | 'query'>,
): Promise<unknown> {
  const shown = await readShownRecord(contract, record, call, names).catch((error: unknown) => {
    if (error instanceof Failure && error.kind === 'missing') return undefined;
    throw error;
  });
  if (!isRecord(body) || !isRecord(shown)) return null;
  const known = knownMembers(contract.body as Schema);
  const isKept = (name: string) =>
    staysUnchangedIfOmitted(ownMember(known, name)) &&
    names.includes(name) &&
    Object.hasOwn(shown, name) &&
    isSame(body[name], shown[name], () => false);
  const members = Object.entries(body);
  const rest = members.filter(([name]) => !isKept(name));
  return rest.length === members.length ? null : Object.fromEntries(rest);
}

/** Whether a member that is not sent is left as it is: it has no default that would take its place. */
function staysUnchangedIfOmitted(schema: Schema | undefined): boolean {
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
  const changedBy = path.length === 1 ? changer(path[0] as string) : undefined;
  return { field: path.join('.'), message: changedBy ? `is changed by ${changedBy}` : 'cannot be changed' };
}

export const unknownProblem = ({ path }: UnknownMember): FieldProblem => ({
  field: path.join('.'),
  message: UNKNOWN_FIELD,
});

/**
 * Whether a member is one that the record's GET can show, for a body that is built from what a GET returned. Such members may
 * be sent by a caller who sees only a part of the record, or nothing, and the response reveals nothing about the record's
 * values.
 */
function isOfView({ bodySourceField }: Contract, { reading }: NamedRecord, path: readonly string[]): boolean {
  const returns = reading?.contract.returns;
  if (bodySourceField === undefined || !returns || !('body' in returns)) return false;
  const part = ownMember(knownMembers(returns.body), bodySourceField);
  return [returns.body, ...(part ? [part] : [])].some((view) => canShow(view, path));
}

function canShow(view: Schema, path: readonly string[]): boolean {
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
async function readShownRecord(
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
    const query = contract.query?.parse(findIncludingQuery(contract, sent));
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
function findIncludingQuery({ query }: Contract, sent: readonly string[]): { include?: string } {
  const include = query && ownMember(knownMembers(query), 'include');
  const values = include && unwrapSchema(include)._zod.values;
  const asked = sent.find((name) => values?.has(name));
  return asked === undefined ? {} : { include: asked };
}

/** The names of members that change by themselves or with any other change: times, counters, and who made the last change. */
const VOLATILE_MEMBERS = /_at$|_count$|^version$|^updated_by/;

/**
 * Whether a member that is made from another one can have had a value before that was changed: a text that ends with the other
 * member began alike.
 */
function isEarlierValue(value: unknown, shown: unknown, source: unknown): boolean {
  if (typeof shown !== 'string') return Array.isArray(value) && Array.isArray(shown);
  return typeof value === 'string' && typeof source === 'string' && value.startsWith(shown.slice(0, -source.length));
}

/** Whether two JSON values are equal, in any order of members, ignoring the members for which `moves` returns true. */
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
