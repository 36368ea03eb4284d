import { email as emailAddress, isRecord, displayNameSchema as nameOfPerson } from '../../kernel/fields.ts';
import { invalidPath, invalidSyntax, invalidValue, readOnlyAttribute, targetNotFound } from './failures.ts';
import { type Filter, FilterSyntaxError, parsePath, type TargetPath } from './grammar.ts';
import { isInSchema, type ResourceKind } from './schemas.ts';

const MAX_LENGTHS = { id: 100, externalId: 255, name: 200 };

/** The maximum number of members in one body, and of operations in a PATCH. */
const MAX_COUNTS = { members: 20_000, operations: 1000 };

/** The attributes of a user in a body. Attributes that were not sent are absent. */
export interface UserInput {
  userName?: string;
  displayName?: string;
  formatted?: string;
  givenName?: string;
  familyName?: string;
  externalId?: string | null;
  active?: boolean;
}

/** A change of a group's members; the changes of a request are applied one after the other. */
export type MemberChange =
  | { op: 'add' | 'remove' | 'replace'; ids: readonly string[] }
  | { op: 'removeWhere' | 'requireWhere'; filter: Filter };

export interface GroupInput {
  displayName?: string;
  externalId?: string | null;
  members: MemberChange[];
}

/** A body with the attributes that every user or group must have. */
export type CompleteUserInput = UserInput & { userName: string };
export type CompleteGroupInput = GroupInput & { displayName: string };

type PatchOperation = 'add' | 'replace' | 'remove';

/** What is read of a body: into `input` by `storeAttribute`, which ignores attributes that are not kept. */
interface Reader<Input> {
  kind: ResourceKind;
  input: Input;
  storeAttribute(input: Input, op: PatchOperation, path: TargetPath, value: unknown): void;
}

const createUserReader = (): Reader<UserInput> => ({ kind: 'User', input: {}, storeAttribute: storeUserAttribute });
const createGroupReader = (): Reader<GroupInput> => ({
  kind: 'Group',
  input: { members: [] },
  storeAttribute: storeGroupAttribute,
});

/** Reads the user in the body of a POST or PUT, which must have a user name. @throws invalidSyntax, invalidValue */
export function readUser(body: unknown): CompleteUserInput {
  const { userName, ...input } = readResource(createUserReader(), body);
  if (userName === undefined) throw invalidValue('userName must be sent.');
  return { ...input, userName };
}

/** Reads the changes to a user in the body of a PATCH. */
export const readUserPatch = (body: unknown): UserInput => readPatch(createUserReader(), body);

export function readGroup(body: unknown): CompleteGroupInput {
  const { displayName, ...input } = readResource(createGroupReader(), body);
  if (displayName === undefined) throw invalidValue('displayName must be sent.');
  return { ...input, displayName };
}

export const readGroupPatch = (body: unknown): GroupInput => readPatch(createGroupReader(), body);

function readResource<Input>(reader: Reader<Input>, body: unknown): Input {
  if (!isRecord(body)) throw invalidSyntax('must be a JSON object');
  storeBodyAttributes(reader, 'replace', body);
  return reader.input;
}

/** Stores the attributes of a body or of an operation's value. Names may be dotted, have a value path, or a schema as prefix. */
function storeBodyAttributes<Input>(
  { kind, input, storeAttribute }: Reader<Input>,
  op: PatchOperation,
  values: Readonly<Record<string, unknown>>,
): void {
  for (const [name, value] of Object.entries(values)) {
    const path = findPath(name);
    if (path && isInSchema(path.schema, kind) && !READ_ONLY_ATTRIBUTES.includes(path.name.toLowerCase()))
      storeAttribute(input, op, path, value);
  }
}

function readPatch<Input>(reader: Reader<Input>, body: unknown): Input {
  if (!isRecord(body)) throw invalidSyntax('must be a JSON object');
  const operations = findMember(body, 'operations');
  if (!Array.isArray(operations) || operations.length === 0) throw invalidSyntax('lacks a list of Operations');
  if (operations.length > MAX_COUNTS.operations)
    throw invalidSyntax(`has more than ${MAX_COUNTS.operations} Operations`);
  for (const operation of operations) {
    if (!isRecord(operation)) throw invalidSyntax('has an operation that is no JSON object');
    const op = String(findMember(operation, 'op')).toLowerCase();
    if (op !== 'add' && op !== 'replace' && op !== 'remove')
      throw invalidSyntax('has an operation whose op is none of add, replace and remove');
    const [path, value] = [findMember(operation, 'path'), findMember(operation, 'value')];
    if (path !== undefined && path !== null && path !== '') {
      if (typeof path !== 'string') throw invalidPath('must be a text');
      storeAtPath(reader, op, parseTargetPath(path), value);
    } else if (op === 'remove') throw targetNotFound();
    else if (isRecord(value)) storeBodyAttributes(reader, op, value);
    else throw invalidValue('An operation without a path needs an object as its value.');
  }
  return reader.input;
}

const READ_ONLY_ATTRIBUTES = ['id', 'meta', 'schemas', 'groups'];

function storeAtPath<Input>(reader: Reader<Input>, op: PatchOperation, path: TargetPath, value: unknown): void {
  const { kind, input, storeAttribute } = reader;
  // The schema itself as a path: its attributes are the value's.
  if (path.schema !== undefined && isInSchema(`${path.schema}:${path.name}${path.sub ? `.${path.sub}` : ''}`, kind)) {
    if (isRecord(value)) storeBodyAttributes(reader, op, value);
  } else if (isInSchema(path.schema, kind)) {
    if (READ_ONLY_ATTRIBUTES.includes(path.name.toLowerCase())) throw readOnlyAttribute(path.name);
    storeAttribute(input, op, path, op === 'remove' ? (value ?? null) : value);
  }
}

/** Parses the path in a text; undefined where it is not a path. */
function findPath(text: string): TargetPath | undefined {
  try {
    return parseTargetPath(text);
  } catch (error) {
    if (invalidPath.matches(error)) return undefined;
    throw error;
  }
}

/** Parses the path in a text. @throws invalidPath */
function parseTargetPath(text: string): TargetPath {
  try {
    return parsePath(text);
  } catch (error) {
    throw error instanceof FilterSyntaxError ? invalidPath(error.message) : error;
  }
}

/** Returns a member of an object by its name, ignoring case. */
function findMember(object: Readonly<Record<string, unknown>>, name: string): unknown {
  const key = Object.keys(object).find((memberKey) => memberKey.toLowerCase() === name);
  return key === undefined ? undefined : object[key];
}

function storeUserAttribute(target: UserInput, op: PatchOperation, { name, sub }: TargetPath, value: unknown): void {
  switch (name.toLowerCase()) {
    case 'username':
      if (op === 'remove') throw invalidValue('userName cannot be removed.');
      target.userName = parseEmailAddress(value);
      break;
    case 'externalid':
      target.externalId = op === 'remove' ? null : parseExternalId(value);
      break;
    case 'displayname':
      if (op !== 'remove') target.displayName = parseName('displayName', value);
      break;
    case 'active':
      if (op !== 'remove') target.active = parseBoolean(value) ?? target.active;
      break;
    case 'name':
      if (op !== 'remove') storeName(target, sub, value);
  }
}

function storeName(target: UserInput, sub: string | undefined, value: unknown): void {
  if (sub === undefined) {
    if (value === null || value === undefined) return;
    if (!isRecord(value)) throw invalidValue('name must be an object.');
    for (const [part, text] of Object.entries(value)) storeName(target, part, text);
    return;
  }
  const namePart = (['formatted', 'givenName', 'familyName'] as const).find(
    (partName) => partName.toLowerCase() === sub.toLowerCase(),
  );
  if (namePart) target[namePart] = parseName(`name.${namePart}`, value);
}

function storeGroupAttribute(
  target: GroupInput,
  op: PatchOperation,
  { name, sub, filter }: TargetPath,
  value: unknown,
): void {
  switch (name.toLowerCase()) {
    case 'displayname':
      if (op === 'remove') throw invalidValue('displayName cannot be removed.');
      target.displayName = parseName('displayName', value);
      break;
    case 'externalid':
      target.externalId = op === 'remove' ? null : parseExternalId(value);
      break;
    case 'members':
      storeMembers(target, op, { sub, filter }, value);
  }
}

function storeMembers(
  { members }: GroupInput,
  op: PatchOperation,
  { sub, filter }: Pick<TargetPath, 'sub' | 'filter'>,
  value: unknown,
) {
  if (filter && op === 'remove' && sub === undefined) members.push({ op: 'removeWhere', filter });
  if (filter && op === 'replace') members.push({ op: 'requireWhere', filter });
  // Of a member nothing can be changed but whether it is one.
  if (filter || (sub !== undefined && sub.toLowerCase() !== 'value')) return;
  if (op === 'remove' && value === null) members.push({ op: 'replace', ids: [] });
  else members.push({ op, ids: parseMemberIds(value) });
}

function parseMemberIds(value: unknown): string[] {
  const list = value === null || value === undefined ? [] : Array.isArray(value) ? value : [value];
  if (list.length > MAX_COUNTS.members)
    throw invalidValue(`members must be at most ${MAX_COUNTS.members} in one request.`);
  return list.map((element) => {
    const id = isRecord(element) ? findMember(element, 'value') : element;
    if (typeof id !== 'string' || id === '' || id.length > MAX_LENGTHS.id)
      throw invalidValue('members must have the id of a user as their value.');
    return id;
  });
}

function parseEmailAddress(value: unknown): string {
  const { data } = emailAddress.safeParse(typeof value === 'string' ? value.trim() : value);
  if (data === undefined) throw invalidValue('userName must be an email address.');
  return data;
}

/** Parses a name; undefined if it is empty. */
function parseName(field: string, value: unknown): string | undefined {
  if (value === null || value === undefined || (typeof value === 'string' && value.trim() === '')) return undefined;
  return parsePersonName(field, value);
}

function parsePersonName(field: string, value: unknown): string {
  const { data } = nameOfPerson.safeParse(value);
  if (data === undefined)
    throw invalidValue(`${field} must be a text of one line of at most ${MAX_LENGTHS.name} characters.`);
  return data;
}

function parseExternalId(value: unknown): string | null {
  if (value === null || value === undefined || value === '') return null;
  if (typeof value !== 'string' || value.length > MAX_LENGTHS.externalId)
    throw invalidValue(`externalId must be a text of at most ${MAX_LENGTHS.externalId} characters.`);
  return value;
}

/** Parses a boolean, also from a text, as Entra sends it. */
function parseBoolean(value: unknown): boolean | undefined {
  if (value === null || value === undefined) return undefined;
  const text = typeof value === 'string' ? value.toLowerCase() : value;
  if (text === true || text === 'true') return true;
  if (text === false || text === 'false') return false;
  throw invalidValue('active must be true or false.');
}

type NameSource = 'displayName' | 'formatted' | 'parts';

const NAME_STRENGTHS: Record<NameSource, number> = { parts: 0, formatted: 1, displayName: 2 };

/**
 * Returns the name of a user in the console and what it is taken from: the display name, else the whole name, else given and
 * family name; undefined if none is sent, or the current name is from one before it.
 */
export function chooseName(
  input: UserInput,
  current: { name: string; nameSource?: NameSource | null } = { name: '' },
): { name: string; nameSource: NameSource } | undefined {
  const { displayName, formatted } = input;
  const nameSource = displayName !== undefined ? 'displayName' : formatted !== undefined ? 'formatted' : 'parts';
  if (current.nameSource && NAME_STRENGTHS[nameSource] < NAME_STRENGTHS[current.nameSource]) return undefined;
  const name = displayName ?? formatted ?? joinName(input, current.name);
  return name === undefined ? undefined : { name, nameSource };
}

/** Joins given and family name. If only one of these is sent, the other is taken from the current name. */
function joinName({ givenName, familyName }: UserInput, currentName: string): string | undefined {
  if (givenName !== undefined && familyName !== undefined) return parsePersonName('name', `${givenName} ${familyName}`);
  const [first = '', ...rest] = currentName.split(' ');
  if (givenName !== undefined) {
    if (currentName === givenName || currentName.startsWith(`${givenName} `)) return currentName;
    return parsePersonName('name', [givenName, ...rest].join(' '));
  }
  if (familyName === undefined) return undefined;
  if (currentName === familyName || currentName.endsWith(` ${familyName}`)) return currentName;
  return parsePersonName('name', `${first} ${familyName}`.trim());
}
