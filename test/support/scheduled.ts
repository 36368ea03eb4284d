import { createExecutionContext, createScheduledController, env, waitOnExecutionContext } from 'cloudflare:test';
import worker from '../../src/index.ts';
import { EMAIL } from './mail.ts';

/** Runs what the platform triggers once a minute. */
export async function runScheduled(): Promise<void> {
  const execution = createExecutionContext();
  await worker.scheduled(createScheduledController(), { ...env, EMAIL }, execution);
  await waitOnExecutionContext(execution);
}
