import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { callApi } from '../support/api.ts';
import { advanceClock, stopClockAt } from '../support/clock.ts';
import { type Company, createOwnedCompany } from '../support/companies.ts';
import { expectSuccess } from '../support/signed.ts';

/**
 * Creates a control database whose replicas lag as far as D1 allows: for the state that a session requires, they repeat the first
 * answer read of that state, whatever has been written since. `primary` counts the sessions that the primary answered.
 */
function createLaggingD1() {
  const answers = new Map<string, unknown>();
  const counts = { primary: 0, replica: 0 };
  let stateCount = 0;
  const QUERY_METHODS = ['all', 'raw', 'run', 'first'] as const;
  const wrapLagging = (statement: D1PreparedStatement, key: string): D1PreparedStatement => {
    const bind = statement.bind.bind(statement);
    statement.bind = (...values) => wrapLagging(bind(...values), `${key} ${JSON.stringify(values)}`);
    keys.set(statement, key);
    for (const name of QUERY_METHODS) {
      const run = (statement[name] as (...queryArguments: unknown[]) => Promise<unknown>).bind(statement);
      Object.assign(statement, {
        [name]: (...queryArguments: unknown[]) => answerOnce(`${name} ${key}`, () => run(...queryArguments)),
      });
    }
    return statement;
  };
  const keys = new WeakMap<D1PreparedStatement, string>();
  const answerOnce = async (key: string, run: () => Promise<unknown>) => {
    if (!answers.has(key)) answers.set(key, await run());
    return structuredClone(answers.get(key));
  };
  const CONTROL_DB = {
    withSession(constraint: string) {
      const session = env.CONTROL_DB.withSession('first-primary');
      if (constraint === 'first-primary') {
        counts.primary += 1;
        const state = `state ${++stateCount}`;
        return {
          prepare: (sql: string) => session.prepare(sql),
          batch: (statements: D1PreparedStatement[]) => session.batch(statements),
          getBookmark: () => state,
        };
      }
      counts.replica += 1;
      return {
        prepare: (sql: string) => wrapLagging(session.prepare(sql), `${constraint} ${sql}`),
        batch: (statements: D1PreparedStatement[]) =>
          answerOnce(statements.map((statement) => keys.get(statement)).join(), () => session.batch(statements)),
        getBookmark: () => constraint,
      };
    },
  };
  return { env: { CONTROL_DB } as unknown as Record<string, string>, counts };
}

async function createShare({ as }: Company): Promise<{ id: string; path: string }> {
  const dashboard = await expectSuccess(as.post('/v1/dashboards', { json: { name: 'Shared', layout: [] } }));
  const share = await expectSuccess(
    as.post(`/api/v1/dashboards/${dashboard._id}/shares`, { json: { share_type: 'link' } }),
  );
  return { id: share.id, path: `/api/v1/public/shares/${share.token}/resolve` };
}

describe('a share in the control database', () => {
  it('is read with one query, at the nearest replica, and is at most five seconds old', async () => {
    const company = await createOwnedCompany();
    const share = await createShare(company);
    const { env: laggingEnv, counts } = createLaggingD1();
    const start = Date.now();
    stopClockAt(start);
    const viewShare = async () => (await callApi('GET', share.path, { env: laggingEnv })).status;
    expect([await viewShare(), await viewShare(), counts]).toEqual([200, 200, { primary: 1, replica: 1 }]);
    await expectSuccess(company.as.delete(`/api/v1/dashboard-shares/${share.id}`));
    // As old as it may be.
    expect(await viewShare()).toBe(200);
    stopClockAt(start + 4_999);
    expect(await viewShare()).toBe(200);
    stopClockAt(start + 5_000);
    expect([await viewShare(), await viewShare(), counts]).toEqual([401, 401, { primary: 2, replica: 4 }]);
  });

  it('is read at the primary when the clock has gone back', async () => {
    const share = await createShare(await createOwnedCompany());
    const { env: laggingEnv, counts } = createLaggingD1();
    await callApi('GET', share.path, { env: laggingEnv });
    advanceClock(-60_000);
    await callApi('GET', share.path, { env: laggingEnv });
    expect(counts).toEqual({ primary: 2, replica: 0 });
  });
});
