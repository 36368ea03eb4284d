import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { newId } from '../../src/kernel/ids.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { createCountingD1 } from '../support/counting-d1.ts';
import { countRows, runSql } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import {
  createDirectory,
  createDirectoryGroup,
  GROUPS_PATH,
  makePatch,
  readRefusal,
  USER_SCHEMA,
  USERS_PATH,
} from './support.ts';

const USER_COUNT = 10_000;
const TEAM_COUNT = 500;
const PAGE_SIZE = 1000;

const company = await createOwnedCompany();
const directory = await createDirectory(company);
await seedDirectory();

/** Stores the result of a first sync in the database: each team has twenty members, and each user is in one team. */
async function seedDirectory(): Promise<void> {
  const users = Array.from({ length: USER_COUNT }, (_, index) => ({ id: newId(Date.now()), index }));
  const teams = Array.from({ length: TEAM_COUNT }, (_, index) => ({ id: newId(Date.now()), index }));
  const bindings = users.map(({ id, index }) => ({
    id: newId(Date.now()),
    user: id,
    team: teams[index % TEAM_COUNT]?.id,
  }));
  const prepareInsert = (sql: string, rows: object[]) =>
    env.CONTROL_DB.prepare(sql).bind(company.id, JSON.stringify(rows));
  const splitRows = <T>(allRows: T[]) =>
    Array.from({ length: allRows.length / 500 }, (_, at) => allRows.slice(at * 500, at * 500 + 500));
  for (const batch of splitRows(users))
    await prepareInsert(
      `insert into users (id, company_id, email, name, external_id, is_active, activated_at, teams, metadata, created_at, updated_at)
       select value ->> 'id', ?1, 'p' || (value ->> 'index') || '@sync.example', 'Person ' || (value ->> 'index'),
       'e' || (value ->> 'index'), 1, 1, '[]', '{}', 1, 1 from json_each(?2)`,
      batch,
    ).run();
  await prepareInsert(
    `insert into groups (id, company_id, name, slug, external_id, roles, created_at, updated_at)
     select value ->> 'id', ?1, 'Team ' || (value ->> 'index'), 'team-' || (value ->> 'index'), 'g' || (value ->> 'index'), '[]', 1, 1
     from json_each(?2)`,
    teams,
  ).run();
  for (const batch of splitRows(bindings))
    await prepareInsert(
      `insert into group_bindings (id, company_id, group_id, principal_type, principal_id, account_id, created_at)
       select value ->> 'id', ?1, value ->> 'team', 'user', value ->> 'user', '${company.accountId}', 1 from json_each(?2)`,
      batch,
    ).run();
}

/** Reads all records of a list, page by page. */
async function readPages(path: string, extraQuery = '', requestOptions = {}) {
  const allRecords: Record<string, string>[] = [];
  for (let startIndex = 1, total = 1; startIndex <= total; startIndex += PAGE_SIZE) {
    const body = await expectSuccess(
      directory.get(`${path}?startIndex=${startIndex}&count=${PAGE_SIZE}${extraQuery}`, requestOptions),
    );
    total = body.totalResults;
    allRecords.push(...body.Resources);
  }
  return allRecords;
}

/** Creates an environment that counts the writing batches of the control database, and the most rows that one batch reads. */
function createWriteCountingEnv() {
  let writeCount = 0;
  let maxBatchRowCount = 0;
  const texts = new WeakMap<object, string>();
  const rememberText = (statement: D1PreparedStatement, text: string): D1PreparedStatement => {
    const bind = statement.bind.bind(statement);
    texts.set(statement, text);
    return Object.assign(statement, {
      bind: (...values: unknown[]) => rememberText(bind(...values), text),
    });
  };
  // When a key was last used is noted once in a while, whatever is asked.
  const isCounted = (statement?: object) => !/last_used_at/.test((statement && texts.get(statement)) ?? '');
  const wrapSession = (innerSession: D1DatabaseSession): D1DatabaseSession =>
    new Proxy(innerSession, {
      get(target, property) {
        const value = Reflect.get(target, property);
        if (property === 'prepare') return (text: string) => rememberText(target.prepare(text), text);
        if (property !== 'batch') return typeof value === 'function' ? value.bind(target) : value;
        return async (...statements: Parameters<D1DatabaseSession['batch']>) => {
          const results = await target.batch(...statements);
          const batchRowCount = results.reduce((sum, { meta }) => sum + (meta.rows_read ?? 0), 0);
          maxBatchRowCount = Math.max(maxBatchRowCount, batchRowCount);
          if (results.some(({ meta }, at) => meta.changes > 0 && isCounted(statements[0][at]))) writeCount += 1;
          return results;
        };
      },
    });
  const CONTROL_DB = { withSession: (constraint: string) => wrapSession(env.CONTROL_DB.withSession(constraint)) };
  return {
    env: { CONTROL_DB } as unknown as Record<string, string>,
    writes: () => writeCount,
    getMaxBatchRowCount: () => maxBatchRowCount,
  };
}

const readState = async () => ({
  users: await countRows('users where company_id = ? and updated_at > 1', company.id),
  groups: await countRows('groups where company_id = ? and updated_at > 1', company.id),
  bindings: await countRows('group_bindings where company_id = ?', company.id),
});

describe('a SCIM sync of 10,000 users and 500 groups', () => {
  it('reads all of them in pages of 1,000, with one query per page', async () => {
    const countingDb = createCountingD1();
    const users = await readPages(USERS_PATH, '', { env: countingDb.env });
    expect(users.length).toBeGreaterThanOrEqual(USER_COUNT);
    expect(new Set(users.map(({ id }) => id)).size).toBe(users.length);
    // Who is asking, and the page.
    expect(countingDb.countCalls()).toBeLessThanOrEqual(2 * Math.ceil(users.length / PAGE_SIZE));
    expect(countingDb.measureLongestAnswer()).toBeLessThan(2_000_000);
    const groups = await readPages(GROUPS_PATH, '&excludedAttributes=members');
    expect(groups.length).toBeGreaterThanOrEqual(TEAM_COUNT);
  }, 60_000);

  it('changes and writes nothing the second time', async () => {
    const stateBefore = await readState();
    const countingEnv = createWriteCountingEnv();
    const requestOptions = { env: countingEnv.env };
    const users = (await readPages(USERS_PATH)).filter(({ userName }) => userName?.endsWith('@sync.example'));
    // What each directory sends of each: every two-hundredth of the users here, and every fiftieth of the groups.
    for (const { id, userName, displayName, externalId } of users.filter((_, index) => index % 200 === 0)) {
      const json = { schemas: [USER_SCHEMA], userName, displayName, externalId, active: true };
      await expectSuccess(directory.put(`${USERS_PATH}/${id}`, { json, ...requestOptions }));
      await expectSuccess(
        directory.patch(`${USERS_PATH}/${id}`, {
          ...makePatch({ op: 'Replace', value: { ...json, active: 'True' } }),
          ...requestOptions,
        }),
      );
    }
    const groups = (await readPages(GROUPS_PATH)).filter(({ displayName }) => displayName?.startsWith('Team '));
    for (const { id, displayName, members } of groups.filter((_, index) => index % 50 === 0)) {
      await expectSuccess(directory.put(`${GROUPS_PATH}/${id}`, { json: { displayName, members }, ...requestOptions }));
      const addPatch = makePatch({ op: 'Add', path: 'members', value: members });
      await expectSuccess(directory.patch(`${GROUPS_PATH}/${id}`, { ...addPatch, ...requestOptions }));
    }
    expect(countingEnv.writes()).toBe(0);
    expect(await readState()).toEqual(stateBefore);
  }, 600_000);

  it('fills a group with 10,000 members in pages of 1,000 with one transaction each, and with none when repeated', async () => {
    const users = (await readPages(USERS_PATH, '&attributes=userName')).filter(({ userName }) =>
      userName?.endsWith('@sync.example'),
    );
    const group = await createDirectoryGroup(directory);
    const fillGroup = async () => {
      const countingEnv = createWriteCountingEnv();
      for (let from = 0; from < users.length; from += PAGE_SIZE) {
        const value = users.slice(from, from + PAGE_SIZE).map(({ id }) => ({ value: id }));
        const addPatch = makePatch({ op: 'Add', path: 'members', value });
        await expectSuccess(
          directory.patch(`${GROUPS_PATH}/${group.id}?excludedAttributes=members`, {
            ...addPatch,
            env: countingEnv.env,
          }),
        );
      }
      return countingEnv;
    };
    const first = await fillGroup();
    expect(first.writes()).toBe(USER_COUNT / PAGE_SIZE);
    // Each member is looked up, however many users the company has.
    expect(first.getMaxBatchRowCount()).toBeLessThan(100 * PAGE_SIZE);
    expect((await fillGroup()).writes()).toBe(0);
    const wholeGroup = await expectSuccess(directory.get(`${GROUPS_PATH}/${group.id}`));
    expect(wholeGroup.members).toHaveLength(USER_COUNT);
    // The whole of it by PUT, as Okta sends it: without change, then half of it.
    const countingEnv = createWriteCountingEnv();
    const json = { displayName: group.displayName, members: wholeGroup.members };
    await expectSuccess(directory.put(`${GROUPS_PATH}/${group.id}`, { json, env: countingEnv.env }));
    expect(countingEnv.writes()).toBe(0);
    const halfGroup = { ...json, members: wholeGroup.members.slice(0, USER_COUNT / 2) };
    expect(
      (await expectSuccess(directory.put(`${GROUPS_PATH}/${group.id}`, { json: halfGroup }))).members,
    ).toHaveLength(USER_COUNT / 2);
    const tag = (await directory.get(`${GROUPS_PATH}/${group.id}`)).headers.get('etag') as string;
    const emptyRequest = { ...makePatch({ op: 'remove', path: 'members' }), headers: { 'if-match': tag } };
    expect((await expectSuccess(directory.patch(`${GROUPS_PATH}/${group.id}`, emptyRequest))).members).toEqual([]);
  }, 600_000);

  it('is refused a page with too many members, but gets the page without members', async () => {
    const newGroups = Array.from({ length: 6 }, () => createDirectoryGroup(directory));
    const groups = await Promise.all(newGroups);
    await runSql(
      `insert into group_bindings (id, company_id, group_id, principal_type, principal_id, account_id, created_at)
       select lower(hex(randomblob(12))), ?1, groups.value, 'user', users.id, ?2, 1 from users, json_each(?3) as groups
       where users.company_id = ?1 and users.email like '%@sync.example'`,
      company.id,
      company.accountId,
      JSON.stringify(groups.map(({ id }) => id)),
    );
    expect(readRefusal(await directory.get(`${GROUPS_PATH}?count=1000`))).toEqual([400, 'tooMany']);
    expect((await directory.get(`${GROUPS_PATH}?count=1000&excludedAttributes=members`)).status).toBe(200);
    expect((await directory.get(`${GROUPS_PATH}/${groups[0].id}`)).body.members).toHaveLength(USER_COUNT);
  }, 120_000);

  it('is refused 20,000 unknown members with a short answer', async () => {
    const group = await createDirectoryGroup(directory);
    const value = Array.from({ length: 20_000 }, (_, index) => ({
      value: index.toString(16).padStart(24, 'a'),
      display: 'x'.repeat(8),
    }));
    expect(JSON.stringify(value).length).toBeGreaterThan(1_000_000);
    const answer = await directory.patch(
      `${GROUPS_PATH}/${group.id}`,
      makePatch({ op: 'add', path: 'members', value }),
    );
    expect(readRefusal(answer)).toEqual([400, 'invalidValue']);
    expect(JSON.stringify(answer.body).length).toBeLessThan(1000);
  });
});
