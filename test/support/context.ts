import { createExecutionContext, env, waitOnExecutionContext } from 'cloudflare:test';
import { runInInvocation } from '../../local/limits/invocation.ts';
import type { Actor } from '../../src/access/actors.ts';
import { type Context, openContext } from '../../src/context.ts';
import { EMAIL } from './mail.ts';

/** Runs `work` with the context of an actor, as the Worker would. Deferred work is done when this resolves. */
export async function runInContext<A extends Actor, T>(actor: A, work: (ctx: Context<A>) => Promise<T>): Promise<T> {
  const execution = createExecutionContext();
  const origin = {
    env: { ...env, EMAIL },
    waitUntil: (deferred: Promise<unknown>) => execution.waitUntil(deferred),
    correlationId: 'test',
    baseUrl: 'https://api.test',
    ip: null,
  };
  const { context, close } = openContext(origin, actor);
  try {
    return await runInInvocation(() => work(context));
  } finally {
    await close();
    await waitOnExecutionContext(execution);
  }
}
