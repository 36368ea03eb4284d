import { createExecutionContext, createScheduledController, env, waitOnExecutionContext } from 'cloudflare:test';
import { clock } from '../../src/kernel/clock.ts';
import { EMAIL } from './mail.ts';
import worker from './worker.ts';

const readRealTime = clock.now;

/** Moves the Worker's clock `ms` ahead of the real time, from where it runs on. */
export const advanceClock = (ms: number): void => {
  clock.now = () => readRealTime() + ms;
};

/** Stops the Worker's clock at `ms` since the epoch. */
export const stopClockAt = (ms: number): void => {
  clock.now = () => ms;
};

/** Resets the Worker's clock to the real time. */
export const resetClock = (): void => {
  clock.now = readRealTime;
};

/** Runs the tasks that the platform triggers once a minute. `changedEnv` are variables and bindings that differ for this run. */
export async function runScheduled(changedEnv: Record<string, unknown> = {}): Promise<void> {
  const execution = createExecutionContext();
  await worker.scheduled(createScheduledController(), { ...env, EMAIL, ...changedEnv } as typeof env, execution);
  await waitOnExecutionContext(execution);
}
