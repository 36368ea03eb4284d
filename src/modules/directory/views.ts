import { z } from 'zod';
import type { PrincipalContext } from '../../context.ts';
import { declareVersion } from '../../http/endpoint.ts';
import { BASE_PATH, getMeta } from '../../http/surfaces/directory.ts';
import { computeVersion } from '../../http/versions.ts';
import { formatIsoTimestamp, timestampSchema } from '../../kernel/fields.ts';
import type { UserWithGroups } from '../users/service.ts';
import { type RequestedAttributes, selectAttributes } from './list-parameters.ts';
import { PATH_BY_KIND, type ResourceKind, SCHEMA_BY_KIND } from './schemas.ts';
import type { DirectoryGroup, Search } from './service.ts';

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

const makeLocation = ({ baseUrl }: PrincipalContext, kind: ResourceKind, id: string): string =>
  `${baseUrl}${BASE_PATH}${PATH_BY_KIND[kind]}/${id}`;

/** Makes a reference to a resource, of which the answer shows only the name. */
const makeReference = <Type extends string>(
  ctx: PrincipalContext,
  kind: ResourceKind,
  { id, name }: { id: string; name: string },
  type: Type,
) => ({ value: id, $ref: makeLocation(ctx, kind, id), display: name, type });

const makeMeta = <Kind extends ResourceKind>(
  ctx: PrincipalContext,
  resourceType: Kind,
  { id, createdAt }: { id: string; createdAt: number },
  changedAt: number,
) => ({
  resourceType,
  created: formatIsoTimestamp(createdAt),
  lastModified: formatIsoTimestamp(changedAt),
  location: makeLocation(ctx, resourceType, id),
});

/** The options for a versioned resource: its `meta.version`, whatever attributes the request asks for. */
export const RESOURCE_VERSIONING = { ...declareVersion(), readVersion: (view: object) => getMeta(view).version };

const makeVersion = (view: object): Promise<string> => computeVersion(view, declareVersion());

export async function viewUser(ctx: PrincipalContext, user: UserWithGroups): Promise<z.input<typeof userView>> {
  const userResponse = {
    schemas: [SCHEMA_BY_KIND.User],
    id: user.id,
    ...(user.externalId !== null && { externalId: user.externalId }),
    userName: user.email,
    displayName: user.name,
    name: { formatted: user.name },
    active: user.isActive,
    emails: [{ value: user.email, type: 'work' as const, primary: true as const }],
    groups: user.groups.map((group) => makeReference(ctx, 'Group', group, 'direct')),
    meta: makeMeta(ctx, 'User', user, user.updatedAt),
  };
  return { ...userResponse, meta: { ...userResponse.meta, version: await makeVersion(userResponse) } };
}

export async function viewGroup(
  ctx: PrincipalContext,
  { group, members }: DirectoryGroup,
): Promise<z.input<typeof groupView>> {
  const changedAt = Math.max(group.updatedAt, group.membersChangedAt ?? 0);
  const groupResponse = {
    schemas: [SCHEMA_BY_KIND.Group],
    id: group.id,
    ...(group.externalId !== null && { externalId: group.externalId }),
    displayName: group.name,
    ...(members && { members: members.map((member) => makeReference(ctx, 'User', member, 'User')) }),
    meta: makeMeta(ctx, 'Group', group, changedAt),
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

/** Makes the answer with a page of `total` resources, of which the request may ask for some attributes only. */
export const makeListResponse = <V extends object>(
  { total }: { total: number },
  { startIndex }: Pick<Search, 'startIndex'>,
  requestedAttributes: RequestedAttributes,
  resources: V[],
) => ({
  schemas: [LIST_SCHEMA] as (typeof LIST_SCHEMA)[],
  totalResults: total,
  startIndex,
  itemsPerPage: resources.length,
  Resources: resources.map((resource) => selectAttributes(resource, requestedAttributes)),
});
