import type { Bindings } from '../config.ts';
import { clock } from '../kernel/clock.ts';
import { withinTime } from '../kernel/time-limit.ts';
import { logError } from '../platform/log.ts';

/** The time for which a health check's result is answered again, so that frequent callers cost nothing. */
const CACHE_MS = 10_000;
const TIMEOUT_MS = 2_000;

const CHECKS: Record<string, (bindings: Bindings) => Promise<unknown>> = {
  control_database: ({ CONTROL_DB }) => CONTROL_DB.prepare('select 1').first(),
  files: ({ FILES }) => FILES.head('health'),
};

const lastCheck = new WeakMap<Bindings, { at: number; broken: string[] }>();

/** The needed parts that do not answer, checked at most every ten seconds, by one request of an isolate at a time. */
export async function findBrokenParts(bindings: Bindings): Promise<string[]> {
  const known = lastCheck.get(bindings);
  const now = clock.now();
  if (known && now - known.at < CACHE_MS) return known.broken;
  const check = { at: now, broken: known?.broken ?? [] };
  lastCheck.set(bindings, check);
  const found = await Promise.all(
    Object.entries(CHECKS).map(async ([part, ask]) => ((await isResponding(part, () => ask(bindings))) ? [] : [part])),
  );
  check.broken = found.flat();
  return check.broken;
}

async function isResponding(part: string, ask: () => Promise<unknown>): Promise<boolean> {
  try {
    await withinTime(TIMEOUT_MS, ask());
    return true;
  } catch (error) {
    logError('part_broken', error, { part });
    return false;
  }
}
