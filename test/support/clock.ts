import { createExecutionContext, createScheduledController, env, waitOnExecutionContext } from 'cloudflare:test';
import { clock } from '../../src/kernel/clock.ts';
import { EMAIL } from './mail.ts';
import worker from './worker.ts';

const realNow = clock.now;

/** The Worker's clock goes on, `ms` ahead. */
export const advanceClock = (ms: number): void => {
  clock.now = () => realNow() + ms;
};

/** The Worker's clock stands still at `ms` since the epoch. */
export const stopClockAt = (ms: number): void => {
  clock.now = () => ms;
};

/** The Worker's clock is right again. */
export const resetClock = (): void => {
  clock.now = realNow;
};

/** Runs what the platform triggers once a minute. `changed` are variables and bindings that differ for this run. */
export async function runScheduled(changed: Record<string, unknown> = {}): Promise<void> {
  const execution = createExecutionContext();
  await worker.scheduled(createScheduledController(), { ...env, EMAIL, ...changed } as typeof env, execution);
  await waitOnExecutionContext(execution);
}
