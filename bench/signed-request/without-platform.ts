import type { Bindings } from '../../src/config.ts';
import type { LimitState } from '../../src/kernel/fixed-window.ts';
import type { IpLimiter } from '../../src/objects/ip-limiter.ts';
import type { OrganizationGate } from '../../src/objects/organization-gate.ts';
import type { TokenLimiter } from '../../src/objects/token-limiter.ts';

/** D1 statement of a caller, which runs in batches only. */
interface BatchStatement {
  query: string;
  values: unknown[];
  bind(...values: unknown[]): BatchStatement;
}

const instantEnvironments = new WeakMap<Bindings, Bindings>();

/**
 * Returns the environment with calls to the platform's services answered at once, D1's with its first answer. In
 * production D1, Durable Objects and queues run on other machines; in this process they would be most of the measured
 * time.
 */
export function makeInstantEnvironment(env: Bindings): Bindings {
  const instantEnvironment = instantEnvironments.get(env) ?? {
    ...env,
    CONTROL_DB: makeInstantDatabase(env.CONTROL_DB),
    ORGANIZATION_GATE: { getByName: () => ({ admit: admitRequest }) },
    IP_LIMITER: { getByName: () => ({ take: async () => UNREACHED_LIMIT satisfies AnswerOf<IpLimiter['take']> }) },
    TOKEN_LIMITER: { getByName: () => ({ take: takeTokenLimit }) },
    COMPANY_LOG: { getByName: () => ({ appendAll: async () => undefined, addViews: async () => undefined }) },
  };
  instantEnvironments.set(env, instantEnvironment as unknown as Bindings);
  return instantEnvironment as unknown as Bindings;
}

const UNREACHED_LIMIT: LimitState = { limit: 1000, remaining: 999, resetAt: Date.now() + 60_000, allowed: true };
const takeTokenLimit = async () => ({ limit: UNREACHED_LIMIT, key: null }) satisfies AnswerOf<TokenLimiter['take']>;
const admitRequest = async () =>
  ({ refused: null, organization: UNREACHED_LIMIT, principal: UNREACHED_LIMIT }) satisfies Partial<
    AnswerOf<OrganizationGate['admit']>
  >;

// biome-ignore lint/suspicious/noExplicitAny: whatever it takes.
type AnswerOf<Method extends (...args: any[]) => unknown> = Awaited<ReturnType<Method>>;

function makeInstantDatabase(database: D1Database): D1Database {
  const answersByStatement = new Map<string, Promise<D1Result[]>>();
  const openInstantSession = (constraint: string) => ({
    prepare: (query: string) => makeStatement(query),
    getBookmark: () => null,
    batch: (statements: BatchStatement[]) => {
      const name = statements.map(({ query }) => query.length).join();
      const answer = answersByStatement.get(name) ?? runBatch(database.withSession(constraint), statements);
      answersByStatement.set(name, answer);
      return answer;
    },
  });
  return { withSession: openInstantSession } as unknown as D1Database;
}

function makeStatement(query: string, values: unknown[] = []): BatchStatement {
  const refuseOutsideBatch = () => Promise.reject(new Error('Only batches are answered here.'));
  const bindValues = (...boundValues: unknown[]) => makeStatement(query, boundValues);
  return Object.assign(
    { query, values, bind: bindValues },
    { all: refuseOutsideBatch, raw: refuseOutsideBatch, run: refuseOutsideBatch, first: refuseOutsideBatch },
  );
}

const runBatch = (session: D1DatabaseSession, statements: BatchStatement[]): Promise<D1Result[]> =>
  session.batch(statements.map(({ query, values }) => session.prepare(query).bind(...values)));
