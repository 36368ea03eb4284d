import { env } from 'cloudflare:test';

/**
 * Creates an environment that counts every query to the control database, a batch as one, and measures the characters of the
 * longest answer as JSON.
 */
export function createCountingD1(): {
  env: Record<string, string>;
  countCalls(): number;
  measureLongestAnswer(): number;
} {
  let callCount = 0;
  let longestAnswer = 0;
  const measureAnswer = async (answer: unknown) => {
    longestAnswer = Math.max(longestAnswer, JSON.stringify(await answer)?.length ?? 0);
  };
  const wrapCounting = <T extends object>(wrappedObject: T, names: readonly string[]): T =>
    new Proxy(wrappedObject, {
      get(target, property) {
        const value = Reflect.get(target, property);
        if (typeof value !== 'function') return value;
        return (...callArguments: unknown[]) => {
          const isCall = names.includes(String(property));
          if (isCall) callCount += 1;
          const result = Reflect.apply(value, target, callArguments);
          if (isCall) void measureAnswer(result).catch(() => undefined);
          return property === 'prepare' || property === 'bind'
            ? wrapCounting(result, ['all', 'raw', 'run', 'first'])
            : result;
        };
      },
    });
  const CONTROL_DB = {
    withSession: (constraint: string) => wrapCounting(env.CONTROL_DB.withSession(constraint), ['batch']),
  };
  return {
    env: { CONTROL_DB } as unknown as Record<string, string>,
    countCalls: () => callCount,
    measureLongestAnswer: () => longestAnswer,
  };
}
