import { beforeAll, expect, inject, it } from 'vitest';
import { type Caller, createCaller } from '../support/api.ts';
import { selectRow } from '../support/rival.ts';
import { must } from '../support/signed.ts';
import { aCompany, aUser, type Company } from '../support/worlds.ts';
import { authorizeProgram, REDIRECT, refreshTokens, registerClient } from './support.ts';

/** What a token is expected to be good for. */
interface ExpectedToken {
  client: string;
  scopes: string;
  refresh: string;
  program: Caller;
  ended: boolean;
}

/** What is true of the person, the clients and the grants, beside the system that is held against it. */
interface Model {
  company: Company;
  person: { id: string; as: Caller };
  groupId: string;
  isMember: boolean;
  own: { id: string; clientId: string } | null;
  dynamic: string;
  held: ExpectedToken[];
}

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});

const SCOPES = ['groups:list', '*:list', 'users:list', 'groups:*'];

async function beginModel(): Promise<Model> {
  const person = await aUser(company, { can: ['groups:list', 'users:list'] });
  const bound = await selectRow<{ group_id: string }>(
    'select group_id from group_bindings where principal_id = ?',
    person.id,
  );
  const model = { company, person, groupId: bound?.group_id as string, isMember: true, own: null, held: [] };
  return { ...model, dynamic: await registerClient() };
}

const endGrants = (model: Model, isMeant: (held: ExpectedToken) => boolean = () => true): void => {
  for (const held of model.held) if (isMeant(held)) held.ended = true;
};

type Command = (model: Model, random: (below: number) => number) => Promise<void>;

async function authorizeClient(model: Model, client: string, scopes: string): Promise<void> {
  const { tokens, program } = await authorizeProgram(model.person.as, { client, scope: scopes });
  endGrants(model, (held) => held.client === client);
  model.held.push({ client, scopes, refresh: tokens.refresh_token, program, ended: false });
}

const groups = (model: Model) => `/v1/users/${model.person.id}/groups`;

const COMMANDS: Record<string, Command> = {
  'let the program in that registered itself': (model, random) =>
    authorizeClient(model, model.dynamic, SCOPES[random(SCOPES.length)] as string),
  'let the registered one in': async (model, random) => {
    if (model.own) await authorizeClient(model, model.own.clientId, SCOPES[random(SCOPES.length)] as string);
  },
  register: async (model) => {
    if (model.own) return;
    const json = { name: 'Ours', redirect_uris: [REDIRECT] };
    const { _id: id, client_id: clientId } = await must(model.company.as.post('/v1/oauth-clients', { json }));
    model.own = { id, clientId };
  },
  'delete the registered one': async (model) => {
    const { own } = model;
    if (!own) return;
    expect((await model.company.as.delete(`/v1/oauth-clients/${own.id}`)).status).toBe(204);
    endGrants(model, ({ client }) => client === own.clientId);
    model.own = null;
  },
  'end a grant': async (model, random) => {
    const { records } = await must(model.company.as.get(`/v1/oauth-grants?user_id=${model.person.id}`));
    if (records.length === 0) return;
    const grant = records[random(records.length)];
    const path = `/v1/oauth-grants/${grant._id}?user_id=${model.person.id}`;
    expect((await model.company.as.delete(path)).status).toBe(204);
    endGrants(model, ({ client }) => client === grant.client.id);
  },
  'leave the group': async (model) => {
    await must(model.company.as.delete(groups(model), { json: { group_ids: [model.groupId] } }));
    model.isMember = false;
  },
  'come back to the group': async (model) => {
    if (model.isMember) return;
    await must(model.company.as.post(groups(model), { json: { group_ids: [model.groupId] } }));
    model.isMember = true;
  },
  refresh: async (model, random) => {
    const held = model.held[random(model.held.length)];
    if (!held) return;
    const { status, body } = await refreshTokens(held.client, held.refresh);
    expect(status).toBe(held.ended ? 400 : 200);
    if (!held.ended) Object.assign(held, { refresh: body.refresh_token, program: createCaller(body.access_token) });
  },
  'be deactivated and come back': async (model) => {
    await must(model.company.as.post(`/v1/users/${model.person.id}/deactivate`));
    endGrants(model);
    await everyTokenIsAsExpected(model);
    await must(model.company.as.post(`/v1/users/${model.person.id}/activate`));
  },
};

const mayList = (scopes: string, what: string) =>
  scopes === '*:list' || scopes === `${what}:list` || scopes === `${what}:*`;

async function everyTokenIsAsExpected(model: Model): Promise<void> {
  for (const { program, scopes, ended } of model.held) {
    for (const what of ['groups', 'users']) {
      const expected = ended ? 401 : model.isMember && mayList(scopes, what) ? 200 : 403;
      expect([what, scopes, (await program.get(`/v1/${what}`)).status]).toEqual([what, scopes, expected]);
    }
  }
}

/** Numbers that are the same each time, by a seed. */
function randomBy(seed: number) {
  let state = seed;
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state % below;
  };
}

it.each([1, 2, 3])(
  'an OAuth program may do exactly what its grant, client and user allow, after any random steps (%s)',
  async (run) => {
    const random = randomBy(inject('seed') + run);
    const names = Object.keys(COMMANDS);
    let model = await beginModel();
    for (let step = 0; step < 30; step += 1) {
      const name = names[random(1000) % names.length] as string;
      await (COMMANDS[name] as Command)(model, (below) => random(1000 * below) % below);
      await everyTokenIsAsExpected(model);
      // Whoever was deactivated has no session any more.
      if (name === 'be deactivated and come back') model = await beginModel();
      model.held = model.held.slice(-6);
    }
  },
);
