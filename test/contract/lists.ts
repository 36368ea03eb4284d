import { ENDPOINTS_PATH } from '../data-api/support.ts';
import { createModel, makeProposal } from '../knowledge/model.ts';
import { createQuestion, QUESTIONS } from '../knowledge/questions/support.ts';
import {
  createConcept,
  createItem,
  createNode,
  createRelation,
  KNOWLEDGE_PATH,
  makeName,
} from '../knowledge/support.ts';
import { column, createTable } from '../managed-tables/support.ts';
import { createSchedule, SCHEDULES_PATH } from '../schedules/support.ts';
import { aContext, aMember, CONTEXTS_PATH, dashboardGrant } from '../share-portal/support.ts';
import { aShare } from '../shares/support.ts';
import { addToGroups, createConsoleGroup, createPermission, makePolicyInput } from '../support/console.ts';
import { allow, aServiceAccountThat, bind, must } from '../support/signed.ts';
import { aUser, type Company } from '../support/worlds.ts';
import { createHeldQueue, makeFile, uploadFiles } from '../uploads/support.ts';
import { aDashboard, aVisualization, DASHBOARDS_PATH, VISUALIZATIONS_PATH } from '../visualizations/support.ts';
import { createEndpoint as anEndpointOfWebhooks } from '../webhooks/support.ts';

/** A record of a list, and what a Deny names to keep it from somebody. */
export interface CreatedRecord {
  id: string;
  arn: string;
  /** Where it is listed. */
  path?: string;
}

/** How denials apply to a list. */
export interface Case {
  /** Each of these, denied on the record, keeps it from the list. */
  denied: string[];
  make(company: Company): Promise<CreatedRecord>;
  /** On the organization API, in the place of the console. */
  signed?: true;
}

export const makeArn = (service: string, company: Company, type: string, id: string) =>
  `arn:svc:${service}::${company.id}:${type}/${id}`;
const makeCase =
  (service: string, type: string, make: (company: Company) => Promise<string>): Case['make'] =>
  async (company) => {
    const id = await make(company);
    return { id, arn: makeArn(service, company, type, id) };
  };
const createShareable = async ({ as }: Company) => aDashboard(as, [await aVisualization(as, 'SELECT 1')]);
/** Something about a dashboard, which is what is denied. */
const makeCaseAboutDashboard =
  (make: (company: Company, dashboard: { _id: string; layout?: unknown }) => Promise<{ id: string; path?: string }>) =>
  async (company: Company): Promise<CreatedRecord> => {
    const dashboard = await createShareable(company);
    return { ...(await make(company, dashboard)), arn: makeArn('dashboards', company, 'dashboard', dashboard._id) };
  };
const makeTableName = () => makeName('table').replace(' ', '_');
const createPerson = async (company: Company) => (await aUser(company)).id;
export const createEndpoint = async ({ as }: Company) => {
  const { _id } = await aVisualization(as, 'SELECT 1');
  const json = { name: 'Published', slug: `published-${_id}`, visualization_id: _id };
  return (await must(as.post(ENDPOINTS_PATH, { json })))._id as string;
};
const makeGroupCase = (make: Case['make']) => async (company: Company) => {
  const made = await make(company);
  const groupId = (await createConsoleGroup(company))._id;
  return { ...made, groupId };
};

const DENIED_USER = ['users:list', 'users:get'];

/** A suggestion to create a concept. */
export async function createSuggestion({ as }: Company): Promise<string> {
  const json = {
    format: 'data-console-knowledge/1',
    concepts: [{ name: makeName('Imported'), description: 'A term.' }],
  };
  await must(as.post(`${KNOWLEDGE_PATH}/import`, { json }));
  const { records } = await must(as.get(`${KNOWLEDGE_PATH}/suggestions`));
  return records[0]._id;
}

/** A suggestion to change a concept, and the job that made it. */
export async function createEnrichment(company: Company) {
  const concept = await createConcept(company.as);
  const model = await createModel(makeProposal({ description: 'Better.' }));
  const suggestion = await must(
    company.as.post(`${KNOWLEDGE_PATH}/suggestions/concepts/${concept}/generate`, { env: model.env }),
  );
  const json = { target_type: 'concept', target_ids: [concept] };
  const env = { ...model.env, MODEL_JOBS: createHeldQueue().env.JOBS } as unknown as Record<string, string>;
  const job = await must(company.as.post(`${KNOWLEDGE_PATH}/jobs/enrich`, { json, env }));
  return { arn: makeArn('concepts', company, 'concept', concept), suggestion: suggestion._id, job: job._id };
}

/** A verified question about a metric, and the question as it was asked. */
async function createAnswer(company: Company) {
  const { item, id, question } = await createQuestion(company.as);
  const asked = await must(company.as.post(`${KNOWLEDGE_PATH}/ask`, { json: { question, execute: false } }));
  return { arn: makeArn('semantic', company, 'item', item), verified: id, asked: asked.question_id };
}

/** Every list whose records may be denied one by one. */
export const LISTS: Record<string, Case> = {
  '/accounts': {
    signed: true,
    denied: ['accounts:ListAccounts', 'accounts:GetAccount'],
    make: makeCase('accounts', 'account', async (company) => {
      const { as } = await aServiceAccountThat(company, allow('*'));
      return (await must(as.post('/accounts', { json: { name: makeName('Account') } }))).id;
    }),
  },
  '/service-accounts': {
    signed: true,
    denied: ['service-accounts:ListServiceAccounts', 'service-accounts:GetServiceAccount'],
    make: makeCase('service-accounts', 'service-account', async (company) => (await aServiceAccountThat(company)).id),
  },
  '/groups': {
    signed: true,
    denied: ['groups:ListGroups', 'groups:GetGroup'],
    make: makeCase('groups', 'group', async (company) => (await createConsoleGroup(company))._id),
  },
  '/groups/{id}/bindings': {
    signed: true,
    denied: ['users:GetUser'],
    make: async (company) => {
      const { groupId, ...made } = await makeGroupCase(makeCase('users', 'user', createPerson))(company);
      await bind(company, groupId, await createPerson(company));
      const path = `/groups/${groupId}/bindings`;
      const { as } = await aServiceAccountThat(company, allow('*'));
      const json = { principal_type: 'user', principal_id: made.id, account_id: company.accountId };
      const { id } = await must(as.post(path, { json }));
      return { ...made, id, path };
    },
  },
  '/users': {
    signed: true,
    denied: ['users:ListUsers', 'users:GetUser'],
    make: makeCase('users', 'user', createPerson),
  },
  '/v1/users': { denied: DENIED_USER, make: makeCase('users', 'user', createPerson) },
  '/v1/groups': {
    denied: ['groups:list', 'groups:get'],
    make: makeCase('groups', 'group', async (company) => (await createConsoleGroup(company))._id),
  },
  '/v1/service-accounts': {
    denied: ['users:list_integration_users'],
    make: makeCase('users', 'user', async (company) => (await aServiceAccountThat(company)).id),
  },
  '/v1/service-accounts/{id}/keys': {
    denied: ['api_keys:list', 'api_keys:get'],
    make: async (company) => {
      const robot = await aServiceAccountThat(company);
      const path = `/v1/service-accounts/${robot.id}/keys`;
      const { _id } = await must(company.as.post(path));
      return { id: _id, arn: makeArn('api_keys', company, 'api-key', _id), path };
    },
  },
  '/v1/groups/{id}/members': {
    denied: ['users:get'],
    make: async (company) => {
      const { groupId, ...made } = await makeGroupCase(makeCase('users', 'user', createPerson))(company);
      for (const id of [await createPerson(company), made.id]) await addToGroups(company, id, groupId);
      return { ...made, path: `/v1/groups/${groupId}/members` };
    },
  },
  '/v1/permissions': {
    denied: ['permissions:list', 'permissions:get'],
    make: makeCase('permissions', 'permission', (company) => createPermission(company)),
  },
  '/v1/policies': {
    denied: ['policies:list', 'policies:get'],
    make: async (company) => {
      const name = `${makeName('Política-é')}`.replaceAll(' ', '-');
      const made = await must(
        company.as.post('/v1/policies', { json: makePolicyInput([allow('users:list')], { name }) }),
      );
      return { id: made._id, arn: made.arn };
    },
  },
  '/v1/managed-tables': {
    denied: ['managed-tables:list'],
    make: makeCase('managed-tables', 'table', ({ as }) => createTable(as, makeTableName(), [column('n', 'integer')])),
  },
  '/v1/managed-tables/upload-jobs/active': {
    denied: ['managed-tables:list'],
    make: async (company) => {
      const tableId = await createTable(company.as, makeTableName(), [column('n', 'integer')]);
      const id = await uploadFiles(company, [makeFile('n.csv', 'n\n1\n')], { ...createHeldQueue(), into: tableId });
      return { id, arn: makeArn('managed-tables', company, 'table', tableId) };
    },
  },
  [VISUALIZATIONS_PATH]: {
    denied: ['visualizations:list', 'visualizations:get'],
    make: makeCase('visualizations', 'visualization', async ({ as }) => (await aVisualization(as, 'SELECT 1'))._id),
  },
  [DASHBOARDS_PATH]: {
    denied: ['dashboards:list', 'dashboards:get'],
    make: makeCase('dashboards', 'dashboard', async (company) => (await createShareable(company))._id),
  },
  [ENDPOINTS_PATH]: {
    denied: ['viz_api_endpoints:list', 'viz_api_endpoints:get'],
    make: makeCase('viz_api_endpoints', 'endpoint', createEndpoint),
  },
  '/v1/webhook-endpoints': {
    denied: ['webhooks:list', 'webhooks:get'],
    make: makeCase(
      'webhooks',
      'webhook-endpoint',
      async (company) => (await anEndpointOfWebhooks(company, { url: 'http://127.0.0.1:9/hooks' }))._id,
    ),
  },
  [SCHEDULES_PATH]: {
    denied: ['dashboards:get', 'dashboards:schedule'],
    make: makeCaseAboutDashboard(async ({ as, owner }, dashboard) => ({
      id: (await createSchedule(as, dashboard, { recipients: [{ user_id: owner.id }] }))._id,
    })),
  },
  '/api/v1/dashboard-shares': {
    denied: ['dashboards:get', 'dashboards:share'],
    make: makeCaseAboutDashboard((company, { _id }) => aShare(company, _id)),
  },
  [CONTEXTS_PATH]: {
    denied: ['dashboards:get', 'dashboards:share'],
    make: makeCaseAboutDashboard((company, { _id }) => aContext(company, [dashboardGrant(_id)])),
  },
  [`${CONTEXTS_PATH}/{id}/members`]: {
    denied: ['users:get'],
    make: async (company) => {
      const made = await makeCase('users', 'user', createPerson)(company);
      const context = await aContext(company, [dashboardGrant((await createShareable(company))._id)]);
      await aMember(company.as, context.id, { member_type: 'internal_user', member_id: await createPerson(company) });
      const { id } = await aMember(company.as, context.id, { member_type: 'internal_user', member_id: made.id });
      return { ...made, id, path: `${CONTEXTS_PATH}/${context.id}/members` };
    },
  },
  [`${KNOWLEDGE_PATH}/concepts`]: {
    denied: ['concepts:list', 'concepts:get'],
    make: makeCase('concepts', 'concept', ({ as }) => createConcept(as)),
  },
  [`${KNOWLEDGE_PATH}/semantic`]: {
    denied: ['semantic:list'],
    make: makeCase('semantic', 'item', ({ as }) => createItem(as)),
  },
  [`${KNOWLEDGE_PATH}/ontology/nodes`]: {
    denied: ['ontology:list'],
    make: makeCase('ontology', 'node', ({ as }) => createNode(as)),
  },
  [`${KNOWLEDGE_PATH}/ontology/relations`]: {
    denied: ['ontology:list'],
    make: makeCase('ontology', 'relation', async ({ as }) =>
      createRelation(as, await createNode(as), 'has', await createNode(as)),
    ),
  },
  [`${KNOWLEDGE_PATH}/suggestions`]: {
    denied: ['knowledge_reviews:list'],
    make: makeCase('knowledge_reviews', 'suggestion', createSuggestion),
  },
  [`${KNOWLEDGE_PATH}/suggestions?status=pending`]: {
    denied: ['concepts:get'],
    make: async (company) => {
      const { suggestion: id, arn } = await createEnrichment(company);
      return { id, arn };
    },
  },
  [`${KNOWLEDGE_PATH}/jobs`]: {
    denied: ['concepts:get'],
    make: async (company) => {
      const { job: id, arn } = await createEnrichment(company);
      return { id, arn };
    },
  },
  [QUESTIONS]: {
    denied: ['semantic:list'],
    make: async (company) => {
      const { verified: id, arn } = await createAnswer(company);
      return { id, arn };
    },
  },
  [`${KNOWLEDGE_PATH}/questions`]: {
    denied: ['semantic:list'],
    make: async (company) => {
      const { asked: id, arn } = await createAnswer(company);
      return { id, arn };
    },
  },
};

/** Lists whose single records cannot be denied by a policy, each with the reason. */
export const LISTS_WITHOUT_DENIALS: Record<string, string> = {
  '/v1/oauth-grants': 'the own grants of the caller, or for administrators those of a user',
  '/v1/oauth-clients': 'for administrators, whom no Deny reaches',
  '/v1/webhook-event-types': 'the same for everybody',
  '/v1/webhook-endpoints/{id}/deliveries': 'for administrators, whom no Deny reaches',
  '/admin/organizations': 'for the operator of the platform',
  '/admin/audit-events': 'for administrators, whom no Deny reaches',
  '/v1/audit-events': 'for administrators, whom no Deny reaches',
  '/admin/deleted/accounts': 'for administrators, whom no Deny reaches',
  '/v1/managed-tables/deleted': 'for administrators, whom no Deny reaches',
  '/service-accounts/{id}/keys': 'keys are of the service account that the route asks for',
  '/v1/auth/passkeys': 'the own passkeys of the caller',
  '/v1/auth/sessions': 'the own sessions of the caller',
  '/v1/managed-tables/{id}/data': 'rows are of the table that the route asks for',
  '/v1/managed-tables/{id}/indexes': 'indexes are of the table that the route asks for',
  '/v1/managed-tables/{id}/loads': 'loads are of the table that the route asks for',
  '/api/v1/dashboards/{id}/shares': 'shares of the dashboard that the route asks for',
  '/api/v1/dashboards/{id}/share-filter-candidates': 'filters of the dashboard that the route asks for',
  '/api/v1/dashboards/{id}/embed-parameter-candidates': 'inputs of the dashboard that the route asks for',
  '/api/v1/embed/signing-keys': 'keys are of the company',
  [`${KNOWLEDGE_PATH}/concepts/{id}/versions`]: 'versions are of the concept that the route asks for',
  [`${KNOWLEDGE_PATH}/semantic/{id}/versions`]: 'versions are of the item that the route asks for',
  [`${KNOWLEDGE_PATH}/ontology/nodes/{id}/versions`]: 'versions are of the node that the route asks for',
  [`${KNOWLEDGE_PATH}/ontology/relations/{id}/versions`]: 'versions are of the relation that the route asks for',
  '/api/v1/share-portal/dashboards': 'of a person of the company, in test/share-portal/denied.sharing.test.ts',
  '/api/v1/share-portal/{company_slug}/dashboards':
    'of a person of the company, in test/share-portal/denied.sharing.test.ts',
  '/api/v1/share-events': 'events of what is denied, in test/share-activity/denied.sharing.test.ts',
  '/api/v1/share-portal/contexts': 'contexts of which the caller is a member',
  '/api/v1/share-portal/{company_slug}/contexts': 'contexts of which the caller is a member',
};
