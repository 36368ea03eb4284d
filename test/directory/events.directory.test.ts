import { describe, expect, it } from 'vitest';
import type { ApiResponse } from '../support/api.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { addToGroups, makeGroupInput } from '../support/console.ts';
import { countRows } from '../support/race.ts';
import { createSignedCaller, expectSuccess } from '../support/signed.ts';
import { createEndpoint, createReceiver, ENDPOINTS_PATH } from '../webhooks/support.ts';
import {
  createDirectory,
  createDirectoryGroup,
  createDirectoryUser,
  makeGroupInput as directoryGroupInput,
  GROUPS_PATH,
  makePatch,
  makeUserInput,
  USERS_PATH,
} from './support.ts';

const company = await createOwnedCompany();
const directory = await createDirectory(company);
const receiver = createReceiver();
const endpoint = (await createEndpoint(company, receiver))._id;

/** The user and group that a change is about; an empty id where the change creates one. */
interface ChangeSubject {
  user: string;
  group: string;
}

/** A function that sends the request of a change, or returns functions that send several, one after the other. */
type ChangeOperation = (subject: ChangeSubject) => Promise<ApiResponse> | (() => Promise<ApiResponse>)[];

/**
 * The events and audit records of a change: the types of its events and the actions of its records, each with the
 * subject's name.
 */
interface RecordedEvents {
  events: string[];
  /** Actions and subjects of the audit records. */
  records: string[];
}

/** Lists all events delivered so far, after waiting until none is pending. */
async function listEvents() {
  await expect
    .poll(async () => [
      await countRows('events where company_id = ?', company.id),
      (await expectSuccess(company.as.get(`${ENDPOINTS_PATH}/${endpoint}/deliveries?status=pending`))).total,
    ])
    .toEqual([0, 0]);
  return (await receiver.readReceivedRequests()).map(({ event }) => event);
}

async function readRecord(answer: ApiResponse): Promise<{ action: string; resource_id: string }> {
  const query = new URLSearchParams({ correlation_id: answer.headers.get('x-correlation-id') as string });
  const find = async () => (await expectSuccess(company.as.get(`/v1/audit-events?${query}`))).records;
  await expect.poll(async () => (await find()).length).toBe(1);
  return (await find())[0];
}

/** Makes a change, and returns its events and audit records. @param createdSubject the subject that the change creates */
async function recordEvents(
  runOperation: ChangeOperation,
  subject: ChangeSubject,
  createdSubject?: keyof ChangeSubject,
): Promise<RecordedEvents> {
  const eventCountBefore = (await listEvents()).length;
  const requests = runOperation(subject);
  const answers: ApiResponse[] = [];
  for (const sendRequest of Array.isArray(requests) ? requests : [() => requests]) {
    const answer = await sendRequest();
    expect([answer.status, answer.body]).toEqual([expect.toSatisfy((status: number) => status < 300), answer.body]);
    if (createdSubject && answers.length === 0) subject[createdSubject] = answer.body.id ?? answer.body._id;
    answers.push(answer);
  }
  const getSubjectName = (id: unknown) => Object.entries(subject).find(([, of]) => of === id)?.[0] ?? String(id);
  const events = (await listEvents()).slice(eventCountBefore).map(({ type, data }) => {
    const subjectIds = type.startsWith('group.member') ? [data.group_id, data.principal_id] : [data._id];
    const [state] = [data.status].filter((status) => status !== undefined);
    return [type, ...subjectIds.map(getSubjectName), ...(state === undefined ? [] : [state])].join(' ');
  });
  const records = await Promise.all(answers.map(readRecord));
  return {
    events: events.toSorted(),
    records: records.map(({ action, resource_id: ids }) => [action, ...ids.split('/').map(getSubjectName)].join(' ')),
  };
}

const password = 'quiet-harbour-lantern';
let emailCount = 0;
const makeEmail = () => {
  return `told-${++emailCount}@example.com`;
};
const toMembers = (user: string) => [{ value: user }];
const changeUser = (id: string, value: Record<string, unknown>) =>
  directory.patch(`${USERS_PATH}/${id}`, makePatch({ op: 'replace', value }));
const changeGroup = (id: string, op: string, value: unknown) =>
  directory.patch(`${GROUPS_PATH}/${id}`, makePatch({ op, path: 'members', value }));

interface ChangeCase {
  createdSubject?: keyof ChangeSubject;
  /** Brings the subject into the state from which the change starts. */
  prepareSubject?: (subject: ChangeSubject) => Promise<unknown>;
  console: ChangeOperation;
  directory: ChangeOperation;
  events: string[];
  /** The expected audit records of the change by each API. */
  records: { console: string[]; directory: string[] };
}

const expectSameRecords = (...records: string[]) => ({ console: records, directory: records });
const getOwner = () => company.as;

const CHANGES: Record<string, ChangeCase> = {
  'a user who is made': {
    createdSubject: 'user',
    console: () => createSignedCaller(company.apiKey).post('/users', { json: { email: makeEmail(), password } }),
    directory: () => directory.post(USERS_PATH, { json: makeUserInput() }),
    events: ['user.created user active'],
    // Making asks a directory for the action of inviting.
    records: { console: ['users:CreateUser user'], directory: ['users:invite user'] },
  },
  'a user who is renamed': {
    console: ({ user }) => getOwner().put(`/v1/users/${user}`, { json: { name: 'Otherwise' } }),
    directory: ({ user }) => changeUser(user, { displayName: 'Otherwise' }),
    events: ['user.updated user active'],
    records: expectSameRecords('users:update user'),
  },
  'a user who is deactivated': {
    console: ({ user }) => getOwner().post(`/v1/users/${user}/deactivate`),
    directory: ({ user }) => changeUser(user, { active: false }),
    events: ['user.deactivated user inactive'],
    records: expectSameRecords('users:deactivate user'),
  },
  'a user who is activated': {
    prepareSubject: ({ user }) => expectSuccess(getOwner().post(`/v1/users/${user}/deactivate`)),
    console: ({ user }) => getOwner().post(`/v1/users/${user}/activate`),
    directory: ({ user }) => changeUser(user, { active: 'True' }),
    events: ['user.activated user active'],
    records: expectSameRecords('users:activate user'),
  },
  'a user who is renamed and deactivated': {
    console: ({ user }) => [
      () => getOwner().put(`/v1/users/${user}`, { json: { name: 'Otherwise' } }),
      () => getOwner().post(`/v1/users/${user}/deactivate`),
    ],
    directory: ({ user }) => changeUser(user, { displayName: 'Otherwise', active: false }),
    events: ['user.deactivated user inactive', 'user.updated user active'],
    // One request leaves one record, of what weighs more.
    records: { console: ['users:update user', 'users:deactivate user'], directory: ['users:deactivate user'] },
  },
  'a user who is deleted': {
    prepareSubject: ({ user, group }) => addToGroups(company, user, group),
    console: ({ user }) => getOwner().delete(`/v1/users/${user}`),
    directory: ({ user }) => directory.delete(`${USERS_PATH}/${user}`),
    events: ['group.member_removed group user', 'user.deleted user active'],
    records: expectSameRecords('users:delete user'),
  },
  'a group that is made': {
    createdSubject: 'group',
    console: () => getOwner().post('/v1/groups', { json: makeGroupInput() }),
    directory: () => directory.post(GROUPS_PATH, { json: directoryGroupInput() }),
    events: ['group.created group'],
    records: expectSameRecords('groups:create group'),
  },
  'a group that is made with a member': {
    createdSubject: 'group',
    console: (of) => [
      () => getOwner().post('/v1/groups', { json: makeGroupInput() }),
      () => getOwner().post(`/v1/users/${of.user}/groups`, { json: { group_ids: [of.group] } }),
    ],
    directory: ({ user }) => directory.post(GROUPS_PATH, { json: directoryGroupInput({ members: toMembers(user) }) }),
    events: ['group.created group', 'group.member_added group user'],
    records: {
      console: ['groups:create group', 'users:assign_groups user group'],
      directory: ['groups:create group user'],
    },
  },
  'a group that is renamed': {
    console: ({ group }) => getOwner().put(`/v1/groups/${group}`, { json: { name: `Other ${group}` } }),
    directory: ({ group }) => directory.put(`${GROUPS_PATH}/${group}`, { json: { displayName: `Other ${group}` } }),
    events: ['group.updated group'],
    records: expectSameRecords('groups:update group'),
  },
  'a user who enters a group': {
    console: ({ user, group }) => getOwner().post(`/v1/users/${user}/groups`, { json: { group_ids: [group] } }),
    directory: ({ user, group }) => changeGroup(group, 'add', toMembers(user)),
    events: ['group.member_added group user'],
    records: { console: ['users:assign_groups user group'], directory: ['groups:update group user'] },
  },
  'a user who leaves a group': {
    prepareSubject: ({ user, group }) => addToGroups(company, user, group),
    console: ({ user, group }) => getOwner().delete(`/v1/users/${user}/groups`, { json: { group_ids: [group] } }),
    directory: ({ group }) => changeGroup(group, 'replace', []),
    events: ['group.member_removed group user'],
    records: { console: ['users:remove_groups user group'], directory: ['groups:update group user'] },
  },
  'a group that is deleted': {
    prepareSubject: ({ user, group }) => addToGroups(company, user, group),
    console: ({ group }) => getOwner().delete(`/v1/groups/${group}`),
    directory: ({ group }) => directory.delete(`${GROUPS_PATH}/${group}`),
    events: ['group.deleted group', 'group.member_removed group user'],
    records: expectSameRecords('groups:delete group'),
  },
};

describe('the events and audit records of a change by SCIM', () => {
  it.each(Object.entries(CHANGES))('of %s are complete, whether the console or SCIM makes it', async (_, change) => {
    for (const apiName of ['console', 'directory'] as const) {
      const subject = {
        user: (await createDirectoryUser(directory)).id,
        group: (await createDirectoryGroup(directory)).id,
      };
      await change.prepareSubject?.(subject);
      const recordedEvents = await recordEvents(change[apiName], subject, change.createdSubject);
      expect([apiName, recordedEvents]).toEqual([apiName, { events: change.events, records: change.records[apiName] }]);
    }
  });

  it('that is a refused deactivation name the action users:deactivate', async () => {
    const { id } = await createDirectoryUser(directory);
    const { id: ownerId } = company.owner;
    const refusedAnswer = await changeUser(ownerId, { active: false });
    expect(refusedAnswer.status).toBe(403);
    expect(await readRecord(refusedAnswer)).toMatchObject({
      action: 'users:deactivate',
      resource_id: ownerId,
      status: 403,
    });
    const unchangedAnswer = await changeUser(id, { active: true });
    expect(await readRecord(unchangedAnswer)).toMatchObject({ action: 'users:update', resource_id: id, status: 200 });
  });

  it('are the same for a response that is replayed by its idempotency key', async () => {
    const { id: user } = await createDirectoryUser(directory);
    const json = directoryGroupInput({ members: toMembers(user) });
    for (const replayedHeader of [null, 'true']) {
      const answer = await directory.post(GROUPS_PATH, { json, headers: { 'Idempotency-Key': `makes-with-${user}` } });
      expect([answer.status, answer.headers.get('idempotency-replayed')]).toEqual([201, replayedHeader]);
      const record = { action: 'groups:create', resource_id: `${answer.body.id}/${user}` };
      expect(await readRecord(answer)).toMatchObject(record);
    }
  });

  it('of more than a hundred members at once name only the group', async () => {
    const { id } = await createDirectoryGroup(directory);
    const users = await Promise.all(Array.from({ length: 101 }, () => createDirectoryUser(directory)));
    const value = users.map((user) => ({ value: user.id }));
    expect(await readRecord(await changeGroup(id, 'add', value.slice(1)))).toMatchObject({
      resource_id: expect.stringMatching(/^\w{24}(\/\w{24}){100}$/),
    });
    await expectSuccess(changeGroup(id, 'replace', []));
    expect(await readRecord(await changeGroup(id, 'add', value))).toMatchObject({ resource_id: id });
  });
});
