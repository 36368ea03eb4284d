import type { Bindings } from '../config.ts';
import { clock, openContext, type SystemActor } from '../context.ts';
import { workOn } from '../modules/knowledge/generation/jobs.ts';
import { recheckItems } from '../modules/knowledge/semantic/jobs.ts';
import { analyseUpload, loadUpload } from '../modules/uploads/jobs.ts';
import { log, logError } from '../platform/log.ts';
import { type JobMessage, jobMessage } from './messages.ts';

const RETRY_SECONDS = 2;
const LONGEST_RETRY_SECONDS = 300;

/** Hands each message of the queue to the module that owns its work. A message that fails is tried again, later each time. */
export async function dispatch(batch: MessageBatch, env: Bindings, execution: ExecutionContext): Promise<void> {
  for (const message of batch.messages) {
    const parsed = jobMessage.safeParse(message.body);
    if (!parsed.success) {
      // Trying again would not help; the message says nothing of a customer's data.
      logError('job_message_malformed', new Error('malformed message'), { message_id: message.id });
      message.ack();
      continue;
    }
    try {
      await run(parsed.data, message.id, env, execution);
      message.ack();
    } catch (error) {
      const { type, companyId } = parsed.data;
      logError('job_failed', error, {
        type,
        company_id: companyId,
        message_id: message.id,
        attempts: message.attempts,
      });
      message.retry({ delaySeconds: Math.min(RETRY_SECONDS * 2 ** message.attempts, LONGEST_RETRY_SECONDS) });
    }
  }
}

async function run(
  message: JobMessage,
  correlationId: string,
  env: Bindings,
  execution: ExecutionContext,
): Promise<void> {
  const startedAt = clock.now();
  const actor: SystemActor = { kind: 'system', companyId: message.companyId };
  const origin = {
    env,
    waitUntil: (work: Promise<unknown>) => execution.waitUntil(work),
    correlationId,
    baseUrl: '',
    ip: null,
  };
  const { context, close } = openContext(origin, actor);
  try {
    switch (message.type) {
      case 'upload.analyse':
        return await analyseUpload(context, message.jobId);
      case 'upload.load':
        return await loadUpload(context, message.jobId);
      case 'knowledge.generate':
        return await workOn(context, message.jobId);
      case 'knowledge.recheck':
        return await recheckItems(context, message.tables, message.after);
    }
  } finally {
    await close();
    log('job_ran', { type: message.type, company_id: message.companyId, duration_ms: clock.now() - startedAt });
  }
}
