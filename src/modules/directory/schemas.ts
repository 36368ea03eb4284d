export type ResourceKind = 'User' | 'Group';

export const SCHEMA_BY_KIND = {
  User: 'urn:ietf:params:scim:schemas:core:2.0:User',
  Group: 'urn:ietf:params:scim:schemas:core:2.0:Group',
} as const satisfies Record<ResourceKind, string>;

const ENTERPRISE_SCHEMA = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';

/** The path of the resources of a kind, below the SCIM base path. */
export const PATH_BY_KIND = { User: '/Users', Group: '/Groups' } as const satisfies Record<ResourceKind, string>;

/**
 * Attributes of RFC 7643, in lower case, that directories send and this API does not store. Entra ID filters by `manager` without
 * the URN of its schema.
 */
const UNSTORED_ATTRIBUTES = {
  User: 'nickname profileurl title usertype preferredlanguage locale timezone password phonenumbers ims photos addresses entitlements roles x509certificates manager',
  Group: '',
  enterprise: 'employeenumber costcenter organization division department manager',
};

const includesName = (names: string, name: string): boolean => names.split(' ').includes(name);

/** Tells whether a schema is the one of this kind of resource; undefined counts as that one. */
export const isInSchema = (schema: string | undefined, kind: ResourceKind): boolean =>
  schema === undefined || schema.toLowerCase() === SCHEMA_BY_KIND[kind].toLowerCase();

/** Tells whether an attribute is one of the RFC that this API does not store. @param name in lower case */
export const isUnstoredAttribute = (kind: ResourceKind, schema: string | undefined, name: string): boolean =>
  isInSchema(schema, kind)
    ? includesName(UNSTORED_ATTRIBUTES[kind], name)
    : kind === 'User' &&
      schema?.toLowerCase() === ENTERPRISE_SCHEMA.toLowerCase() &&
      includesName(UNSTORED_ATTRIBUTES.enterprise, name);

/** The description of an attribute according to RFC 7643, section 7. */
interface AttributeDescription {
  name: string;
  type: 'string' | 'boolean' | 'dateTime' | 'reference' | 'complex';
  multiValued: boolean;
  description: string;
  required: boolean;
  caseExact: boolean;
  mutability: 'readOnly' | 'readWrite' | 'immutable';
  returned: 'always' | 'default';
  uniqueness: 'none' | 'server';
  canonicalValues?: string[];
  referenceTypes?: string[];
  subAttributes?: AttributeDescription[];
}

const describeAttribute = (
  name: string,
  description: string,
  overrides: Partial<AttributeDescription> = {},
): AttributeDescription => ({
  name,
  type: 'string',
  multiValued: false,
  description,
  required: false,
  caseExact: false,
  mutability: 'readWrite',
  returned: 'default',
  uniqueness: 'none',
  ...overrides,
});

const READ_ONLY_ATTRIBUTE = { mutability: 'readOnly' } as const;
const IMMUTABLE_ATTRIBUTE = { mutability: 'immutable' } as const;
const describeReference = (to: ResourceKind, description: string, overrides: Partial<AttributeDescription>) =>
  describeAttribute('$ref', description, { type: 'reference', caseExact: true, referenceTypes: [to], ...overrides });

const EXTERNAL_ID_ATTRIBUTE = describeAttribute(
  'externalId',
  'What the directory calls it. No two of the company have the same.',
  {
    caseExact: true,
    uniqueness: 'server',
  },
);

/** The schemas of users and groups, with the stored attributes, as `/Schemas` returns them. */
export const SCHEMAS = [
  {
    id: SCHEMA_BY_KIND.User,
    name: 'User',
    description: 'A person who can sign in. Other attributes of RFC 7643 are taken and not kept.',
    attributes: [
      describeAttribute('userName', 'The email address.', { required: true, uniqueness: 'server' }),
      EXTERNAL_ID_ATTRIBUTE,
      describeAttribute('displayName', 'The name. What is sent as `name` is it where this is not sent.'),
      describeAttribute('name', 'The name, again.', {
        type: 'complex',
        subAttributes: [
          describeAttribute('formatted', 'The whole name.'),
          describeAttribute('givenName', 'Taken as a part of the name where the whole is not sent; not shown.'),
          describeAttribute('familyName', 'Taken as a part of the name where the whole is not sent; not shown.'),
        ],
      }),
      describeAttribute('active', 'Whether the person can sign in. False ends all sessions.', { type: 'boolean' }),
      describeAttribute('emails', 'Always the user name alone.', {
        type: 'complex',
        multiValued: true,
        ...READ_ONLY_ATTRIBUTE,
        subAttributes: [
          describeAttribute('value', 'The email address.', READ_ONLY_ATTRIBUTE),
          describeAttribute('type', 'Always `work`.', { ...READ_ONLY_ATTRIBUTE, canonicalValues: ['work'] }),
          describeAttribute('primary', 'Always true.', { type: 'boolean', ...READ_ONLY_ATTRIBUTE }),
        ],
      }),
      describeAttribute('groups', 'The groups that the person is in.', {
        type: 'complex',
        multiValued: true,
        ...READ_ONLY_ATTRIBUTE,
        subAttributes: [
          describeAttribute('value', 'The id of the group.', { caseExact: true, ...READ_ONLY_ATTRIBUTE }),
          describeReference('Group', 'The address of the group.', READ_ONLY_ATTRIBUTE),
          describeAttribute('display', 'The name of the group.', READ_ONLY_ATTRIBUTE),
          describeAttribute('type', 'Always `direct`.', { ...READ_ONLY_ATTRIBUTE, canonicalValues: ['direct'] }),
        ],
      }),
    ],
  },
  {
    id: SCHEMA_BY_KIND.Group,
    name: 'Group',
    description: 'A group of users. Those that every company is born with cannot be changed here.',
    attributes: [
      describeAttribute('displayName', 'The name.', { required: true, uniqueness: 'server' }),
      EXTERNAL_ID_ATTRIBUTE,
      describeAttribute('members', 'The users who are in the group on the console.', {
        type: 'complex',
        multiValued: true,
        subAttributes: [
          describeAttribute('value', 'The id of the user.', { caseExact: true, ...IMMUTABLE_ATTRIBUTE }),
          describeReference('User', 'The address of the user.', IMMUTABLE_ATTRIBUTE),
          describeAttribute('display', 'The name of the user.', READ_ONLY_ATTRIBUTE),
          describeAttribute('type', 'Always `User`.', { ...IMMUTABLE_ATTRIBUTE, canonicalValues: ['User'] }),
        ],
      }),
    ],
  },
] as const;

export const RESOURCE_TYPES = (['User', 'Group'] as const).map((kind) => ({
  id: kind,
  name: kind,
  endpoint: PATH_BY_KIND[kind],
  description: SCHEMAS.find(({ id }) => id === SCHEMA_BY_KIND[kind])?.description as string,
  schema: SCHEMA_BY_KIND[kind],
}));

/** The maximum number of resources in one response. */
export const MAX_RESULTS = 1000;

/** The capabilities of the API, as `/ServiceProviderConfig` returns them. */
export const PROVIDER_CONFIGURATION = {
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: MAX_RESULTS },
  changePassword: { supported: false },
  sort: { supported: true },
  etag: { supported: true },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'API key or service token',
      description:
        'An API key of a service account with its secret, `Bearer sa_…:SECRET`, which lasts until it is revoked; or a service token, which lasts minutes.',
      primary: true,
    },
  ],
} as const;
