import type { Action } from '../../src/permissions/actions.ts';
import { ENDPOINTS_PATH } from '../data-api/support.ts';
import {
  createConcept,
  createItem,
  createNode,
  createRelation,
  KNOWLEDGE_PATH,
  makeName,
} from '../knowledge/support.ts';
import { column, createTable } from '../managed-tables/support.ts';
import type { ApiResponse, Caller } from '../support/api.ts';
import { createConsoleGroup, createPermission, makeGroupInput, makePolicyInput } from '../support/console.ts';
import { must } from '../support/signed.ts';
import { aUser, type Company } from '../support/worlds.ts';
import { aDashboard, aVisualization, DASHBOARDS_PATH, VISUALIZATIONS_PATH } from '../visualizations/support.ts';
import { type AccessPath, type AccessTarget, makeResourceArn } from './ways/way.ts';

/** A write, made by somebody who may write but not get. */
interface Write {
  can: Action;
  make(company: Company): Promise<(as: Caller) => Promise<ApiResponse>>;
  signed?: true;
  /** Of a change: its answer as a way to what is changed. */
  answer?: AccessPath;
}

const makeCreation = (can: Action, path: string, json: (company: Company) => object | Promise<object>): Write => ({
  can,
  make: async (company) => {
    const body = await json(company);
    return (as) => as.post(path, { json: body as Record<string, unknown> });
  },
});

/** What is changed, and the actions that change it and get it. */
interface Change {
  thing: string;
  can: Action;
  gets: Action;
  method: 'put' | 'patch';
  path: string;
  signed?: true;
  /** @returns its id; and its ARN, where that is not made of the id */
  made(company: Company): Promise<string | { id: string; arn: string }>;
  json: Record<string, unknown>;
}

function makeChange({ thing, can, gets, method, path, signed, made, json }: Change): Write {
  const reach = async (company: Company): Promise<AccessTarget> => {
    const found = await made(company);
    const { id, arn } = typeof found === 'string' ? { id: found, arn: makeResourceArn(company, thing, found) } : found;
    return { arn, ask: (as) => as[method](path.replace('{id}', id), { json }) };
  };
  const signs = signed && { signed };
  const answer: AccessPath = {
    thing,
    way: 'told by the answer of a change',
    routes: [`${method.toUpperCase()} ${path}`],
    besides: [can],
    needs: [gets],
    denied: [gets],
    make: reach,
    // Its id alone tells nothing.
    reached: ({ status, body }) => status === 200 && Object.keys(body).length > 1,
    ...signs,
  };
  return { can, make: async (company) => (await reach(company)).ask, answer, ...signs };
}

const newResourceFields = (what: string) => () => ({ name: makeName(what), description: 'Text.' });
const makeTableName = () => makeName('written').replace(' ', '_');
const createGroup = async (company: Company): Promise<string> => (await createConsoleGroup(company))._id;
const changed = { description: 'Changed by a test.' };

export const WRITES: Record<string, Write> = {
  'POST dashboards': makeCreation('dashboards:create', DASHBOARDS_PATH, newResourceFields('Dashboard')),
  'PUT dashboards': makeChange({
    thing: 'dashboard',
    can: 'dashboards:update',
    gets: 'dashboards:get',
    method: 'put',
    path: `${DASHBOARDS_PATH}/{id}`,
    made: async ({ as }) => (await aDashboard(as, [await aVisualization(as, 'SELECT 1')]))._id,
    json: changed,
  }),
  'POST visualizations': makeCreation('visualizations:create', VISUALIZATIONS_PATH, () => ({
    name: makeName('Visualization'),
    sql: 'SELECT 1',
    chart: { type: 'table' },
  })),
  'PUT visualizations': makeChange({
    thing: 'visualization',
    can: 'visualizations:update',
    gets: 'visualizations:get',
    method: 'put',
    path: `${VISUALIZATIONS_PATH}/{id}`,
    made: async ({ as }) => (await aVisualization(as, 'SELECT 1'))._id,
    json: changed,
  }),
  'PUT endpoints': makeChange({
    thing: 'endpoint',
    can: 'viz_api_endpoints:update',
    gets: 'viz_api_endpoints:get',
    method: 'put',
    path: `${ENDPOINTS_PATH}/{id}`,
    async made({ as }) {
      const { _id } = await aVisualization(as, 'SELECT 1');
      const json = { name: 'Published', slug: `written-${_id}`, visualization_id: _id };
      return (await must(as.post(ENDPOINTS_PATH, { json })))._id;
    },
    json: changed,
  }),
  'POST tables': makeCreation('managed-tables:create', '/v1/managed-tables', () => ({
    display_name: makeTableName(),
    columns: [column('n', 'integer')],
  })),
  'PUT tables': makeChange({
    thing: 'table',
    can: 'managed-tables:update',
    gets: 'managed-tables:list',
    method: 'put',
    path: '/v1/managed-tables/{id}',
    made: ({ as }) => createTable(as, makeTableName(), [column('n', 'integer')]),
    json: { columns: [column('n', 'integer'), column('m', 'integer')] },
  }),
  'PUT users': makeChange({
    thing: 'user',
    can: 'users:update',
    gets: 'users:get',
    method: 'put',
    path: '/v1/users/{id}',
    made: async (company) => (await aUser(company)).id,
    json: { name: 'Changed' },
  }),
  'POST groups': makeCreation('groups:create', '/v1/groups', () => makeGroupInput()),
  'PUT groups': makeChange({
    thing: 'group',
    can: 'groups:update',
    gets: 'groups:get',
    method: 'put',
    path: '/v1/groups/{id}',
    made: createGroup,
    json: changed,
  }),
  'POST service accounts': makeCreation(
    'users:create_integration_user',
    '/v1/service-accounts',
    newResourceFields('Robot'),
  ),
  'PUT service accounts': makeChange({
    thing: 'service account on the console',
    can: 'users:create_integration_user',
    gets: 'users:list_integration_users',
    method: 'put',
    path: '/v1/service-accounts/{id}',
    made: async ({ as }) => (await must(as.post('/v1/service-accounts', { json: newResourceFields('Robot')() })))._id,
    json: changed,
  }),
  'PUT permissions': makeChange({
    thing: 'permission',
    can: 'permissions:update',
    gets: 'permissions:get',
    method: 'put',
    path: '/v1/permissions/{id}',
    made: (company) => createPermission(company, { actions: ['read'] }),
    json: changed,
  }),
  'PUT policies': makeChange({
    thing: 'policy',
    can: 'policies:update',
    gets: 'policies:get',
    method: 'put',
    path: '/v1/policies/{id}',
    async made({ as }) {
      const statements = [{ effect: 'Allow' as const, actions: ['users:list'], resources: ['*'] }];
      const { _id, arn } = await must(as.post('/v1/policies', { json: makePolicyInput(statements) }));
      return { id: _id, arn };
    },
    json: changed,
  }),
  'POST an invitation': makeCreation('users:invite', '/v1/users/invite', () => ({
    email: `${makeName('invited').replace(' ', '-')}@written.test`,
    group_ids: [],
  })),
  'POST concepts': makeCreation('concepts:create', `${KNOWLEDGE_PATH}/concepts`, () => ({
    ...newResourceFields('Concept')(),
    type: 'term',
  })),
  'PATCH concepts': makeChange({
    thing: 'concept',
    can: 'concepts:update',
    gets: 'concepts:get',
    method: 'patch',
    path: `${KNOWLEDGE_PATH}/concepts/{id}`,
    made: ({ as }) => createConcept(as),
    json: changed,
  }),
  'POST items': makeCreation('semantic:create', `${KNOWLEDGE_PATH}/semantic`, () => ({
    ...newResourceFields('Item')(),
    kind: 'mapping',
  })),
  'PATCH items': makeChange({
    thing: 'item',
    can: 'semantic:update',
    gets: 'semantic:list',
    method: 'patch',
    path: `${KNOWLEDGE_PATH}/semantic/{id}`,
    made: ({ as }) => createItem(as),
    json: changed,
  }),
  'PATCH nodes': makeChange({
    thing: 'node',
    can: 'ontology:update',
    gets: 'ontology:list',
    method: 'patch',
    path: `${KNOWLEDGE_PATH}/ontology/nodes/{id}`,
    made: ({ as }) => createNode(as),
    json: changed,
  }),
  'PATCH relations': makeChange({
    thing: 'relation',
    can: 'ontology:update',
    gets: 'ontology:list',
    method: 'patch',
    path: `${KNOWLEDGE_PATH}/ontology/relations/{id}`,
    made: async ({ as }) => createRelation(as, await createNode(as), 'has', await createNode(as)),
    json: changed,
  }),
  'POST accounts': {
    ...makeCreation('accounts:CreateAccount', '/accounts', () => ({ name: makeName('Account') })),
    signed: true,
  },
  'PATCH groups': makeChange({
    thing: 'group',
    can: 'groups:UpdateGroup',
    gets: 'groups:GetGroup',
    method: 'patch',
    path: '/groups/{id}',
    signed: true,
    made: createGroup,
    json: changed,
  }),
};

/** The answers of changes, as ways to what is changed. */
export const WRITE_RESPONSE_PATHS: AccessPath[] = Object.values(WRITES).flatMap(({ answer }) => answer ?? []);
