import { env } from 'cloudflare:test';
import { ENDPOINTS_PATH, publishSql } from '../data-api/support.ts';
import { createDirectory, createDirectoryGroup, createDirectoryUser, makePatch } from '../directory/support.ts';
import { createQuestion, QUESTIONS_PATH } from '../knowledge/questions/support.ts';
import { createConcept, createItem, createNode, createRelation, KNOWLEDGE_PATH } from '../knowledge/support.ts';
import { createSchedule, SCHEDULES_PATH } from '../schedules/support.ts';
import { createShare } from '../shares/support.ts';
import { type Caller, createCaller } from '../support/api.ts';
import { type Company, createProvisionedCompany, PASSWORD } from '../support/companies.ts';
import { createConsoleGroup, createPermission, makePermissionInput, makePolicyInput } from '../support/console.ts';
import { addPasskey, createAuthenticator } from '../support/passkeys.ts';
import {
  createGrouplessUser,
  createKeyedAccount,
  createPolicyGroup,
  createSignedCaller,
  expectSuccess,
  makeAllow,
} from '../support/signed.ts';
import { DASHBOARDS_PATH, postDashboard, postVisualization, VISUALIZATIONS_PATH } from '../visualizations/support.ts';
import { createEndpoint as aWebhookEndpoint, ENDPOINTS_PATH as WEBHOOKS } from '../webhooks/support.ts';

/** A kind of record that has versions, and how such a record is changed. */
export interface VersionedKind {
  name: string;
  /** The path by which a record is read and changed, as in the API contract. */
  route: string;
  /** Creates a record. @returns its path, and the caller who may read it */
  makeRecord(company: Company): Promise<{ caller: Caller; path: string }>;
  /** The body that the deletion of a record requires as proof. */
  proofBody?: object;
  changeMethod: 'put' | 'patch';
  /** Returns the body of a change, which differs for each text. */
  makeChange(text: string, company: Company): object;
  /** Returns the text in a record that was read, where it is not the `name`. */
  // biome-ignore lint/suspicious/noExplicitAny: each kind has a body of its own.
  readText?(body: any): unknown;
  /** The table in which records of this kind are stored. */
  table: string;
}

let createdCount = 0;
const makeName = (): string => {
  createdCount += 1;
  return `Versioned ${createdCount}`;
};

const createOrganizationCaller = (company: Company) => createSignedCaller(company.apiKey);
const POLICY_STATEMENTS = [makeAllow('users:ListUsers')];

/** Returns a kind of record that a SCIM directory manages. */
const makeDirectoryKind = (kind: 'Users' | 'Groups'): VersionedKind => ({
  name: `one of the ${kind} of SCIM`,
  route: `/scim/v2/${kind}/{id}`,
  async makeRecord(company) {
    const by = await createDirectory(company);
    const { id } = await (kind === 'Users' ? createDirectoryUser(by) : createDirectoryGroup(by));
    return { caller: by, path: `/scim/v2/${kind}/${id}` };
  },
  changeMethod: 'patch',
  makeChange: (value) => makePatch({ op: 'replace', path: 'displayName', value }).json,
  readText: ({ displayName }) => displayName,
  table: kind.toLowerCase(),
});

export const IDENTITY_KINDS: VersionedKind[] = [
  makeDirectoryKind('Users'),
  makeDirectoryKind('Groups'),
  {
    name: 'an organization',
    route: '/admin/organizations/{id}',
    makeRecord: async () => ({
      caller: createCaller(env.PLATFORM_ADMIN_TOKEN as string),
      path: `/admin/organizations/${(await createProvisionedCompany()).id}`,
    }),
    changeMethod: 'patch',
    makeChange: (name) => ({ name }),
    table: 'companies',
  },
  {
    name: 'an account',
    route: '/accounts/{id}',
    async makeRecord(company) {
      const by = createOrganizationCaller(company);
      return {
        caller: by,
        path: `/accounts/${(await expectSuccess(by.post('/accounts', { json: { name: makeName() } }))).id}`,
      };
    },
    changeMethod: 'patch',
    makeChange: (name) => ({ name }),
    table: 'accounts',
  },
  {
    name: 'a service account',
    route: '/service-accounts/{id}',
    makeRecord: async (company) => ({
      caller: createOrganizationCaller(company),
      path: `/service-accounts/${(await createKeyedAccount(company)).id}`,
    }),
    changeMethod: 'patch',
    makeChange: (name) => ({ name }),
    table: 'service_accounts',
  },
  {
    name: 'a service account on the console',
    route: '/v1/service-accounts/{id}',
    makeRecord: async (company) => ({
      caller: company.as,
      path: `/v1/service-accounts/${(await createKeyedAccount(company)).id}`,
    }),
    changeMethod: 'put',
    makeChange: (name) => ({ name }),
    table: 'service_accounts',
  },
  {
    name: 'a group of the organization API',
    route: '/groups/{id}',
    makeRecord: async (company) => ({
      caller: createOrganizationCaller(company),
      path: `/groups/${await createPolicyGroup(company)}`,
    }),
    changeMethod: 'patch',
    makeChange: (name) => ({ name }),
    table: 'groups',
  },
  {
    name: 'a group of the console',
    route: '/v1/groups/{id}',
    makeRecord: async (company) => ({
      caller: company.as,
      path: `/v1/groups/${(await createConsoleGroup(company))._id}`,
    }),
    changeMethod: 'put',
    makeChange: (name) => ({ name }),
    table: 'groups',
  },
  {
    name: 'a user',
    route: '/users/{id}',
    makeRecord: async (company) => ({
      caller: createOrganizationCaller(company),
      path: `/users/${(await createGrouplessUser(company)).id}`,
    }),
    changeMethod: 'patch',
    makeChange: (text) => ({ metadata: { text } }),
    readText: ({ metadata }) => metadata.text,
    table: 'users',
  },
  {
    name: 'a user of the console',
    route: '/v1/users/{id}',
    makeRecord: async (company) => ({
      caller: company.as,
      path: `/v1/users/${(await createGrouplessUser(company)).id}`,
    }),
    changeMethod: 'put',
    makeChange: (name) => ({ name }),
    table: 'users',
  },
  {
    name: 'a policy',
    route: '/v1/policies/{id}',
    async makeRecord({ as }) {
      return {
        caller: as,
        path: `/v1/policies/${(await expectSuccess(as.post('/v1/policies', { json: makePolicyInput(POLICY_STATEMENTS) })))._id}`,
      };
    },
    changeMethod: 'put',
    makeChange: (name) => ({ name }),
    table: 'policies',
  },
  {
    name: 'a legacy permission',
    route: '/v1/permissions/{id}',
    makeRecord: async (company) => ({ caller: company.as, path: `/v1/permissions/${await createPermission(company)}` }),
    changeMethod: 'put',
    makeChange: (name, company) => makePermissionInput(company, { name }),
    table: 'permissions',
  },
];

const SHARES_PATH = '/api/v1/dashboard-shares';
const CONTEXTS_PATH = '/api/v1/share-contexts';

const createShareContext = async ({ as }: Company): Promise<string> =>
  `${CONTEXTS_PATH}/${(await expectSuccess(as.post(CONTEXTS_PATH, { json: { name: makeName() } }))).id}`;

export const SHARING_KINDS: VersionedKind[] = [
  {
    name: 'a visualization',
    route: `${VISUALIZATIONS_PATH}/{id}`,
    makeRecord: async ({ as }) => ({
      caller: as,
      path: `${VISUALIZATIONS_PATH}/${(await postVisualization(as, 'SELECT 1'))._id}`,
    }),
    changeMethod: 'put',
    makeChange: (name) => ({ name }),
    table: 'visualizations',
  },
  {
    name: 'a dashboard',
    route: `${DASHBOARDS_PATH}/{id}`,
    makeRecord: async ({ as }) => ({ caller: as, path: `${DASHBOARDS_PATH}/${(await postDashboard(as, []))._id}` }),
    changeMethod: 'put',
    makeChange: (name) => ({ name }),
    table: 'dashboards',
  },
  {
    name: 'a schedule',
    route: `${SCHEDULES_PATH}/{id}`,
    async makeRecord({ as, owner }) {
      const recipients = [{ user_id: owner.id }];
      return {
        caller: as,
        path: `${SCHEDULES_PATH}/${(await createSchedule(as, await postDashboard(as, []), { recipients }))._id}`,
      };
    },
    changeMethod: 'put',
    makeChange: (name) => ({ name }),
    table: 'schedules',
  },
  {
    name: 'a webhook endpoint',
    route: `${WEBHOOKS}/{id}`,
    makeRecord: async (company) => ({
      caller: company.as,
      path: `${WEBHOOKS}/${(await aWebhookEndpoint(company, { url: 'http://127.0.0.1:9/hooks' }))._id}`,
    }),
    changeMethod: 'put',
    makeChange: (description) => ({ description }),
    readText: ({ description }) => description,
    table: 'webhook_endpoints',
  },
  {
    name: 'a passkey',
    route: '/v1/auth/passkeys/{id}',
    makeRecord: async (company) => ({
      caller: company.as,
      path: `/v1/auth/passkeys/${(await expectSuccess(addPasskey(company.as, await createAuthenticator())))._id}`,
    }),
    proofBody: { password: PASSWORD },
    changeMethod: 'patch',
    makeChange: (name) => ({ name }),
    table: 'passkeys',
  },
  {
    name: 'an endpoint of the Data API',
    route: `${ENDPOINTS_PATH}/{id}`,
    async makeRecord(company) {
      const { _id } = await publishSql(company, 'SELECT 1 AS one');
      return { caller: company.as, path: `${ENDPOINTS_PATH}/${_id}` };
    },
    changeMethod: 'put',
    makeChange: (name) => ({ name }),
    table: 'viz_api_endpoints',
  },
  {
    name: 'a share context',
    route: `${CONTEXTS_PATH}/{id}`,
    makeRecord: async (company) => ({ caller: company.as, path: await createShareContext(company) }),
    changeMethod: 'put',
    makeChange: (name) => ({ name }),
    table: 'share_contexts',
  },
  {
    name: 'a share',
    route: `${SHARES_PATH}/{shareId}`,
    async makeRecord(company) {
      const { id } = await createShare(company, (await postDashboard(company.as, []))._id);
      return { caller: company.as, path: `${SHARES_PATH}/${id}` };
    },
    changeMethod: 'put',
    makeChange: (name) => ({ name }),
    table: 'dashboard_shares',
  },
];

const description = {
  changeMethod: 'patch',
  makeChange: (text: string) => ({ description: text }),
  readText: (body: { description: string }) => body.description,
  table: 'knowledge_resources',
} as const;

export const KNOWLEDGE_KINDS: VersionedKind[] = [
  {
    name: 'a verified question',
    route: `${QUESTIONS_PATH}/{id}`,
    async makeRecord({ as }) {
      await expectSuccess(as.post('/v1/managed-tables/provision'));
      return { caller: as, path: `${QUESTIONS_PATH}/${(await createQuestion(as)).id}` };
    },
    changeMethod: 'patch',
    makeChange: (text: string) => ({ question: text }),
    readText: (body: { question: string }) => body.question,
    table: 'knowledge_verified_questions',
  },
  {
    name: 'a concept',
    route: `${KNOWLEDGE_PATH}/concepts/{id}`,
    makeRecord: async ({ as }) => ({ caller: as, path: `${KNOWLEDGE_PATH}/concepts/${await createConcept(as)}` }),
    ...description,
  },
  {
    name: 'a semantic item',
    route: `${KNOWLEDGE_PATH}/semantic/{id}`,
    makeRecord: async ({ as }) => ({ caller: as, path: `${KNOWLEDGE_PATH}/semantic/${await createItem(as)}` }),
    ...description,
  },
  {
    name: 'an ontology node',
    route: `${KNOWLEDGE_PATH}/ontology/nodes/{id}`,
    makeRecord: async ({ as }) => ({ caller: as, path: `${KNOWLEDGE_PATH}/ontology/nodes/${await createNode(as)}` }),
    ...description,
  },
  {
    name: 'an ontology relation',
    route: `${KNOWLEDGE_PATH}/ontology/relations/{id}`,
    async makeRecord({ as }) {
      const id = await createRelation(as, await createNode(as), 'belongs to', await createNode(as));
      return { caller: as, path: `${KNOWLEDGE_PATH}/ontology/relations/${id}` };
    },
    ...description,
  },
];
