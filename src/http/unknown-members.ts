import type { z } from 'zod';
import { invalidToken } from '../access/failures.ts';
import type { PrincipalContext } from '../context.ts';
import { Failure, type FieldProblem, MAX_PROBLEMS } from '../kernel/failure.ts';
import { isRecord } from '../kernel/fields.ts';
import {
  findUnknownMembers,
  getKnownMembers,
  getOwnMember,
  UNKNOWN_FIELD_MESSAGE,
  type UnknownMember,
  unwrapSchema,
} from '../kernel/members.ts';
import type { Contract, Endpoint } from './endpoint.ts';
import { authorize } from './request-checks.ts';
import type { HandlerCall } from './versions.ts';

type Schema = z.core.$ZodType;

/** Record at the path of a write, whose body may have members that only other routes change. */
export interface PathRecord {
  /** GET that shows the record, if the surface has one. */
  versionedGet: Endpoint | undefined;
  /** Finds the route or other member that changes a member, such as `POST /v1/users/{id}/activate`; undefined if none does. */
  findChanger: (member: string) => string | undefined;
}

/** Finds the record of a write's path: what the GET of the same path shows, else that of a path above. */
export function findPathRecord(contract: Contract, endpoints: readonly Endpoint[]): PathRecord {
  const { method, path } = contract;
  const parentPaths = [...path.matchAll(/\}/g)].map(({ index }) => path.slice(0, index + 1)).toReversed();
  const [reading] = (method === 'post' ? parentPaths : [path, ...parentPaths]).flatMap((candidatePath) =>
    endpoints.filter(
      ({ contract: otherContract }) => otherContract.method === 'get' && otherContract.path === candidatePath,
    ),
  );
  const record = reading?.contract.path ?? path;
  const writeContracts = endpoints
    .map((endpoint) => endpoint.contract)
    .filter((otherContract) => isWithinRecord(otherContract.path, record));
  return {
    versionedGet: reading,
    findChanger: (member) => {
      const changingContract = writeContracts.find(
        (write) => write.alsoChanges?.includes(member) || isReplacement(write, member),
      );
      return (
        contract.changers?.[member] ??
        (changingContract && `${changingContract.method.toUpperCase()} ${changingContract.path}`)
      );
    },
  };
}

const isWithinRecord = (path: string, record: string): boolean => path === record || path.startsWith(`${record}/`);

const isReplacement = ({ method, body }: Contract, member: string): boolean =>
  (method === 'put' || method === 'patch') && body !== undefined && !!getOwnMember(getKnownMembers(body), member);

/**
 * Returns the problems of a body's members that its route does not define. Members that the GET of the path's record shows with
 * an equal value are accepted: the caller has read them and sends them back. @throws missing if the resource of the path does not
 * exist
 */
export async function findUnknownProblems(
  body: unknown,
  contract: Contract,
  record: PathRecord,
  call: Omit<HandlerCall, 'body' | 'query'>,
): Promise<FieldProblem[]> {
  const schema = contract.body as Schema;
  if (findUnknownMembers(schema, body).next().done) return [];
  const sentNames = Object.keys(Object(body));
  // Nobody is told what is wrong before it is known who asks.
  const { pendingTokenField } = contract;
  if (pendingTokenField && call.ctx.actor.kind === 'anonymous' && !sentNames.includes(pendingTokenField))
    throw invalidToken();
  const shownRecord = await readShownRecord(contract, record, call, sentNames);
  // What does not count for the version moves, but for an id: that is left out where the version is made without it.
  const isVolatile = (name: string): boolean =>
    VOLATILE_MEMBER_PATTERN.test(name) ||
    (!name.endsWith('_id') && record.versionedGet?.contract.versionDeclaration?.ignoredFields.includes(name) === true);
  const isAccepted = ({ path, value, counterpartObjects }: UnknownMember): boolean => {
    if ((shownRecord === undefined || path.length > 1) && isInView(contract, record, path)) return true;
    const name = path.at(-1) as string;
    const source = path.length === 1 ? (contract.changers?.[name] ?? '') : '';
    // A repeated request finds the record as it left it.
    const isEarlier = (counterpart: UnknownMember['counterpartObjects'][number]) =>
      sentNames.includes(source) && isEarlierValue(value, counterpart[name], counterpart[source]);
    const isShown =
      isVolatile(name) ||
      counterpartObjects.some((counterpart) => areEqualValues(value, counterpart[name], isVolatile));
    return counterpartObjects.length > 0 && (isShown || counterpartObjects.some(isEarlier));
  };
  return findUnknownMembers(schema, body, [shownRecord])
    .filter((member) => !isAccepted(member))
    .take(MAX_PROBLEMS)
    .map((member) => toProblem(member, record))
    .toArray();
}

/**
 * Returns a body without the named members that the GET of the path's record shows with the same value, or null if there are
 * none: a value that was stored by another surface or under an earlier rule may be sent back unchanged.
 */
export async function removeUnchangedMembers(
  body: unknown,
  names: readonly string[],
  contract: Contract,
  record: PathRecord,
  call: Omit<HandlerCall, 'body' | 'query'>,
): Promise<unknown> {
  const shownRecord = await readShownRecord(contract, record, call, names).catch((error: unknown) => {
    if (error instanceof Failure && error.kind === 'missing') return undefined;
    throw error;
  });
  if (!isRecord(body) || !isRecord(shownRecord)) return null;
  const declaredMembers = getKnownMembers(contract.body as Schema);
  const isUnchanged = (name: string) =>
    staysUnchangedIfOmitted(getOwnMember(declaredMembers, name)) &&
    names.includes(name) &&
    Object.hasOwn(shownRecord, name) &&
    areEqualValues(body[name], shownRecord[name], () => false);
  const members = Object.entries(body);
  const remainingMembers = members.filter(([name]) => !isUnchanged(name));
  return remainingMembers.length === members.length ? null : Object.fromEntries(remainingMembers);
}

/** Returns true if a member that is not sent stays unchanged: it has no default that would replace it. */
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

function toProblem(member: UnknownMember, { findChanger }: PathRecord): FieldProblem {
  const { path, counterpartObjects } = member;
  if (counterpartObjects.length === 0) return makeUnknownProblem(member);
  const changer = path.length === 1 ? findChanger(path[0] as string) : undefined;
  return { field: path.join('.'), message: changer ? `is changed by ${changer}` : 'cannot be changed' };
}

export const makeUnknownProblem = ({ path }: UnknownMember): FieldProblem => ({
  field: path.join('.'),
  message: UNKNOWN_FIELD_MESSAGE,
});

/**
 * Returns true if the record's GET can show the member, for a body that is built from what a GET returned. Such members may be
 * sent by a caller who sees only a part of the record, or nothing, and the response reveals nothing about the record's values.
 */
function isInView({ bodySourceField }: Contract, { versionedGet }: PathRecord, path: readonly string[]): boolean {
  const returns = versionedGet?.contract.returns;
  if (bodySourceField === undefined || !returns || !('body' in returns)) return false;
  const sourceSchema = getOwnMember(getKnownMembers(returns.body), bodySourceField);
  return [returns.body, ...(sourceSchema ? [sourceSchema] : [])].some((view) => canShowPath(view, path));
}

function canShowPath(view: Schema, path: readonly string[]): boolean {
  let at: Schema | undefined = view;
  for (const name of path) {
    if (!at) return false;
    const { def }: { def: z.core.$ZodTypes['_zod']['def'] } = unwrapSchema(at)._zod;
    at = def.type === 'array' ? def.element : getOwnMember(getKnownMembers(at), name);
  }
  return at !== undefined;
}

/**
 * Reads the record as its GET shows it to the caller; undefined if the caller may not get the record, or if a POST
 * creates something else.
 * @throws missing if the record of the path does not exist, or cannot be read now
 */
async function readShownRecord(
  { method, checkPath, bodySourceField }: Contract,
  { versionedGet }: PathRecord,
  call: Omit<HandlerCall, 'body' | 'query'>,
  sentNames: readonly string[],
): Promise<unknown> {
  const { params } = call;
  const ctx = call.ctx as PrincipalContext;
  if (method === 'post' && checkPath) await checkPath(ctx, params);
  if (!versionedGet || (method === 'post' && checkPath && bodySourceField === undefined)) return undefined;
  const { contract, handle } = versionedGet;
  try {
    // Before it is known whether the caller may: who may write to it is told whether it is there.
    const query = contract.query?.parse(findIncludingQuery(contract, sentNames));
    const json = JSON.parse(JSON.stringify(await handle({ ...call, query, body: undefined })));
    await authorize(contract, ctx, (name) => params[name]);
    if (bodySourceField !== undefined) return { ...json, ...json[bodySourceField] };
    return method === 'post' ? undefined : json;
  } catch (error) {
    const isExisting = Object.keys(params).length === 0 || Object(error).kind !== 'missing';
    if (error instanceof Failure && isExisting && error.kind !== 'unavailable') return undefined;
    throw error;
  }
}

/** Finds the query of a GET that requests members shown only on request. */
function findIncludingQuery({ query }: Contract, sentNames: readonly string[]): { include?: string } {
  const include = query && getOwnMember(getKnownMembers(query), 'include');
  const values = include && unwrapSchema(include)._zod.values;
  const requestedName = sentNames.find((name) => values?.has(name));
  return requestedName === undefined ? {} : { include: requestedName };
}

/** Pattern of members that change by themselves or with any other change: times, counters, and who made the last change. */
const VOLATILE_MEMBER_PATTERN = /_at$|_count$|^version$|^updated_by/;

/**
 * Returns true if `value` may be what a member made from another member showed before that other member changed: both values
 * are lists, or `shownValue` ends in `source`, the other member's value, and `value` begins with the text before `source`.
 */
function isEarlierValue(value: unknown, shownValue: unknown, source: unknown): boolean {
  if (typeof shownValue !== 'string') return Array.isArray(value) && Array.isArray(shownValue);
  return (
    typeof value === 'string' &&
    typeof source === 'string' &&
    shownValue.endsWith(source) &&
    value.startsWith(shownValue.slice(0, -source.length))
  );
}

/** Returns true if two JSON values are equal, in any order of members, ignoring the members that `mayDiffer` accepts. */
function areEqualValues(value: unknown, otherValue: unknown, mayDiffer: (name: string) => boolean): boolean {
  if (Array.isArray(value) && Array.isArray(otherValue))
    return (
      value.length === otherValue.length &&
      value.every((item, index) => areEqualValues(item, otherValue[index], mayDiffer))
    );
  if (!isRecord(value) || !isRecord(otherValue)) return value === otherValue;
  const names = Object.keys(value);
  return (
    names.length === Object.keys(otherValue).length &&
    names.every(
      (name) =>
        Object.hasOwn(otherValue, name) &&
        (mayDiffer(name) || areEqualValues(value[name], otherValue[name], mayDiffer)),
    )
  );
}
