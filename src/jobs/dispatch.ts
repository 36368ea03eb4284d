import type { SystemActor } from '../access/actors.ts';
import type { Bindings } from '../config.ts';
import { type CompanyContext, openContext } from '../context.ts';
import { clock } from '../kernel/clock.ts';
import { readCompanyState } from '../modules/companies/service.ts';
import { continueExport } from '../modules/company-exports/jobs.ts';
import { storeInLog } from '../modules/company-log/service.ts';
import { writeResult } from '../modules/data-api/jobs.ts';
import { runBatch } from '../modules/knowledge/generation/work.ts';
import { recheckQuestions } from '../modules/knowledge/questions/jobs.ts';
import { recheckItems } from '../modules/knowledge/semantic/jobs.ts';
import { countExecutions } from '../modules/managed-database/service.ts';
import { postponeMessage } from '../modules/outbox/service.ts';
import { runSchedules } from '../modules/schedules/jobs.ts';
import { analyseUpload, loadUpload } from '../modules/uploads/jobs.ts';
import {
  backfillAudit,
  collectEvents,
  deliverEvents,
  mailEndpointDisabled,
  streamLog,
} from '../modules/webhooks/jobs.ts';
import { type JobMessage, queuedJobSchema } from '../platform/job-messages.ts';
import { log, logError, runWithCorrelationId } from '../platform/log.ts';
import { shareEventSchema } from '../sharing/share-event.ts';
import { databaseUnavailable } from '../tenant-sql/failures.ts';
import { computeRetryDelay } from './keep-batch.ts';

const RETRY_SECONDS = 2;
/** Seconds before a message of unknown type is tried again: five tries take longer than a deployment. */
const UNKNOWN_RETRY_SECONDS = 60;

/** Passes each message of the queue to the module that handles it. A failed message is tried again, later each time. */
export async function dispatchBatch(batch: MessageBatch, env: Bindings, execution: ExecutionContext): Promise<void> {
  for (const message of batch.messages) {
    const parsedJob = queuedJobSchema.safeParse(message.body);
    if (!parsedJob.success) {
      // A newer version of the API may have sent it, while this version is still being replaced.
      logError('job_message_unknown', new Error('unknown message'), { message_id: message.id });
      message.retry({ delaySeconds: UNKNOWN_RETRY_SECONDS });
      continue;
    }
    const { correlationId = message.id, ...job } = parsedJob.data;
    await runWithCorrelationId(correlationId, async () => {
      try {
        await runJob(job, correlationId, env, execution);
        message.ack();
      } catch (error) {
        const { id, attempts } = message;
        logError('job_failed', error, { type: job.type, company_id: job.companyId, message_id: id, attempts });
        message.retry({ delaySeconds: computeRetryDelay(attempts, RETRY_SECONDS) });
      }
    });
  }
}

async function runJob(
  message: JobMessage,
  correlationId: string,
  env: Bindings,
  execution: ExecutionContext,
): Promise<void> {
  const startedAt = clock.now();
  const actor: SystemActor = { kind: 'system', companyId: message.companyId };
  const waitUntil = (work: Promise<unknown>) => execution.waitUntil(work);
  const { context, close } = openContext({ env, waitUntil, correlationId, baseUrl: '', ip: null }, actor);
  try {
    const companyState = await readCompanyState(context);
    if (companyState === 'gone') return log('job_of_nobody', { type: message.type, company_id: message.companyId });
    // An export decides by itself: the operator's is made all the same.
    if (message.type === 'company.export') return await continueExport(context, message.exportId);
    // Events are there as long as they wait; the scheduled run tells those of a company that is active again.
    if (companyState === 'suspended')
      return message.type === 'webhooks.tell' ? undefined : await postponeMessage(context, message);
    switch (message.type) {
      case 'upload.analyse':
        return await collectEventsAfter(context, analyseUpload(context, message.jobId));
      case 'upload.load':
        return await collectEventsAfter(context, loadUpload(context, message.jobId));
      case 'knowledge.generate':
        return await runBatch(context, message.jobId);
      case 'data.write':
        return await writeResult(context, message.jobId);
      case 'schedules.run':
        return await runSchedules(context);
      case 'knowledge.recheck':
        return await collectEventsAfter(context, recheckItems(context, message));
      case 'knowledge.recheck_questions':
        return await recheckQuestions(context, message);
      case 'webhooks.tell':
        return await deliverEvents(context);
      case 'webhooks.collect':
        return await collectEvents(context);
      case 'webhooks.stream':
        return await streamLog(context);
      case 'webhooks.backfill':
        return await backfillAudit(context, message);
      case 'share.keep':
        return await storeInLog(env, 'share', shareEventSchema.parse(message.event));
      case 'webhooks.disabled':
        return await mailEndpointDisabled(context, message.endpointId);
    }
  } finally {
    await countExecutions(context, context.meter.executionCount).catch((error) =>
      logError('executions_not_counted', error),
    );
    await close();
    log('job_ran', { type: message.type, company_id: message.companyId, duration_ms: clock.now() - startedAt });
  }
}

/**
 * Collects events of the company's Postgres for webhook endpoints after the work: messages repeat until they are
 * handled, so no event is lost. Finished work is not repeated when its events cannot be read.
 */
async function collectEventsAfter(context: CompanyContext, work: Promise<void>): Promise<void> {
  await work;
  try {
    await collectEvents(context);
  } catch (error) {
    if (!databaseUnavailable.matches(error)) throw error;
    await context.jobs.send({ type: 'webhooks.collect', companyId: context.actor.companyId });
  }
}
