import { expect, inject, it } from 'vitest';
import { type Caller, createCaller } from '../support/api.ts';
import { type Company, createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import { selectRow } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import { authorizeOauthClient, REDIRECT_URI, refreshTokens, registerClient } from './support.ts';

/** A token, with its expected client, scopes and state. */
interface ExpectedToken {
  clientId: string;
  scopes: string;
  refreshToken: string;
  as: Caller;
  isEnded: boolean;
}

/** The expected state of the user, the clients and the grants, with which the system is compared. */
interface OAuthModel {
  company: Company;
  person: { id: string; as: Caller };
  groupId: string;
  isMember: boolean;
  ownClient: { id: string; clientId: string } | null;
  dynamicClientId: string;
  expectedTokens: ExpectedToken[];
}

const company = await createOwnedCompany();

const SCOPES = ['groups:list', '*:list', 'users:list', 'groups:*'];

async function createModel(): Promise<OAuthModel> {
  const person = await createAllowedUser(company, { can: ['groups:list', 'users:list'] });
  const groupBinding = await selectRow<{ group_id: string }>(
    'select group_id from group_bindings where principal_id = ?',
    person.id,
  );
  const model = {
    company,
    person,
    groupId: groupBinding?.group_id as string,
    isMember: true,
    ownClient: null,
    expectedTokens: [],
  };
  return { ...model, dynamicClientId: await registerClient() };
}

const endGrants = (model: OAuthModel, isMatch: (expectedToken: ExpectedToken) => boolean = () => true): void => {
  for (const expectedToken of model.expectedTokens) if (isMatch(expectedToken)) expectedToken.isEnded = true;
};

type ModelCommand = (model: OAuthModel, pickInteger: (exclusiveMax: number) => number) => Promise<void>;

async function authorizeClient(model: OAuthModel, client: string, scopes: string): Promise<void> {
  const { tokens, program } = await authorizeOauthClient(model.person.as, { client, scope: scopes });
  endGrants(model, (expectedToken) => expectedToken.clientId === client);
  model.expectedTokens.push({
    clientId: client,
    scopes,
    refreshToken: tokens.refresh_token,
    as: program,
    isEnded: false,
  });
}

const makeGroupsPath = (model: OAuthModel) => `/v1/users/${model.person.id}/groups`;

const COMMANDS: Record<string, ModelCommand> = {
  'let the program in that registered itself': (model, random) =>
    authorizeClient(model, model.dynamicClientId, SCOPES[random(SCOPES.length)] as string),
  'let the registered one in': async (model, random) => {
    if (model.ownClient)
      await authorizeClient(model, model.ownClient.clientId, SCOPES[random(SCOPES.length)] as string);
  },
  register: async (model) => {
    if (model.ownClient) return;
    const json = { name: 'Ours', redirect_uris: [REDIRECT_URI] };
    const { _id: id, client_id: clientId } = await expectSuccess(model.company.as.post('/v1/oauth-clients', { json }));
    model.ownClient = { id, clientId };
  },
  'delete the registered one': async (model) => {
    const { ownClient } = model;
    if (!ownClient) return;
    expect((await model.company.as.delete(`/v1/oauth-clients/${ownClient.id}`)).status).toBe(204);
    endGrants(model, ({ clientId }) => clientId === ownClient.clientId);
    model.ownClient = null;
  },
  'end a grant': async (model, random) => {
    const { records } = await expectSuccess(model.company.as.get(`/v1/oauth-grants?user_id=${model.person.id}`));
    if (records.length === 0) return;
    const grant = records[random(records.length)];
    const path = `/v1/oauth-grants/${grant._id}?user_id=${model.person.id}`;
    expect((await model.company.as.delete(path)).status).toBe(204);
    endGrants(model, ({ clientId }) => clientId === grant.client.id);
  },
  'leave the group': async (model) => {
    await expectSuccess(model.company.as.delete(makeGroupsPath(model), { json: { group_ids: [model.groupId] } }));
    model.isMember = false;
  },
  'come back to the group': async (model) => {
    if (model.isMember) return;
    await expectSuccess(model.company.as.post(makeGroupsPath(model), { json: { group_ids: [model.groupId] } }));
    model.isMember = true;
  },
  refresh: async (model, random) => {
    const expectedToken = model.expectedTokens[random(model.expectedTokens.length)];
    if (!expectedToken) return;
    const { status, body } = await refreshTokens(expectedToken.clientId, expectedToken.refreshToken);
    expect(status).toBe(expectedToken.isEnded ? 400 : 200);
    if (!expectedToken.isEnded)
      Object.assign(expectedToken, { refreshToken: body.refresh_token, as: createCaller(body.access_token) });
  },
  'be deactivated and come back': async (model) => {
    await expectSuccess(model.company.as.post(`/v1/users/${model.person.id}/deactivate`));
    endGrants(model);
    await expectTokenAccess(model);
    await expectSuccess(model.company.as.post(`/v1/users/${model.person.id}/activate`));
  },
};

const mayList = (scopes: string, resource: string) =>
  scopes === '*:list' || scopes === `${resource}:list` || scopes === `${resource}:*`;

async function expectTokenAccess(model: OAuthModel): Promise<void> {
  for (const { as, scopes, isEnded } of model.expectedTokens) {
    for (const resource of ['groups', 'users']) {
      const expected = isEnded ? 401 : model.isMember && mayList(scopes, resource) ? 200 : 403;
      expect([resource, scopes, (await as.get(`/v1/${resource}`)).status]).toEqual([resource, scopes, expected]);
    }
  }
}

/** Creates a generator of random numbers that are the same for the same seed. */
function createRandomGenerator(seed: number) {
  let state = seed;
  return (exclusiveMax: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state % exclusiveMax;
  };
}

it.each([1, 2, 3])(
  'an OAuth program may do exactly what its grant, client and user allow, after any random steps (%s)',
  async (runNumber) => {
    const random = createRandomGenerator(inject('seed') + runNumber);
    const names = Object.keys(COMMANDS);
    let model = await createModel();
    for (let step = 0; step < 30; step += 1) {
      const name = names[random(1000) % names.length] as string;
      await (COMMANDS[name] as ModelCommand)(model, (exclusiveMax) => random(1000 * exclusiveMax) % exclusiveMax);
      await expectTokenAccess(model);
      // Whoever was deactivated has no session any more.
      if (name === 'be deactivated and come back') model = await createModel();
      model.expectedTokens = model.expectedTokens.slice(-6);
    }
  },
);
