import type { Bindings } from '../config.ts';
import { clock } from '../kernel/clock.ts';
import { awaitWithinTime } from '../kernel/time-limit.ts';
import { logError } from '../platform/log.ts';

/** Milliseconds for which a health check's result is answered again, so that frequent callers cost nothing. */
const CACHE_MS = 10_000;
const TIMEOUT_MS = 2_000;

const PART_CHECKS: Record<string, (bindings: Bindings) => Promise<unknown>> = {
  control_database: ({ CONTROL_DB }) => CONTROL_DB.prepare('select 1').first(),
  files: ({ FILES }) => FILES.head('health'),
};

const lastChecks = new WeakMap<Bindings, { at: number; brokenParts: string[] }>();

/** Finds the required parts that do not answer, checked at most every ten seconds, by one request of an isolate at a time. */
export async function findBrokenParts(bindings: Bindings): Promise<string[]> {
  const lastResult = lastChecks.get(bindings);
  const now = clock.now();
  if (lastResult && now - lastResult.at < CACHE_MS) return lastResult.brokenParts;
  const check = { at: now, brokenParts: lastResult?.brokenParts ?? [] };
  lastChecks.set(bindings, check);
  const checkResults = await Promise.all(
    Object.entries(PART_CHECKS).map(async ([part, ask]) =>
      (await isResponding(part, () => ask(bindings))) ? [] : [part],
    ),
  );
  check.brokenParts = checkResults.flat();
  return check.brokenParts;
}

async function isResponding(part: string, runCheck: () => Promise<unknown>): Promise<boolean> {
  try {
    await awaitWithinTime(TIMEOUT_MS, runCheck());
    return true;
  } catch (error) {
    logError('part_broken', error, { part });
    return false;
  }
}
