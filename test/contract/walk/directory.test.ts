import { createDirectory } from '../../directory/support.ts';
import { createOwnedCompany } from '../../support/companies.ts';
import { walkRoutes } from '../walk.ts';

const CORE_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0';
const MESSAGE_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0';

const user = { id: 'user' };
const group = { id: 'group' };
const makeSearch = (filter: string) => ({
  schemas: [`${MESSAGE_SCHEMA}:SearchRequest`],
  filter,
  startIndex: 1,
  count: 10,
});
const makePatch = (...operations: object[]) => ({ schemas: [`${MESSAGE_SCHEMA}:PatchOp`], Operations: operations });
const USER_INPUT = {
  schemas: [`${CORE_SCHEMA}:User`],
  externalId: '00u1a2b3c4',
  userName: 'ana@acme.test',
  displayName: 'Ana Souza',
  name: { givenName: 'Ana', familyName: 'Souza' },
  active: true,
};

walkRoutes(
  ['SCIM 2.0'],
  'directory',
  async () => {
    const company = await createOwnedCompany({ slug: 'acme' });
    return {
      company,
      callers: { directory: await createDirectory(company) },
      storedValues: { kind: 'User', urn: `${CORE_SCHEMA}:User` },
    };
  },
  [
    { route: 'GET /scim/v2/ServiceProviderConfig' },
    { route: 'GET /scim/v2/ResourceTypes' },
    { route: 'GET /scim/v2/ResourceTypes/{name}', params: { name: 'kind' }, strangerStatus: 'never' },
    { route: 'GET /scim/v2/Schemas' },
    { route: 'GET /scim/v2/Schemas/{urn}', params: { urn: 'urn' }, strangerStatus: 'never' },
    { route: 'POST /scim/v2/Users', json: () => USER_INPUT, getStoredValues: ({ id }) => ({ user: id }) },
    { route: 'GET /scim/v2/Users', query: () => ({ filter: 'userName eq "ana@acme.test"' }) },
    { route: 'POST /scim/v2/Users/.search', json: () => makeSearch('externalId eq "00u1a2b3c4"') },
    { route: 'GET /scim/v2/Users/{id}', params: user },
    { route: 'PUT /scim/v2/Users/{id}', params: user, json: () => ({ ...USER_INPUT, displayName: 'Ana Lima' }) },
    {
      route: 'PATCH /scim/v2/Users/{id}',
      params: user,
      json: () => makePatch({ op: 'replace', path: 'active', value: false }),
    },
    {
      route: 'POST /scim/v2/Groups',
      json: ({ user: value }) => ({ schemas: [`${CORE_SCHEMA}:Group`], displayName: 'Analysts', members: [{ value }] }),
      getStoredValues: ({ id }) => ({ group: id }),
    },
    { route: 'GET /scim/v2/Groups', query: () => ({ filter: 'displayName eq "Analysts"' }) },
    { route: 'POST /scim/v2/Groups/.search', json: () => makeSearch('displayName sw "Ana"') },
    { route: 'POST /scim/v2/.search', json: () => makeSearch('displayName sw "Ana"') },
    { route: 'GET /scim/v2/Groups/{id}', params: group },
    {
      route: 'PUT /scim/v2/Groups/{id}',
      params: group,
      json: ({ user: value }) => ({
        schemas: [`${CORE_SCHEMA}:Group`],
        displayName: 'Data analysts',
        members: [{ value }],
      }),
    },
    {
      route: 'PATCH /scim/v2/Groups/{id}',
      params: group,
      json: ({ user: value }) => makePatch({ op: 'remove', path: `members[value eq "${value}"]` }),
    },
    { route: 'DELETE /scim/v2/Groups/{id}', params: group },
    { route: 'DELETE /scim/v2/Users/{id}', params: user },
  ],
);
