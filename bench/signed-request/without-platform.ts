import type { Bindings } from '../../src/config.ts';
import type { LimitState } from '../../src/kernel/fixed-window.ts';
import type { IpLimiter } from '../../src/objects/ip-limiter.ts';
import type { OrganizationGate } from '../../src/objects/organization-gate.ts';
import type { TokenLimiter } from '../../src/objects/token-limiter.ts';

/** A D1 statement, which runs in batches only. */
interface AskedStatement {
  query: string;
  values: unknown[];
  bind(...values: unknown[]): AskedStatement;
}

const known = new WeakMap<Bindings, Bindings>();

/**
 * The environment with calls of the platform answered at once. In production D1, Durable Objects and queues run on
 * other machines; in this process they would be most of the measured time. D1 repeats its first answer.
 */
export function withoutPlatform(env: Bindings): Bindings {
  const made = known.get(env) ?? {
    ...env,
    CONTROL_DB: recordDatabase(env.CONTROL_DB),
    ORGANIZATION_GATE: { getByName: () => ({ admit: admitRequest }) },
    IP_LIMITER: { getByName: () => ({ take: async () => OPEN_LIMIT satisfies AnswerOf<IpLimiter['take']> }) },
    TOKEN_LIMITER: { getByName: () => ({ take: takeOfToken }) },
    COMPANY_LOG: { getByName: () => ({ appendAll: async () => undefined, addViews: async () => undefined }) },
  };
  known.set(env, made as unknown as Bindings);
  return made as unknown as Bindings;
}

const OPEN_LIMIT: LimitState = { limit: 1000, remaining: 999, resetAt: Date.now() + 60_000, allowed: true };
const takeOfToken = async () => ({ limit: OPEN_LIMIT, key: null }) satisfies AnswerOf<TokenLimiter['take']>;
const admitRequest = async () =>
  ({ refused: null, organization: OPEN_LIMIT, principal: OPEN_LIMIT }) satisfies Partial<
    AnswerOf<OrganizationGate['admit']>
  >;

// biome-ignore lint/suspicious/noExplicitAny: whatever it takes.
type AnswerOf<Method extends (...given: any[]) => unknown> = Awaited<ReturnType<Method>>;

function recordDatabase(database: D1Database): D1Database {
  const answers = new Map<string, Promise<D1Result[]>>();
  const withSession = (constraint: string) => ({
    prepare: (query: string) => makeStatement(query),
    getBookmark: () => null,
    batch: (asked: AskedStatement[]) => {
      const name = asked.map(({ query }) => query.length).join();
      const answer = answers.get(name) ?? really(database.withSession(constraint), asked);
      answers.set(name, answer);
      return answer;
    },
  });
  return { withSession } as unknown as D1Database;
}

function makeStatement(query: string, values: unknown[] = []): AskedStatement {
  const alone = () => Promise.reject(new Error('Only batches are answered here.'));
  const bind = (...given: unknown[]) => makeStatement(query, given);
  return Object.assign({ query, values, bind }, { all: alone, raw: alone, run: alone, first: alone });
}

const really = (session: D1DatabaseSession, asked: AskedStatement[]): Promise<D1Result[]> =>
  session.batch(asked.map(({ query, values }) => session.prepare(query).bind(...values)));
