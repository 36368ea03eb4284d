import { env } from 'cloudflare:test';

/**
 * The environment with every query to the control database counted, a batch as one, and with the characters of the longest answer as
 * JSON.
 */
export function createCountingD1(): { env: Record<string, string>; calls(): number; longest(): number } {
  let calls = 0;
  let longest = 0;
  const measure = async (answer: unknown) => {
    longest = Math.max(longest, JSON.stringify(await answer)?.length ?? 0);
  };
  const counting = <T extends object>(inner: T, names: readonly string[]): T =>
    new Proxy(inner, {
      get(target, property) {
        const value = Reflect.get(target, property);
        if (typeof value !== 'function') return value;
        return (...given: unknown[]) => {
          const isCall = names.includes(String(property));
          if (isCall) calls += 1;
          const result = Reflect.apply(value, target, given);
          if (isCall) void measure(result).catch(() => undefined);
          return property === 'prepare' || property === 'bind'
            ? counting(result, ['all', 'raw', 'run', 'first'])
            : result;
        };
      },
    });
  const CONTROL_DB = {
    withSession: (constraint: string) => counting(env.CONTROL_DB.withSession(constraint), ['batch']),
  };
  return { env: { CONTROL_DB } as unknown as Record<string, string>, calls: () => calls, longest: () => longest };
}
