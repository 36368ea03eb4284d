import type { Bindings } from '../../src/config.ts';
import type { LimitState } from '../../src/kernel/fixed-window.ts';
import type { IpLimiter } from '../../src/objects/ip-limiter.ts';
import type { OrganizationGate } from '../../src/objects/organization-gate.ts';
import type { TokenLimiter } from '../../src/objects/token-limiter.ts';

/** The SQL and bound values of a D1 statement. */
interface Asked {
  query: string;
  values: unknown[];
}

const known = new WeakMap<Bindings, Bindings>();

/**
 * The environment with calls of the platform answered at once. In production D1, Durable Objects and queues run on
 * other machines; in this process they would be most of the measured time. D1 repeats its first answer.
 */
export function withoutPlatform(env: Bindings): Bindings {
  const made = known.get(env) ?? {
    ...env,
    CONTROL_DB: recorded(env.CONTROL_DB),
    ORGANIZATION_GATE: { getByName: () => ({ admit }) },
    IP_LIMITER: { getByName: () => ({ take: async () => open satisfies AnswerOf<IpLimiter['take']> }) },
    TOKEN_LIMITER: { getByName: () => ({ take: takeOfToken }) },
    COMPANY_LOG: { getByName: () => ({ appendAll: async () => undefined }) },
  };
  known.set(env, made as unknown as Bindings);
  return made as unknown as Bindings;
}

const open: LimitState = { limit: 1000, remaining: 999, resetAt: Date.now() + 60_000, allowed: true };
const takeOfToken = async () => ({ limit: open, key: null }) satisfies AnswerOf<TokenLimiter['take']>;
const admit = async () =>
  ({ refused: null, organization: open, principal: open }) satisfies Partial<AnswerOf<OrganizationGate['admit']>>;

// biome-ignore lint/suspicious/noExplicitAny: whatever it takes.
type AnswerOf<Method extends (...given: any[]) => unknown> = Awaited<ReturnType<Method>>;

function recorded(database: D1Database): D1Database {
  const answers = new Map<string, Promise<D1Result[]>>();
  const prepare = (query: string) => ({ bind: (...values: unknown[]): Asked => ({ query, values }) });
  const withSession = (constraint: string) => ({
    prepare,
    batch: (asked: Asked[]) => {
      const name = asked.map(({ query }) => query.length).join();
      const answer = answers.get(name) ?? really(database.withSession(constraint), asked);
      answers.set(name, answer);
      return answer;
    },
  });
  return { withSession } as unknown as D1Database;
}

const really = (session: D1DatabaseSession, asked: Asked[]): Promise<D1Result[]> =>
  session.batch(asked.map(({ query, values }) => session.prepare(query).bind(...values)));
