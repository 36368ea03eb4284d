import { env } from 'cloudflare:test';
import { aPublished, ENDPOINTS_PATH } from '../data-api/support.ts';
import { createDirectory, createDirectoryGroup, createDirectoryUser, makePatch } from '../directory/support.ts';
import { createQuestion, QUESTIONS } from '../knowledge/questions/support.ts';
import { createConcept, createItem, createNode, createRelation, KNOWLEDGE_PATH } from '../knowledge/support.ts';
import { createSchedule, SCHEDULES_PATH } from '../schedules/support.ts';
import { aShare } from '../shares/support.ts';
import { type Caller, createCaller } from '../support/api.ts';
import { createConsoleGroup, createPermission, makePermissionInput, makePolicyInput } from '../support/console.ts';
import { addPasskey, createAuthenticator } from '../support/passkeys.ts';
import { aGroup, allow, aServiceAccount, aUser, must, signed } from '../support/signed.ts';
import { aProvisionedCompany, type Company, PASSWORD } from '../support/worlds.ts';
import { aDashboard, aVisualization, DASHBOARDS_PATH, VISUALIZATIONS_PATH } from '../visualizations/support.ts';
import { createEndpoint as aWebhookEndpoint, ENDPOINTS_PATH as WEBHOOKS } from '../webhooks/support.ts';

/** A record that has versions, and how it is changed. */
export interface Kind {
  name: string;
  /** The path that reads and changes it, as its contract has it. */
  route: string;
  /** Makes one. @returns where it is read, and by whom */
  make(company: Company): Promise<{ by: Caller; path: string }>;
  /** What its deletion asks for. */
  proof?: object;
  change: 'put' | 'patch';
  /** A change that is a different one for each text. */
  changes(text: string, company: Company): object;
  /** Where what is read shows the text, when that is not its `name`. */
  // biome-ignore lint/suspicious/noExplicitAny: each kind has a body of its own.
  shows?(body: any): unknown;
  /** The table that it is written to. */
  table: string;
}

let createdCount = 0;
const aName = (): string => {
  createdCount += 1;
  return `Versioned ${createdCount}`;
};

const organization = (company: Company) => signed(company.apiKey);
const STATEMENTS = [allow('users:ListUsers')];

/** A record that a directory keeps. */
const ofDirectory = (kind: 'Users' | 'Groups'): Kind => ({
  name: `one of the ${kind} of SCIM`,
  route: `/scim/v2/${kind}/{id}`,
  async make(company) {
    const by = await createDirectory(company);
    const { id } = await (kind === 'Users' ? createDirectoryUser(by) : createDirectoryGroup(by));
    return { by, path: `/scim/v2/${kind}/${id}` };
  },
  change: 'patch',
  changes: (value) => makePatch({ op: 'replace', path: 'displayName', value }).json,
  shows: ({ displayName }) => displayName,
  table: kind.toLowerCase(),
});

export const IDENTITY_KINDS: Kind[] = [
  ofDirectory('Users'),
  ofDirectory('Groups'),
  {
    name: 'an organization',
    route: '/admin/organizations/{id}',
    make: async () => ({
      by: createCaller(env.PLATFORM_ADMIN_TOKEN as string),
      path: `/admin/organizations/${(await aProvisionedCompany()).id}`,
    }),
    change: 'patch',
    changes: (name) => ({ name }),
    table: 'companies',
  },
  {
    name: 'an account',
    route: '/accounts/{id}',
    async make(company) {
      const by = organization(company);
      return { by, path: `/accounts/${(await must(by.post('/accounts', { json: { name: aName() } }))).id}` };
    },
    change: 'patch',
    changes: (name) => ({ name }),
    table: 'accounts',
  },
  {
    name: 'a service account',
    route: '/service-accounts/{id}',
    make: async (company) => ({
      by: organization(company),
      path: `/service-accounts/${(await aServiceAccount(company)).id}`,
    }),
    change: 'patch',
    changes: (name) => ({ name }),
    table: 'service_accounts',
  },
  {
    name: 'a service account on the console',
    route: '/v1/service-accounts/{id}',
    make: async (company) => ({ by: company.as, path: `/v1/service-accounts/${(await aServiceAccount(company)).id}` }),
    change: 'put',
    changes: (name) => ({ name }),
    table: 'service_accounts',
  },
  {
    name: 'a group of the organization API',
    route: '/groups/{id}',
    make: async (company) => ({ by: organization(company), path: `/groups/${await aGroup(company)}` }),
    change: 'patch',
    changes: (name) => ({ name }),
    table: 'groups',
  },
  {
    name: 'a group of the console',
    route: '/v1/groups/{id}',
    make: async (company) => ({ by: company.as, path: `/v1/groups/${(await createConsoleGroup(company))._id}` }),
    change: 'put',
    changes: (name) => ({ name }),
    table: 'groups',
  },
  {
    name: 'a user',
    route: '/users/{id}',
    make: async (company) => ({ by: organization(company), path: `/users/${(await aUser(company)).id}` }),
    change: 'patch',
    changes: (text) => ({ metadata: { text } }),
    shows: ({ metadata }) => metadata.text,
    table: 'users',
  },
  {
    name: 'a user of the console',
    route: '/v1/users/{id}',
    make: async (company) => ({ by: company.as, path: `/v1/users/${(await aUser(company)).id}` }),
    change: 'put',
    changes: (name) => ({ name }),
    table: 'users',
  },
  {
    name: 'a policy',
    route: '/v1/policies/{id}',
    async make({ as }) {
      return {
        by: as,
        path: `/v1/policies/${(await must(as.post('/v1/policies', { json: makePolicyInput(STATEMENTS) })))._id}`,
      };
    },
    change: 'put',
    changes: (name) => ({ name }),
    table: 'policies',
  },
  {
    name: 'a legacy permission',
    route: '/v1/permissions/{id}',
    make: async (company) => ({ by: company.as, path: `/v1/permissions/${await createPermission(company)}` }),
    change: 'put',
    changes: (name, company) => makePermissionInput(company, { name }),
    table: 'permissions',
  },
];

const SHARES_PATH = '/api/v1/dashboard-shares';
const CONTEXTS_PATH = '/api/v1/share-contexts';

const aContext = async ({ as }: Company): Promise<string> =>
  `${CONTEXTS_PATH}/${(await must(as.post(CONTEXTS_PATH, { json: { name: aName() } }))).id}`;

export const SHARING_KINDS: Kind[] = [
  {
    name: 'a visualization',
    route: `${VISUALIZATIONS_PATH}/{id}`,
    make: async ({ as }) => ({ by: as, path: `${VISUALIZATIONS_PATH}/${(await aVisualization(as, 'SELECT 1'))._id}` }),
    change: 'put',
    changes: (name) => ({ name }),
    table: 'visualizations',
  },
  {
    name: 'a dashboard',
    route: `${DASHBOARDS_PATH}/{id}`,
    make: async ({ as }) => ({ by: as, path: `${DASHBOARDS_PATH}/${(await aDashboard(as, []))._id}` }),
    change: 'put',
    changes: (name) => ({ name }),
    table: 'dashboards',
  },
  {
    name: 'a schedule',
    route: `${SCHEDULES_PATH}/{id}`,
    async make({ as, owner }) {
      const recipients = [{ user_id: owner.id }];
      return {
        by: as,
        path: `${SCHEDULES_PATH}/${(await createSchedule(as, await aDashboard(as, []), { recipients }))._id}`,
      };
    },
    change: 'put',
    changes: (name) => ({ name }),
    table: 'schedules',
  },
  {
    name: 'a webhook endpoint',
    route: `${WEBHOOKS}/{id}`,
    make: async (company) => ({
      by: company.as,
      path: `${WEBHOOKS}/${(await aWebhookEndpoint(company, { url: 'http://127.0.0.1:9/hooks' }))._id}`,
    }),
    change: 'put',
    changes: (description) => ({ description }),
    shows: ({ description }) => description,
    table: 'webhook_endpoints',
  },
  {
    name: 'a passkey',
    route: '/v1/auth/passkeys/{id}',
    make: async (company) => ({
      by: company.as,
      path: `/v1/auth/passkeys/${(await must(addPasskey(company.as, await createAuthenticator())))._id}`,
    }),
    proof: { password: PASSWORD },
    change: 'patch',
    changes: (name) => ({ name }),
    table: 'passkeys',
  },
  {
    name: 'an endpoint of the Data API',
    route: `${ENDPOINTS_PATH}/{id}`,
    async make(company) {
      const { _id } = await aPublished(company, 'SELECT 1 AS one');
      return { by: company.as, path: `${ENDPOINTS_PATH}/${_id}` };
    },
    change: 'put',
    changes: (name) => ({ name }),
    table: 'viz_api_endpoints',
  },
  {
    name: 'a share context',
    route: `${CONTEXTS_PATH}/{id}`,
    make: async (company) => ({ by: company.as, path: await aContext(company) }),
    change: 'put',
    changes: (name) => ({ name }),
    table: 'share_contexts',
  },
  {
    name: 'a share',
    route: `${SHARES_PATH}/{shareId}`,
    async make(company) {
      const { id } = await aShare(company, (await aDashboard(company.as, []))._id);
      return { by: company.as, path: `${SHARES_PATH}/${id}` };
    },
    change: 'put',
    changes: (name) => ({ name }),
    table: 'dashboard_shares',
  },
];

const description = {
  change: 'patch',
  changes: (text: string) => ({ description: text }),
  shows: (body: { description: string }) => body.description,
  table: 'knowledge_resources',
} as const;

export const KNOWLEDGE_KINDS: Kind[] = [
  {
    name: 'a verified question',
    route: `${QUESTIONS}/{id}`,
    async make({ as }) {
      await must(as.post('/v1/managed-tables/provision'));
      return { by: as, path: `${QUESTIONS}/${(await createQuestion(as)).id}` };
    },
    change: 'patch',
    changes: (text: string) => ({ question: text }),
    shows: (body: { question: string }) => body.question,
    table: 'knowledge_verified_questions',
  },
  {
    name: 'a concept',
    route: `${KNOWLEDGE_PATH}/concepts/{id}`,
    make: async ({ as }) => ({ by: as, path: `${KNOWLEDGE_PATH}/concepts/${await createConcept(as)}` }),
    ...description,
  },
  {
    name: 'a semantic item',
    route: `${KNOWLEDGE_PATH}/semantic/{id}`,
    make: async ({ as }) => ({ by: as, path: `${KNOWLEDGE_PATH}/semantic/${await createItem(as)}` }),
    ...description,
  },
  {
    name: 'an ontology node',
    route: `${KNOWLEDGE_PATH}/ontology/nodes/{id}`,
    make: async ({ as }) => ({ by: as, path: `${KNOWLEDGE_PATH}/ontology/nodes/${await createNode(as)}` }),
    ...description,
  },
  {
    name: 'an ontology relation',
    route: `${KNOWLEDGE_PATH}/ontology/relations/{id}`,
    async make({ as }) {
      const id = await createRelation(as, await createNode(as), 'belongs to', await createNode(as));
      return { by: as, path: `${KNOWLEDGE_PATH}/ontology/relations/${id}` };
    },
    ...description,
  },
];
