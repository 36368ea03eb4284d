import { z } from 'zod';
import { declareVersion } from '../../http/endpoint.ts';
import { BASE_PATH, getMeta } from '../../http/surfaces/directory.ts';
import { computeVersion } from '../../http/versions.ts';
import { formatIsoTimestamp, timestampSchema } from '../../kernel/fields.ts';
import type { UserWithGroups } from '../users/service.ts';
import { PATH_BY_KIND, type ResourceKind, SCHEMA_BY_KIND } from './schemas.ts';
import type { DirectoryGroup, ResourcePage, Search } from './service.ts';

const text = z.string();

const makeMetaSchema = (kind: ResourceKind) =>
  z.object({
    resourceType: z.literal(kind),
    created: timestampSchema,
    lastModified: timestampSchema,
    location: z.url(),
    version: text.optional().meta({ description: 'The `ETag`. Not of a group whose members were not asked for.' }),
  });

/** Makes the schema of a resource in responses: all attributes except the id may be left out, as a request may exclude them. */
const makeResourceSchema = <Shape extends z.ZodRawShape>(kind: ResourceKind, shape: Shape) =>
  z.object({ ...z.object(shape).partial().shape, meta: makeMetaSchema(kind).partial().optional() }).extend({
    schemas: z.array(z.literal(SCHEMA_BY_KIND[kind])),
    id: text,
    externalId: text.optional().meta({ description: 'What the directory calls it.' }),
  });

const makeReferenceSchema = (type: string) =>
  z.object({ value: text, $ref: z.url(), display: text, type: z.literal(type) }).partial();

export const userView = makeResourceSchema('User', {
  userName: text,
  displayName: text,
  name: z.object({ formatted: text }).partial(),
  active: z.boolean(),
  emails: z.array(z.object({ value: text, type: z.literal('work'), primary: z.literal(true) }).partial()),
  groups: z.array(makeReferenceSchema('direct')),
}).meta({ id: 'DirectoryUser' });

export const groupView = makeResourceSchema('Group', {
  displayName: text,
  members: z.array(makeReferenceSchema('User')),
}).meta({ id: 'DirectoryGroup' });

type UserResponse = z.input<typeof userView>;
type GroupResponse = z.input<typeof groupView>;

interface WithBaseUrl {
  baseUrl: string;
}

const makeLocation = ({ baseUrl }: WithBaseUrl, kind: ResourceKind, id: string): string =>
  `${baseUrl}${BASE_PATH}${PATH_BY_KIND[kind]}/${id}`;

const makeMeta = (
  at: WithBaseUrl,
  kind: ResourceKind,
  { id, createdAt, changedAt }: { id: string; createdAt: number; changedAt: number },
) => ({
  created: formatIsoTimestamp(createdAt),
  lastModified: formatIsoTimestamp(changedAt),
  location: makeLocation(at, kind, id),
});

/** The options for a versioned resource: its `meta.version`, whatever attributes the request asks for. */
export const RESOURCE_VERSIONING = { ...declareVersion(), readVersion: (view: object) => getMeta(view).version };

const makeVersion = (view: object): Promise<string> => computeVersion(view, declareVersion());

export async function viewUser(at: WithBaseUrl, user: UserWithGroups): Promise<UserResponse> {
  const userResponse = {
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
      $ref: makeLocation(at, 'Group', id),
      display: name,
      type: 'direct' as const,
    })),
    meta: { resourceType: 'User' as const, ...makeMeta(at, 'User', { ...user, changedAt: user.updatedAt }) },
  };
  return { ...userResponse, meta: { ...userResponse.meta, version: await makeVersion(userResponse) } };
}

export async function viewGroup(at: WithBaseUrl, { group, members }: DirectoryGroup): Promise<GroupResponse> {
  const changedAt = Math.max(group.updatedAt, group.membersChangedAt ?? 0);
  const groupResponse = {
    schemas: [SCHEMA_BY_KIND.Group],
    id: group.id,
    ...(group.externalId !== null && { externalId: group.externalId }),
    displayName: group.name,
    ...(members && {
      members: members.map(({ id, name }) => ({
        value: id,
        $ref: makeLocation(at, 'User', id),
        display: name,
        type: 'User' as const,
      })),
    }),
    meta: { resourceType: 'Group' as const, ...makeMeta(at, 'Group', { ...group, changedAt }) },
  };
  return members
    ? { ...groupResponse, meta: { ...groupResponse.meta, version: await makeVersion(groupResponse) } }
    : groupResponse;
}

const LIST_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';

export const makeListSchema = <S extends z.ZodType>(record: S) =>
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
