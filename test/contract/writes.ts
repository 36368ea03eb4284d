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
import { createTable, makeColumn } from '../managed-tables/support.ts';
import type { ApiResponse, Caller } from '../support/api.ts';
import { type Company, createAllowedUser } from '../support/companies.ts';
import { createConsoleGroup, createPermission, makeGroupInput, makePolicyInput } from '../support/console.ts';
import { expectSuccess } from '../support/signed.ts';
import { DASHBOARDS_PATH, postDashboard, postVisualization, VISUALIZATIONS_PATH } from '../visualizations/support.ts';
import { type AccessPath, type AccessTarget, makeResourceArn } from './access-paths/access-path.ts';

/** A write by a caller who may write a record but not read it. */
interface WriteCase {
  writeAction: Action;
  createRequest(company: Company): Promise<(as: Caller) => Promise<ApiResponse>>;
  isSigned?: true;
  /** For a change: its response, as an access path to the changed record. */
  answerPath?: AccessPath;
}

const makeCreation = (
  writeAction: Action,
  path: string,
  makeBody: (company: Company) => object | Promise<object>,
): WriteCase => ({
  writeAction,
  createRequest: async (company) => {
    const body = await makeBody(company);
    return (as) => as.post(path, { json: body as Record<string, unknown> });
  },
});

/**
 * Makes a change of a resource. @param change the method and path of the change @param createResource creates the resource to
 * change, and returns its id, and its ARN where that does not contain the id
 */
function makeChange(
  resourceKind: string,
  writeAction: Action,
  readAction: Action,
  change: `${'PUT' | 'PATCH'} ${string}`,
  createResource: (company: Company) => Promise<string | { id: string; arn: string }>,
  json: Record<string, unknown> = { description: 'Changed by a test.' },
): WriteCase {
  const [method, path = ''] = change.split(' ');
  const createTarget = async (company: Company): Promise<AccessTarget> => {
    const created = await createResource(company);
    const { id, arn } =
      typeof created === 'string' ? { id: created, arn: makeResourceArn(company, resourceKind, created) } : created;
    return { arn, ask: (as) => as[method === 'PUT' ? 'put' : 'patch'](path.replace('{id}', id), { json }) };
  };
  const signedOption = path.startsWith('/groups/') ? ({ isSigned: true } as const) : {};
  const accessPath: AccessPath = {
    resourceTitle: resourceKind,
    description: 'told by the answer of a change',
    routes: [change],
    extraActions: [writeAction],
    neededActions: [readAction],
    closingActions: [readAction],
    createTarget,
    // Its id alone tells nothing.
    isReachedBy: ({ status, body }) => status === 200 && Object.keys(body).length > 1,
    ...signedOption,
  };
  return {
    writeAction,
    createRequest: async (company) => (await createTarget(company)).ask,
    answerPath: accessPath,
    ...signedOption,
  };
}

const makeFieldsCreator = (namePrefix: string) => () => ({ name: makeName(namePrefix), description: 'Text.' });
const makeTableName = () => makeName('written').replace(' ', '_');
const createGroup = async (company: Company): Promise<string> => (await createConsoleGroup(company))._id;

export const WRITES: Record<string, WriteCase> = {
  'POST dashboards': makeCreation('dashboards:create', DASHBOARDS_PATH, makeFieldsCreator('Dashboard')),
  'PUT dashboards': makeChange(
    'dashboard',
    'dashboards:update',
    'dashboards:get',
    `PUT ${DASHBOARDS_PATH}/{id}`,
    async ({ as }) => (await postDashboard(as, [await postVisualization(as, 'SELECT 1')]))._id,
  ),
  'POST visualizations': makeCreation('visualizations:create', VISUALIZATIONS_PATH, () => ({
    name: makeName('Visualization'),
    sql: 'SELECT 1',
    chart: { type: 'table' },
  })),
  'PUT visualizations': makeChange(
    'visualization',
    'visualizations:update',
    'visualizations:get',
    `PUT ${VISUALIZATIONS_PATH}/{id}`,
    async ({ as }) => (await postVisualization(as, 'SELECT 1'))._id,
  ),
  'PUT endpoints': makeChange(
    'endpoint',
    'viz_api_endpoints:update',
    'viz_api_endpoints:get',
    `PUT ${ENDPOINTS_PATH}/{id}`,
    async ({ as }) => {
      const { _id } = await postVisualization(as, 'SELECT 1');
      const json = { name: 'Published', slug: `written-${_id}`, visualization_id: _id };
      return (await expectSuccess(as.post(ENDPOINTS_PATH, { json })))._id;
    },
  ),
  'POST tables': makeCreation('managed-tables:create', '/v1/managed-tables', () => ({
    display_name: makeTableName(),
    columns: [makeColumn('n', 'integer')],
  })),
  'PUT tables': makeChange(
    'table',
    'managed-tables:update',
    'managed-tables:list',
    'PUT /v1/managed-tables/{id}',
    ({ as }) => createTable(as, makeTableName(), [makeColumn('n', 'integer')]),
    { columns: [makeColumn('n', 'integer'), makeColumn('m', 'integer')] },
  ),
  'PUT users': makeChange(
    'user',
    'users:update',
    'users:get',
    'PUT /v1/users/{id}',
    async (company) => (await createAllowedUser(company)).id,
    { name: 'Changed' },
  ),
  'POST groups': makeCreation('groups:create', '/v1/groups', () => makeGroupInput()),
  'PUT groups': makeChange('group', 'groups:update', 'groups:get', 'PUT /v1/groups/{id}', createGroup),
  'POST service accounts': makeCreation(
    'users:create_integration_user',
    '/v1/service-accounts',
    makeFieldsCreator('Robot'),
  ),
  'PUT service accounts': makeChange(
    'service account on the console',
    'users:create_integration_user',
    'users:list_integration_users',
    'PUT /v1/service-accounts/{id}',
    async ({ as }) =>
      (await expectSuccess(as.post('/v1/service-accounts', { json: makeFieldsCreator('Robot')() })))._id,
  ),
  'PUT permissions': makeChange(
    'permission',
    'permissions:update',
    'permissions:get',
    'PUT /v1/permissions/{id}',
    (company) => createPermission(company, { actions: ['read'] }),
  ),
  'PUT policies': makeChange('policy', 'policies:update', 'policies:get', 'PUT /v1/policies/{id}', async ({ as }) => {
    const statements = [{ effect: 'Allow' as const, actions: ['users:list'], resources: ['*'] }];
    const { _id, arn } = await expectSuccess(as.post('/v1/policies', { json: makePolicyInput(statements) }));
    return { id: _id, arn };
  }),
  'POST an invitation': makeCreation('users:invite', '/v1/users/invite', () => ({
    email: `${makeName('invited').replace(' ', '-')}@written.test`,
    group_ids: [],
  })),
  'POST concepts': makeCreation('concepts:create', `${KNOWLEDGE_PATH}/concepts`, () => ({
    ...makeFieldsCreator('Concept')(),
    type: 'term',
  })),
  'PATCH concepts': makeChange(
    'concept',
    'concepts:update',
    'concepts:get',
    `PATCH ${KNOWLEDGE_PATH}/concepts/{id}`,
    ({ as }) => createConcept(as),
  ),
  'POST items': makeCreation('semantic:create', `${KNOWLEDGE_PATH}/semantic`, () => ({
    ...makeFieldsCreator('Item')(),
    kind: 'mapping',
  })),
  'PATCH items': makeChange(
    'item',
    'semantic:update',
    'semantic:list',
    `PATCH ${KNOWLEDGE_PATH}/semantic/{id}`,
    ({ as }) => createItem(as),
  ),
  'PATCH nodes': makeChange(
    'node',
    'ontology:update',
    'ontology:list',
    `PATCH ${KNOWLEDGE_PATH}/ontology/nodes/{id}`,
    ({ as }) => createNode(as),
  ),
  'PATCH relations': makeChange(
    'relation',
    'ontology:update',
    'ontology:list',
    `PATCH ${KNOWLEDGE_PATH}/ontology/relations/{id}`,
    async ({ as }) => createRelation(as, await createNode(as), 'has', await createNode(as)),
  ),
  'POST accounts': {
    ...makeCreation('accounts:CreateAccount', '/accounts', () => ({ name: makeName('Account') })),
    isSigned: true,
  },
  'PATCH groups': makeChange('group', 'groups:UpdateGroup', 'groups:GetGroup', 'PATCH /groups/{id}', createGroup),
};

/** The responses of changes, as access paths to the changed records. */
export const WRITE_RESPONSE_PATHS: AccessPath[] = Object.values(WRITES).flatMap(({ answerPath }) => answerPath ?? []);
