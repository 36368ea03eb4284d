import { env } from 'cloudflare:test';
import { afterEach, describe, expect, it } from 'vitest';
import { call } from '../support/api.ts';
import { advanceClock, resetClock, stopClockAt } from '../support/clock.ts';
import { must } from '../support/signed.ts';
import { aCompany, type Company } from '../support/worlds.ts';

afterEach(resetClock);

/**
 * A control database whose replicas lag as far as D1 allows: of a state that a session asks for, they answer what was read of
 * it first, whatever has been written since. `primary` counts the sessions that the primary answered.
 */
function createLaggingD1() {
  const answers = new Map<string, unknown>();
  const counts = { primary: 0, replica: 0 };
  let states = 0;
  const RUNS = ['all', 'raw', 'run', 'first'] as const;
  const lagging = (statement: D1PreparedStatement, key: string): D1PreparedStatement => {
    const bind = statement.bind.bind(statement);
    statement.bind = (...values) => lagging(bind(...values), `${key} ${JSON.stringify(values)}`);
    keys.set(statement, key);
    for (const name of RUNS) {
      const run = (statement[name] as (...given: unknown[]) => Promise<unknown>).bind(statement);
      Object.assign(statement, { [name]: (...given: unknown[]) => once(`${name} ${key}`, () => run(...given)) });
    }
    return statement;
  };
  const keys = new WeakMap<D1PreparedStatement, string>();
  const once = async (key: string, run: () => Promise<unknown>) => {
    if (!answers.has(key)) answers.set(key, await run());
    return structuredClone(answers.get(key));
  };
  const CONTROL_DB = {
    withSession(constraint: string) {
      const session = env.CONTROL_DB.withSession('first-primary');
      if (constraint === 'first-primary') {
        counts.primary += 1;
        states += 1;
        const state = `state ${states}`;
        return {
          prepare: (sql: string) => session.prepare(sql),
          batch: (statements: D1PreparedStatement[]) => session.batch(statements),
          getBookmark: () => state,
        };
      }
      counts.replica += 1;
      return {
        prepare: (sql: string) => lagging(session.prepare(sql), `${constraint} ${sql}`),
        batch: (statements: D1PreparedStatement[]) =>
          once(statements.map((statement) => keys.get(statement)).join(), () => session.batch(statements)),
        getBookmark: () => constraint,
      };
    },
  };
  return { env: { CONTROL_DB } as unknown as Record<string, string>, counts };
}

async function createShare({ as }: Company): Promise<{ id: string; path: string }> {
  const dashboard = await must(as.post('/v1/dashboards', { json: { name: 'Shared', layout: [] } }));
  const share = await must(as.post(`/api/v1/dashboards/${dashboard._id}/shares`, { json: { share_type: 'link' } }));
  return { id: share.id, path: `/api/v1/public/shares/${share.token}/resolve` };
}

describe('a share in the control database', () => {
  it('is read with one query, at the nearest replica, and is at most five seconds old', async () => {
    const company = await aCompany();
    const share = await createShare(company);
    const { env: lagging, counts } = createLaggingD1();
    const start = Date.now();
    stopClockAt(start);
    const view = async () => (await call('GET', share.path, { env: lagging })).status;
    expect([await view(), await view(), counts]).toEqual([200, 200, { primary: 1, replica: 1 }]);
    await must(company.as.delete(`/api/v1/dashboard-shares/${share.id}`));
    // As old as it may be.
    expect(await view()).toBe(200);
    stopClockAt(start + 4_999);
    expect(await view()).toBe(200);
    stopClockAt(start + 5_000);
    expect([await view(), await view(), counts]).toEqual([401, 401, { primary: 2, replica: 4 }]);
  });

  it('is read at the primary when the clock has gone back', async () => {
    const share = await createShare(await aCompany());
    const { env: lagging, counts } = createLaggingD1();
    await call('GET', share.path, { env: lagging });
    advanceClock(-60_000);
    await call('GET', share.path, { env: lagging });
    expect(counts).toEqual({ primary: 2, replica: 0 });
  });
});
