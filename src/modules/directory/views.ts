import { z } from 'zod';
import { versioned } from '../../http/endpoint.ts';
import { BASE_PATH, getMeta } from '../../http/surfaces/directory.ts';
import { computeVersion } from '../../http/versions.ts';
import { isoTimestamp, timestamp } from '../../kernel/fields.ts';
import type { UserWithGroups } from '../users/service.ts';
import { PATH_BY_KIND, type ResourceKind, SCHEMA_BY_KIND } from './schemas.ts';
import type { DirectoryGroup, ResourcePage, Search } from './service.ts';

const text = z.string();

const meta = (kind: ResourceKind) =>
  z.object({
    resourceType: z.literal(kind),
    created: timestamp,
    lastModified: timestamp,
    location: z.url(),
    version: text.optional().meta({ description: 'The `ETag`. Not of a group whose members were not asked for.' }),
  });

/** The schema of a resource in answers: all attributes but the id may be left out, as a request may not ask for them. */
const resource = <Shape extends z.ZodRawShape>(kind: ResourceKind, shape: Shape) =>
  z.object({ ...z.object(shape).partial().shape, meta: meta(kind).partial().optional() }).extend({
    schemas: z.array(z.literal(SCHEMA_BY_KIND[kind])),
    id: text,
    externalId: text.optional().meta({ description: 'What the directory calls it.' }),
  });

const reference = (type: string) =>
  z.object({ value: text, $ref: z.url(), display: text, type: z.literal(type) }).partial();

export const userView = resource('User', {
  userName: text,
  displayName: text,
  name: z.object({ formatted: text }).partial(),
  active: z.boolean(),
  emails: z.array(z.object({ value: text, type: z.literal('work'), primary: z.literal(true) }).partial()),
  groups: z.array(reference('direct')),
}).meta({ id: 'DirectoryUser' });

export const groupView = resource('Group', {
  displayName: text,
  members: z.array(reference('User')),
}).meta({ id: 'DirectoryGroup' });

type UserShown = z.input<typeof userView>;
type GroupShown = z.input<typeof groupView>;

interface Addressed {
  baseUrl: string;
}

const makeAddress = ({ baseUrl }: Addressed, kind: ResourceKind, id: string): string =>
  `${baseUrl}${BASE_PATH}${PATH_BY_KIND[kind]}/${id}`;

const makeMeta = (
  at: Addressed,
  kind: ResourceKind,
  { id, createdAt, changedAt }: { id: string; createdAt: number; changedAt: number },
) => ({
  created: isoTimestamp(createdAt),
  lastModified: isoTimestamp(changedAt),
  location: makeAddress(at, kind, id),
});

/** The version of a resource: its own `meta.version`, whatever attributes the request asks for. */
export const VERSIONED = { ...versioned(), readVersion: (shown: object) => getMeta(shown).version };

const makeVersion = (shown: object): Promise<string> => computeVersion(shown, versioned());

export async function viewUser(at: Addressed, user: UserWithGroups): Promise<UserShown> {
  const shown = {
    schemas: [SCHEMA_BY_KIND.User],
    id: user.id,
    ...(user.externalId !== null && { externalId: user.externalId }),
    userName: user.email,
    displayName: user.name,
    name: { formatted: user.name },
    active: user.isActive,
    emails: [{ value: user.email, type: 'work' as const, primary: true as const }],
    groups: user.groups.map(({ id, name }) => ({
      value: id,
      $ref: makeAddress(at, 'Group', id),
      display: name,
      type: 'direct' as const,
    })),
    meta: { resourceType: 'User' as const, ...makeMeta(at, 'User', { ...user, changedAt: user.updatedAt }) },
  };
  return { ...shown, meta: { ...shown.meta, version: await makeVersion(shown) } };
}

export async function viewGroup(at: Addressed, { group, members }: DirectoryGroup): Promise<GroupShown> {
  const changedAt = Math.max(group.updatedAt, group.membersChangedAt ?? 0);
  const shown = {
    schemas: [SCHEMA_BY_KIND.Group],
    id: group.id,
    ...(group.externalId !== null && { externalId: group.externalId }),
    displayName: group.name,
    ...(members && {
      members: members.map(({ id, name }) => ({
        value: id,
        $ref: makeAddress(at, 'User', id),
        display: name,
        type: 'User' as const,
      })),
    }),
    meta: { resourceType: 'Group' as const, ...makeMeta(at, 'Group', { ...group, changedAt }) },
  };
  return members ? { ...shown, meta: { ...shown.meta, version: await makeVersion(shown) } } : shown;
}

const LIST_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';

export const listSchema = <S extends z.ZodType>(record: S) =>
  z.object({
    schemas: z.array(z.literal(LIST_SCHEMA)),
    totalResults: z.int().meta({ description: 'How many there are, on all pages.' }),
    startIndex: z.int(),
    itemsPerPage: z.int(),
    Resources: z.array(record),
  });

export const makeListResponse = <V>(
  resources: V[],
  { total }: Pick<ResourcePage<V>, 'total'>,
  { startIndex }: Pick<Search, 'startIndex'>,
) => ({
  schemas: [LIST_SCHEMA] as (typeof LIST_SCHEMA)[],
  totalResults: total,
  startIndex,
  itemsPerPage: resources.length,
  Resources: resources,
});
