import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../src/kernel/ids.ts';
import type { Caller } from '../support/api.ts';
import { createCountingD1 } from '../support/counted.ts';
import { countRows } from '../support/rival.ts';
import { must } from '../support/signed.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import {
  createDirectory,
  createDirectoryGroup,
  GROUPS_PATH,
  makePatch,
  readRefusal,
  USER_SCHEMA,
  USERS_PATH,
} from './support.ts';

const PEOPLE = 10_000;
const TEAMS = 500;
const PAGE = 1000;

let company: Company;
let directory: Caller;
beforeAll(async () => {
  company = await aCompany();
  directory = await createDirectory(company);
  await seedDirectory();
}, 120_000);

/** What a first sync has made, in the database itself: each team has twenty members, and each person is in one team. */
async function seedDirectory(): Promise<void> {
  const users = Array.from({ length: PEOPLE }, (_, index) => ({ id: newId(Date.now()), index }));
  const teams = Array.from({ length: TEAMS }, (_, index) => ({ id: newId(Date.now()), index }));
  const bindings = users.map(({ id, index }) => ({ id: newId(Date.now()), user: id, team: teams[index % TEAMS]?.id }));
  const run = (sql: string, rows: object[]) => env.CONTROL_DB.prepare(sql).bind(company.id, JSON.stringify(rows));
  const parts = <T>(all: T[]) =>
    Array.from({ length: all.length / 500 }, (_, at) => all.slice(at * 500, at * 500 + 500));
  for (const part of parts(users))
    await run(
      `insert into users (id, company_id, email, name, external_id, is_active, activated_at, teams, metadata, created_at, updated_at)
       select value ->> 'id', ?1, 'p' || (value ->> 'index') || '@sync.example', 'Person ' || (value ->> 'index'),
       'e' || (value ->> 'index'), 1, 1, '[]', '{}', 1, 1 from json_each(?2)`,
      part,
    ).run();
  await run(
    `insert into groups (id, company_id, name, slug, external_id, roles, created_at, updated_at)
     select value ->> 'id', ?1, 'Team ' || (value ->> 'index'), 'team-' || (value ->> 'index'), 'g' || (value ->> 'index'), '[]', 1, 1
     from json_each(?2)`,
    teams,
  ).run();
  for (const part of parts(bindings))
    await run(
      `insert into group_bindings (id, company_id, group_id, principal_type, principal_id, account_id, created_at)
       select value ->> 'id', ?1, value ->> 'team', 'user', value ->> 'user', '${company.accountId}', 1 from json_each(?2)`,
      part,
    ).run();
}

/** What a directory holds of all, page by page. */
async function readPages(path: string, more = '', sending = {}) {
  const all: Record<string, string>[] = [];
  for (let startIndex = 1, total = 1; startIndex <= total; startIndex += PAGE) {
    const body = await must(directory.get(`${path}?startIndex=${startIndex}&count=${PAGE}${more}`, sending));
    total = body.totalResults;
    all.push(...body.Resources);
  }
  return all;
}

/** The environment in which batches of the control database that write are counted, and the most rows that one of them reads. */
function createWriteCountingEnv() {
  let writes = 0;
  let rowsRead = 0;
  const texts = new WeakMap<object, string>();
  const named = (statement: D1PreparedStatement, text: string): D1PreparedStatement => {
    const bind = statement.bind.bind(statement);
    texts.set(statement, text);
    return Object.assign(statement, {
      bind: (...values: unknown[]) => named(bind(...values), text),
    });
  };
  // When a key was last used is noted once in a while, whatever is asked.
  const isCounted = (statement?: object) => !/last_used_at/.test((statement && texts.get(statement)) ?? '');
  const session = (inner: D1DatabaseSession): D1DatabaseSession =>
    new Proxy(inner, {
      get(target, property) {
        const value = Reflect.get(target, property);
        if (property === 'prepare') return (text: string) => named(target.prepare(text), text);
        if (property !== 'batch') return typeof value === 'function' ? value.bind(target) : value;
        return async (...statements: Parameters<D1DatabaseSession['batch']>) => {
          const results = await target.batch(...statements);
          const read = results.reduce((sum, { meta }) => sum + (meta.rows_read ?? 0), 0);
          rowsRead = Math.max(rowsRead, read);
          if (results.some(({ meta }, at) => meta.changes > 0 && isCounted(statements[0][at]))) writes += 1;
          return results;
        };
      },
    });
  const CONTROL_DB = { withSession: (constraint: string) => session(env.CONTROL_DB.withSession(constraint)) };
  return { env: { CONTROL_DB } as unknown as Record<string, string>, writes: () => writes, rowsRead: () => rowsRead };
}

const readState = async () => ({
  users: await countRows('users where company_id = ? and updated_at > 1', company.id),
  groups: await countRows('groups where company_id = ? and updated_at > 1', company.id),
  bindings: await countRows('group_bindings where company_id = ?', company.id),
});

describe('a SCIM sync of 10,000 users and 500 groups', () => {
  it('reads all of them in pages of 1,000, with one query a page', async () => {
    const counted = createCountingD1();
    const users = await readPages(USERS_PATH, '', { env: counted.env });
    expect(users.length).toBeGreaterThanOrEqual(PEOPLE);
    expect(new Set(users.map(({ id }) => id)).size).toBe(users.length);
    // Who is asking, and the page.
    expect(counted.calls()).toBeLessThanOrEqual(2 * Math.ceil(users.length / PAGE));
    expect(counted.longest()).toBeLessThan(2_000_000);
    const groups = await readPages(GROUPS_PATH, '&excludedAttributes=members');
    expect(groups.length).toBeGreaterThanOrEqual(TEAMS);
  }, 60_000);

  it('changes nothing and writes nothing the second time', async () => {
    const before = await readState();
    const counted = createWriteCountingEnv();
    const sending = { env: counted.env };
    const users = (await readPages(USERS_PATH)).filter(({ userName }) => userName?.endsWith('@sync.example'));
    // What each directory sends of each: every twentieth of the users here, and every tenth of the groups.
    for (const { id, userName, displayName, externalId } of users.filter((_, index) => index % 20 === 0)) {
      const json = { schemas: [USER_SCHEMA], userName, displayName, externalId, active: true };
      await must(directory.put(`${USERS_PATH}/${id}`, { json, ...sending }));
      await must(
        directory.patch(`${USERS_PATH}/${id}`, {
          ...makePatch({ op: 'Replace', value: { ...json, active: 'True' } }),
          ...sending,
        }),
      );
    }
    const groups = (await readPages(GROUPS_PATH)).filter(({ displayName }) => displayName?.startsWith('Team '));
    for (const { id, displayName, members } of groups.filter((_, index) => index % 10 === 0)) {
      await must(directory.put(`${GROUPS_PATH}/${id}`, { json: { displayName, members }, ...sending }));
      const adding = makePatch({ op: 'Add', path: 'members', value: members });
      await must(directory.patch(`${GROUPS_PATH}/${id}`, { ...adding, ...sending }));
    }
    expect(counted.writes()).toBe(0);
    expect(await readState()).toEqual(before);
  }, 600_000);

  it('fills a group with 10,000 members in pages of 1,000, one transaction each, and none when repeated', async () => {
    const users = (await readPages(USERS_PATH, '&attributes=userName')).filter(({ userName }) =>
      userName?.endsWith('@sync.example'),
    );
    const group = await createDirectoryGroup(directory);
    const fill = async () => {
      const counted = createWriteCountingEnv();
      for (let from = 0; from < users.length; from += PAGE) {
        const value = users.slice(from, from + PAGE).map(({ id }) => ({ value: id }));
        const adding = makePatch({ op: 'Add', path: 'members', value });
        await must(
          directory.patch(`${GROUPS_PATH}/${group.id}?excludedAttributes=members`, { ...adding, env: counted.env }),
        );
      }
      return counted;
    };
    const first = await fill();
    expect(first.writes()).toBe(PEOPLE / PAGE);
    // Each member is looked up, however many users the company has.
    expect(first.rowsRead()).toBeLessThan(100 * PAGE);
    expect((await fill()).writes()).toBe(0);
    const whole = await must(directory.get(`${GROUPS_PATH}/${group.id}`));
    expect(whole.members).toHaveLength(PEOPLE);
    // The whole of it by PUT, as Okta sends it: without change, then half of it.
    const counted = createWriteCountingEnv();
    const json = { displayName: group.displayName, members: whole.members };
    await must(directory.put(`${GROUPS_PATH}/${group.id}`, { json, env: counted.env }));
    expect(counted.writes()).toBe(0);
    const half = { ...json, members: whole.members.slice(0, PEOPLE / 2) };
    expect((await must(directory.put(`${GROUPS_PATH}/${group.id}`, { json: half }))).members).toHaveLength(PEOPLE / 2);
    const tag = (await directory.get(`${GROUPS_PATH}/${group.id}`)).headers.get('etag') as string;
    const emptying = { ...makePatch({ op: 'remove', path: 'members' }), headers: { 'if-match': tag } };
    expect((await must(directory.patch(`${GROUPS_PATH}/${group.id}`, emptying))).members).toEqual([]);
  }, 600_000);

  it('is refused a page with too many members, and gets it without members', async () => {
    const everybody = Array.from({ length: 6 }, () => createDirectoryGroup(directory));
    const groups = await Promise.all(everybody);
    await env.CONTROL_DB.prepare(
      `insert into group_bindings (id, company_id, group_id, principal_type, principal_id, account_id, created_at)
       select lower(hex(randomblob(12))), ?1, groups.value, 'user', users.id, ?2, 1 from users, json_each(?3) as groups
       where users.company_id = ?1 and users.email like '%@sync.example'`,
    )
      .bind(company.id, company.accountId, JSON.stringify(groups.map(({ id }) => id)))
      .run();
    expect(readRefusal(await directory.get(`${GROUPS_PATH}?count=1000`))).toEqual([400, 'tooMany']);
    expect((await directory.get(`${GROUPS_PATH}?count=1000&excludedAttributes=members`)).status).toBe(200);
    expect((await directory.get(`${GROUPS_PATH}/${groups[0].id}`)).body.members).toHaveLength(PEOPLE);
  }, 120_000);

  it('is refused 20,000 unknown members in a short answer', async () => {
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
