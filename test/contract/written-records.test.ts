import { beforeAll, describe, expect, it } from 'vitest';
import { ZodObject } from 'zod';
import { SURFACES } from '../../src/app.ts';
import type { Contract } from '../../src/http/endpoint.ts';
import { readersOf } from '../../src/http/written-records.ts';
import { ENDPOINTS } from '../data-api/support.ts';
import { aConcept, aName, aNode, anItem, aRelation, PREFIX } from '../knowledge/support.ts';
import { aTable, column } from '../managed-tables/support.ts';
import type { Answer, Caller } from '../support/api.ts';
import { aConsoleGroup, aPermission, groupInput, permissionInput, policyInput } from '../support/console.ts';
import { allow, aServiceAccountThat, must } from '../support/signed.ts';
import { aProvisionedCompany, aUser, type Company } from '../support/worlds.ts';
import { aDashboard, aVisualization, DASHBOARDS, VISUALIZATIONS } from '../visualizations/support.ts';

/** Writes that answer a record which no GET of one shows, or whose service asks the same of who writes and who reads. */
const OTHERS = new Set([
  'POST /groups/{id}/bindings',
  'POST /service-accounts/{id}/keys',
  'POST /api/v1/dashboards/{id}/shares',
  'PUT /api/v1/dashboard-shares/{shareId}',
  'POST /api/v1/share-contexts',
  'PUT /api/v1/share-contexts/{id}',
  'PUT /api/v1/share-contexts/{id}/grants',
  'POST /api/v1/share-contexts/{id}/members',
  'POST /api/v1/embed/dashboards/{id}',
  'POST /api/v1/embed/visualizations/{id}',
  'POST /api/v1/embed/signing-keys',
  'POST /v1/schedules',
  'PUT /v1/schedules/{id}',
  'POST /v1/managed-tables/{id}/indexes',
  ...['concepts/{id}/generate', 'concepts/{id}/promote-semantic', 'concepts/{id}/promote-ontology'].map(
    (path) => `POST ${PREFIX}/suggestions/${path}`,
  ),
  ...['semantic/{id}/generate', 'ontology/nodes/{id}/generate', 'ontology/relations/{id}/generate', '{id}/reject'].map(
    (path) => `POST ${PREFIX}/suggestions/${path}`,
  ),
]);

const nameOf = ({ method, path }: Contract) => `${method.toUpperCase()} ${path}`;

/** A write, made by somebody who may write but not get. */
interface Write {
  can: string;
  make(company: Company): Promise<(as: Caller) => Promise<Answer>>;
  signed?: true;
}

const creates = (can: string, path: string, json: (company: Company) => object | Promise<object>): Write => ({
  can,
  make: async (company) => {
    const body = await json(company);
    return (as) => as.post(path, { json: body as Record<string, unknown> });
  },
});
const changes = (
  can: string,
  method: 'put' | 'patch',
  path: string,
  made: (company: Company) => Promise<string>,
  json: Record<string, unknown>,
): Write => ({
  can,
  make: async (company) => {
    const at = path.replace('{id}', await made(company));
    return (as) => as[method](at, { json });
  },
});
const concept = ({ as }: Company) => aConcept(as);
const node = ({ as }: Company) => aNode(as);
const named = (what: string) => () => ({ name: aName(what), description: 'Text.' });

const WRITES: Record<string, Write> = {
  'POST dashboards': creates('dashboards:create', DASHBOARDS, named('Dashboard')),
  'PUT dashboards': changes(
    'dashboards:update',
    'put',
    `${DASHBOARDS}/{id}`,
    async ({ as }) => (await aDashboard(as, [await aVisualization(as, 'SELECT 1')]))._id,
    { description: 'Changed by a test.' },
  ),
  'POST visualizations': creates('visualizations:create', VISUALIZATIONS, () => ({
    name: aName('Visualization'),
    sql: 'SELECT 1',
    chart: { type: 'table' },
  })),
  'PUT visualizations': changes(
    'visualizations:update',
    'put',
    `${VISUALIZATIONS}/{id}`,
    async ({ as }) => (await aVisualization(as, 'SELECT 1'))._id,
    { description: 'Changed by a test.' },
  ),
  'PUT endpoints': changes(
    'viz_api_endpoints:update',
    'put',
    `${ENDPOINTS}/{id}`,
    async ({ as }) => {
      const { _id } = await aVisualization(as, 'SELECT 1');
      const json = { name: 'Published', slug: `written-${_id}`, visualization_id: _id };
      return (await must(as.post(ENDPOINTS, { json })))._id;
    },
    { description: 'Changed by a test.' },
  ),
  'POST tables': creates('managed-tables:create', '/v1/managed-tables', () => ({
    display_name: aName('written').replace(' ', '_'),
    columns: [column('n', 'integer')],
  })),
  'PUT tables': changes(
    'managed-tables:update',
    'put',
    '/v1/managed-tables/{id}',
    ({ as }) => aTable(as, aName('written').replace(' ', '_'), [column('n', 'integer')]),
    { columns: [column('n', 'integer'), column('m', 'integer')] },
  ),
  'POST groups': creates('groups:create', '/v1/groups', () => groupInput()),
  'PUT groups': changes(
    'groups:update',
    'put',
    '/v1/groups/{id}',
    async (company) => (await aConsoleGroup(company))._id,
    { description: 'Changed by a test.' },
  ),
  'PUT permissions': changes(
    'permissions:update',
    'put',
    '/v1/permissions/{id}',
    (company) => aPermission(company, { actions: ['read'] }),
    { description: 'Changed by a test.' },
  ),
  'PUT policies': changes(
    'policies:update',
    'put',
    '/v1/policies/{id}',
    async ({ as }) => (await must(as.post('/v1/policies', { json: policyInput([allow('users:list')]) })))._id,
    { description: 'Changed by a test.' },
  ),
  'POST an invitation': creates('users:invite', '/v1/users/invite', () => ({
    email: `${aName('invited').replace(' ', '-')}@written.test`,
    name: 'Ines',
    group_ids: [],
  })),
  'POST concepts': creates('concepts:create', `${PREFIX}/concepts`, () => ({
    ...named('Concept')(),
    type: 'term',
  })),
  'PATCH concepts': changes('concepts:update', 'patch', `${PREFIX}/concepts/{id}`, concept, { description: 'New.' }),
  'POST items': creates('semantic:create', `${PREFIX}/semantic`, () => ({ ...named('Item')(), kind: 'mapping' })),
  'PATCH items': changes('semantic:update', 'patch', `${PREFIX}/semantic/{id}`, ({ as }) => anItem(as), {
    description: 'New.',
  }),
  'PATCH nodes': changes('ontology:update', 'patch', `${PREFIX}/ontology/nodes/{id}`, node, { description: 'New.' }),
  'PATCH relations': changes(
    'ontology:update',
    'patch',
    `${PREFIX}/ontology/relations/{id}`,
    async (company) => aRelation(company.as, await node(company), 'has', await node(company)),
    { description: 'New.' },
  ),
  'POST accounts': {
    ...creates('accounts:CreateAccount', '/accounts', () => ({ name: aName('Account') })),
    signed: true,
  },
  'PATCH groups': {
    ...changes('groups:UpdateGroup', 'patch', '/groups/{id}', async (company) => (await aConsoleGroup(company))._id, {
      description: 'Changed by a test.',
    }),
    signed: true,
  },
};

let company: Company;
beforeAll(async () => {
  company = await aProvisionedCompany();
});

describe('a write that answers a record', () => {
  it('is answered its id alone by who may not get it, whichever route it is', () => {
    const missing = SURFACES.flatMap(({ endpoints }) =>
      endpoints
        .map(({ contract }) => contract)
        .filter(({ method, returns, access }) => {
          const shape = 'body' in returns && returns.body instanceof ZodObject ? returns.body.shape : {};
          const isPublic = typeof access === 'string' && ['public', 'operator'].includes(access);
          return method !== 'get' && !isPublic && ('_id' in shape || 'id' in shape);
        })
        .filter((contract) => readersOf(contract, endpoints).length === 0),
    ).map(nameOf);
    expect(missing.filter((name) => !OTHERS.has(name))).toEqual([]);
    expect([...OTHERS].filter((name) => !missing.includes(name))).toEqual([]);
  });

  it.each(Object.entries(WRITES))('%s answers the id alone to who may not get it', async (_, { can, make, signed }) => {
    const write = await make(company);
    const as = signed
      ? (await aServiceAccountThat(company, allow(can as never))).as
      : (await aUser(company, { can: [can] })).as;
    const { status, body } = await write(as);
    expect([200, 201]).toContain(status);
    expect(Object.keys(body)).toEqual([signed ? 'id' : '_id']);
  });

  it('answers the record to who may get it', async () => {
    const json = permissionInput(company);
    const can = ['permissions:*'];
    const { as } = await aUser(company, { can });
    const id = await aPermission(company);
    expect((await must(as.put(`/v1/permissions/${id}`, { json: { description: 'Mine by a test.' } }))).name).toBe(
      json.name,
    );
  });
});
