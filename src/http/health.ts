import type { Bindings } from '../config.ts';
import { clock } from '../kernel/clock.ts';
import { withinTime } from '../kernel/time-limit.ts';
import { logError } from '../platform/log.ts';

/** How long an answer is good for: whoever asks more often costs nothing. */
const KEPT_MS = 10_000;
const PATIENCE_MS = 2_000;

const CHECKS: Record<string, (bindings: Bindings) => Promise<unknown>> = {
  control_database: ({ CONTROL_DB }) => CONTROL_DB.prepare('select 1').first(),
  files: ({ FILES }) => FILES.head('health'),
};

const lastLook = new WeakMap<Bindings, { at: number; broken: string[] }>();

/**
 * Which of the parts that everything needs do not answer. Each isolate looks at most every ten seconds, and only for one
 * request at a time: the others are told what was found before.
 */
export async function brokenParts(bindings: Bindings): Promise<string[]> {
  const known = lastLook.get(bindings);
  const now = clock.now();
  if (known && now - known.at < KEPT_MS) return known.broken;
  const look = { at: now, broken: known?.broken ?? [] };
  lastLook.set(bindings, look);
  const found = await Promise.all(
    Object.entries(CHECKS).map(async ([part, check]) => ((await works(part, () => check(bindings))) ? [] : [part])),
  );
  look.broken = found.flat();
  return look.broken;
}

async function works(part: string, check: () => Promise<unknown>): Promise<boolean> {
  try {
    await withinTime(PATIENCE_MS, check());
    return true;
  } catch (error) {
    logError('part_broken', error, { part });
    return false;
  }
}
