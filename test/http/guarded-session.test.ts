import { env } from 'cloudflare:test';
import { eq, sql } from 'drizzle-orm';
import { describe, expect, it } from 'vitest';
import { ACCESS_TABLES, touchesAccess } from '../../src/db/access-changes.ts';
import { commit, openControlDb, runAccessChange } from '../../src/db/client.ts';
import { sessions } from '../../src/db/schema/sign-in.ts';
import { users } from '../../src/db/schema/users.ts';
import { authorizeOauthClient } from '../oauth/support.ts';
import { createOwnedCompany } from '../support/companies.ts';
import { runInContext } from '../support/context.ts';
import { forgetPrincipals } from '../support/known-principals.ts';
import { createSignedCaller } from '../support/signed.ts';

describe('a database write that changes access', () => {
  const makeDeactivation = (db: ReturnType<typeof openControlDb>, id: string) =>
    db.update(users).set({ isActive: false }).where(eq(users.id, id)).returning({ id: users.id });

  it('is refused outside of changeAccess(), alone and in a transaction', async () => {
    const { owner } = await createOwnedCompany();
    const db = openControlDb(env.CONTROL_DB);
    await expect(commit(db, { user: makeDeactivation(db, owner.id) })).rejects.toThrow('ctx.changeAccess');
    await expect(makeDeactivation(db, owner.id)).rejects.toThrow('Failed query');
    expect(await db.select({ isActive: users.isActive }).from(users).where(eq(users.id, owner.id))).toEqual([
      { isActive: true },
    ]);
  });

  it('is applied until the deadline of its announcement by the database’s clock, and refused afterwards', async () => {
    const { owner } = await createOwnedCompany();
    const db = openControlDb(env.CONTROL_DB);
    const commitDeactivation = () => commit(db, { user: makeDeactivation(db, owner.id) });
    await expect(runAccessChange(db, Date.now() - 1, commitDeactivation)).rejects.toThrow('Access cannot be changed');
    expect(await runAccessChange(db, Date.now() + 10_000, commitDeactivation)).toEqual({ user: [{ id: owner.id }] });
    await expect(commitDeactivation()).rejects.toThrow('ctx.changeAccess');
  });

  it('is applied even if another change with the same deadline has ended first', async () => {
    const { owner } = await createOwnedCompany();
    const db = openControlDb(env.CONTROL_DB);
    const deadline = Date.now() + 10_000;
    const other = runAccessChange(db, deadline, async () => {});
    const pendingChange = runAccessChange(db, deadline, async () => {
      await other;
      return commit(db, { user: makeDeactivation(db, owner.id) });
    });
    expect(await pendingChange).toEqual({ user: [{ id: owner.id }] });
  });

  it.each([
    ['insert into "group_bindings" ("id") values (?)', true],
    ['insert into "users" ("id", "is_active") values (?, ?)', false],
    ['insert into "users" ("id") values (?) on conflict do update set "name" = ?, "is_active" = ?', true],
    ['insert or replace into "users" ("id") values (?)', true],
    ['update "users" set "last_login_at" = ? where "users"."is_active" = ?', false],
    ['update "users" set "last_login_at" = ?, "email" = ? where "users"."id" = ?', true],
    ['update groups set roles = ? where id = ?', true],
    ['update "sessions" set "last_used_at" = ?', false],
    ['delete from "sessions" where "sessions"."expires_at" < ?', false],
    ['delete from "sessions" where "sessions"."user_id" = ?', true],
    ['with gone as (select 1) delete from group_policies where policy_id in gone', true],
    ['select "is_active" from "users" where "id" = ?', false],
    ['update "dashboards" set "deleted_at" = ?', false],
  ])('is recognized by its SQL: %s', (text, expectedResult) => {
    expect(touchesAccess(text)).toBe(expectedResult);
  });
});

const listTables = (queries: readonly string[]) =>
  sortDistinct(
    queries.flatMap((text) => [...text.matchAll(/\b(?:from|join) "(\w+)"/g)].map(([, name]) => name as string)),
  );

/** Lists the columns that queries read, as `table.column`. Queries of a single table select columns without the table's name. */
const listColumns = (queries: readonly string[]) =>
  sortDistinct(
    queries.flatMap((text) => [
      ...[...text.matchAll(/"(\w+)"\."(\w+)"/g)].map(([, table, column]) => `${table}.${column}`),
      ...[...text.matchAll(/\bselect ((?:"\w+"(?:, )?)+) from "(\w+)"/g)].flatMap(([, columns = '', table]) =>
        columns.split(', ').map((column) => `${table}.${column.slice(1, -1)}`),
      ),
    ]),
  );

const sortDistinct = (names: readonly string[]) => [...new Set(names)].toSorted();

/** Records the queries that authenticate uncached callers: one with a session, one OAuth program, and one with a key. */
async function recordAuthenticationQueries(): Promise<string[]> {
  const { as, apiKey } = await createOwnedCompany();
  const { program } = await authorizeOauthClient(as, { scope: '*' });
  const queries: string[] = [];
  const watchedDb = {
    withSession: (constraint: string) => {
      const session = env.CONTROL_DB.withSession(constraint);
      return {
        prepare: (text: string) => {
          queries.push(text);
          return session.prepare(text);
        },
        batch: (statements: D1PreparedStatement[]) => session.batch(statements),
      };
    },
  };
  forgetPrincipals();
  const bindings = { CONTROL_DB: watchedDb } as unknown as Record<string, string>;
  // None reads anything else: there is no such body, and no such order.
  expect((await as.post('/v1/policies', { json: {}, env: bindings })).status).toBe(422);
  expect((await program.post('/v1/policies', { json: {}, env: bindings })).status).toBe(422);
  expect((await createSignedCaller(apiKey).get('/groups?order_by=nothing', { env: bindings })).status).toBe(422);
  return queries.filter((text) => text.startsWith('select'));
}

/** Columns that authentication reads, and whose values never change. */
const IDENTITY_COLUMNS = [
  ...['accounts.company_id', 'accounts.id', 'companies.id', 'groups.company_id', 'groups.id'],
  ...['api_keys.access_key', 'api_keys.company_id', 'api_keys.id', 'api_keys.service_account_id'],
  ...['oauth_grants.client_id', 'oauth_grants.company_id', 'oauth_grants.id', 'oauth_grants.resource'],
  'oauth_grants.user_id',
  ...['permissions.company_id', 'permissions.id', 'policies.company_id', 'policies.id'],
  ...['service_accounts.company_id', 'service_accounts.id'],
  ...['sessions.company_id', 'sessions.id', 'sessions.user_id', 'users.company_id', 'users.id'],
];

/** Columns that authentication reads, but that decide neither who a caller is nor what the caller may do. */
const UNGUARDED_COLUMNS = [
  ...['api_keys.last_used_at', 'sessions.last_used_at'],
  // A session or a grant is prolonged by its refresh token, which is read by itself.
  ...['oauth_grants.expires_at', 'oauth_grants.last_used_at'],
  ...['oauth_grants.previous_digest', 'oauth_grants.previous_until'],
  ...['sessions.expires_at', 'sessions.previous_digest', 'sessions.previous_until'],
  ...[
    'users.activated_at',
    'users.created_at',
    'users.external_id',
    'users.is_verified',
    'users.last_login_at',
    'users.metadata',
    'users.name_source',
  ],
  ...['users.mfa_enabled', 'users.password_hash', 'users.session_epoch', 'users.teams', 'users.updated_at'],
];

describe('the list of tables and columns that decide access', () => {
  it('has every table that authentication reads', async () => {
    expect(listTables(await recordAuthenticationQueries())).toEqual([...ACCESS_TABLES].toSorted());
  });

  it('has every column that authentication reads and whose value may change', async () => {
    const decidesAccess = (name: string): boolean => {
      const [table, column] = name.split('.');
      return touchesAccess(`update "${table}" set "${column}" = ? where "${table}"."id" = ?`);
    };
    const columns = listColumns(await recordAuthenticationQueries());
    expect(columns.filter((name) => !decidesAccess(name))).toEqual(
      [...IDENTITY_COLUMNS, ...UNGUARDED_COLUMNS].toSorted(),
    );
  });
});

it('a change of access that affects no principal does not call the company’s Durable Object', async () => {
  const gates = { getByName: () => expect.unreachable('The gate was asked.') };
  const { id } = await createOwnedCompany();
  await runInContext({ kind: 'anonymous' }, async (ctx) => {
    Object.assign(ctx.bindings, { ORGANIZATION_GATE: gates });
    const sessionUpdate = ctx.db.update(sessions).set({ endedAt: 0 }).where(sql`0`);
    await ctx.changeAccess({ companyId: id, principals: [] }, () => commit(ctx.db, { ended: sessionUpdate }));
  });
});
