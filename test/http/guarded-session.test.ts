import { env } from 'cloudflare:test';
import { eq, sql } from 'drizzle-orm';
import { describe, expect, it } from 'vitest';
import { forgetAll } from '../../src/access/known-principals.ts';
import { ACCESS_TABLES, touchesAccess } from '../../src/db/access-changes.ts';
import { changingAccess, commit, openControlDb } from '../../src/db/client.ts';
import { sessions } from '../../src/db/schema/sign-in.ts';
import { users } from '../../src/db/schema/users.ts';
import { inContext } from '../support/context.ts';
import { signed } from '../support/signed.ts';
import { aCompany } from '../support/worlds.ts';

describe('a change of access', () => {
  const deactivate = (db: ReturnType<typeof openControlDb>, id: string) =>
    db.update(users).set({ isActive: false }).where(eq(users.id, id)).returning({ id: users.id });

  it('is refused where it was not announced, alone and in a unit', async () => {
    const { owner } = await aCompany();
    const db = openControlDb(env.CONTROL_DB);
    await expect(commit(db, { user: deactivate(db, owner.id) })).rejects.toThrow('ctx.changeAccess');
    await expect(deactivate(db, owner.id)).rejects.toThrow('Failed query');
    expect(await db.select({ isActive: users.isActive }).from(users).where(eq(users.id, owner.id))).toEqual([
      { isActive: true },
    ]);
  });

  it('is applied until its announcement is too old by the clock of the database, and then not at all', async () => {
    const { owner } = await aCompany();
    const db = openControlDb(env.CONTROL_DB);
    const unit = () => commit(db, { user: deactivate(db, owner.id) });
    await expect(changingAccess(db, Date.now() - 1, unit)).rejects.toThrow('Access cannot be changed');
    expect(await changingAccess(db, Date.now() + 10_000, unit)).toEqual({ user: [{ id: owner.id }] });
    await expect(unit()).rejects.toThrow('ctx.changeAccess');
  });

  it('may begin in the same moment as another, which is over first', async () => {
    const { owner } = await aCompany();
    const db = openControlDb(env.CONTROL_DB);
    const deadline = Date.now() + 10_000;
    const other = changingAccess(db, deadline, async () => {});
    const changed = changingAccess(db, deadline, async () => {
      await other;
      return commit(db, { user: deactivate(db, owner.id) });
    });
    expect(await changed).toEqual({ user: [{ id: owner.id }] });
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
  ])('is told by its SQL: %s', (text, touches) => {
    expect(touchesAccess(text)).toBe(touches);
  });
});

/** The tables that a query reads. */
const tablesOf = (text: string) => [...text.matchAll(/\b(?:from|join) "(\w+)"/g)].map(([, name]) => name as string);

describe('the list of what touches access', () => {
  it('has every table that authentication reads', async () => {
    const { as, apiKey } = await aCompany();
    const read: string[] = [];
    const watching = {
      withSession: (constraint: string) => {
        const session = env.CONTROL_DB.withSession(constraint);
        return {
          prepare: (text: string) => {
            read.push(...tablesOf(text));
            return session.prepare(text);
          },
          batch: (queries: D1PreparedStatement[]) => session.batch(queries),
        };
      },
    };
    forgetAll();
    const bindings = { CONTROL_DB: watching } as unknown as Record<string, string>;
    // Neither reads anything else: there is no such body, and no such order.
    expect((await as.post('/v1/policies', { json: {}, env: bindings })).status).toBe(422);
    expect((await signed(apiKey).get('/groups?order_by=nothing', { env: bindings })).status).toBe(422);
    expect([...new Set(read)].toSorted()).toEqual([...ACCESS_TABLES].toSorted());
  });
});

describe('a unit of work that changes the access of nobody whom anybody knows', () => {
  it('tells no gate', async () => {
    const gates = { getByName: () => expect.unreachable('The gate was asked.') };
    const { id } = await aCompany();
    await inContext({ kind: 'anonymous' }, async (ctx) => {
      Object.assign(ctx.bindings, { ORGANIZATION_GATE: gates });
      const ended = ctx.db.update(sessions).set({ endedAt: 0 }).where(sql`0`);
      await ctx.changeAccess({ companyId: id, principals: [] }, () => commit(ctx.db, { ended }));
    });
  });
});
