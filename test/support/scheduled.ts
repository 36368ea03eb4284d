import { createExecutionContext, createScheduledController, env, waitOnExecutionContext } from 'cloudflare:test';
import worker from '../../src/index.ts';
import { EMAIL } from './mail.ts';

/** Runs what the platform triggers once a minute. `changed` are variables and bindings that differ for this run. */
export async function runScheduled(changed: Record<string, unknown> = {}): Promise<void> {
  const execution = createExecutionContext();
  await worker.scheduled(createScheduledController(), { ...env, EMAIL, ...changed } as typeof env, execution);
  await waitOnExecutionContext(execution);
}
