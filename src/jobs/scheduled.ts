import type { Bindings } from '../config.ts';
import { type Context, type ContextOrigin, openContext } from '../context.ts';
import { MINUTE_MS } from '../kernel/clock.ts';
import { purgeExports, resumeExports } from '../modules/company-exports/jobs.ts';
import { deliverStoredRecords } from '../modules/company-log/service.ts';
import { purgeDataJobs, resumeDataJobs } from '../modules/data-api/jobs.ts';
import { purgeDeadLetters, replayDeadLetters } from '../modules/dead-letters/service.ts';
import { purgeRevocations, reencryptSigningSecrets } from '../modules/embeds/service.ts';
import { mailInvitation, purgeInvitations } from '../modules/invitations/service.ts';
import { purgeAskedQuestions } from '../modules/knowledge/ask/service.ts';
import { deleteLeftoverSources, resumeJobs } from '../modules/knowledge/generation/jobs.ts';
import { mailNotice, sendDueMails } from '../modules/mails/service.ts';
import { reencryptConnections } from '../modules/managed-database/service.ts';
import { purgeGrants, sendFirstUseMail } from '../modules/oauth/service.ts';
import { eraseDueCompanies } from '../modules/organizations/end/service.ts';
import { sendDueMessages } from '../modules/outbox/service.ts';
import { purgeChallenges } from '../modules/passkeys/service.ts';
import { mailResets, purgePasswordResets } from '../modules/password-reset/service.ts';
import {
  createDueRuns,
  mailConsentRequest,
  mailPausedSchedule,
  purgeRuns,
  resumeRuns,
} from '../modules/schedules/jobs.ts';
import { mailPortalCode } from '../modules/share-auth/service.ts';
import { mailCode, mailSecurityChange, purgeSignIns, reencryptSecondFactors } from '../modules/sign-in/service.ts';
import { purgeExpired as purgeSingleSignOn, reencryptClientSecrets } from '../modules/single-sign-on/service.ts';
import { purgeUsedTokens } from '../modules/social-sign-in/service.ts';
import { sweepUploads } from '../modules/uploads/jobs.ts';
import { mailWebhookDisabled, queueWaitingEvents } from '../modules/webhooks/jobs.ts';
import { reencryptWebhookSecrets } from '../modules/webhooks/service.ts';
import { runConcurrently } from '../platform/concurrency.ts';
import { log, runWithCorrelationId } from '../platform/log.ts';
import { makeMessageResender } from './queues.ts';

/** Runs the scheduled work, once a minute: finishes interrupted work and deletes expired data. */
export async function runScheduled(
  controller: ScheduledController,
  env: Bindings,
  execution: ExecutionContext,
): Promise<void> {
  const correlationId = `scheduled-${controller.scheduledTime}`;
  const waitUntil = (work: Promise<unknown>) => execution.waitUntil(work);
  await runWithCorrelationId(correlationId, async () => {
    await runScheduledParts({ env, waitUntil, correlationId, baseUrl: '', ip: null });
    // Where this line is missing, the background Worker is away: nothing else tells.
    log('scheduled_ran', { scheduled_at: new Date(controller.scheduledTime).toISOString() });
  });
}

async function runScheduledParts(origin: ContextOrigin): Promise<void> {
  const { env } = origin;
  const { context, close } = openContext(origin, { kind: 'anonymous' });
  try {
    const parts: Record<string, () => Promise<unknown>> = {
      schedules: () => createDueRuns(context),
      mails: () =>
        sendDueMails(context, {
          sign_in_code: mailCode,
          portal_code: mailPortalCode,
          password_reset: mailResets,
          invitation: mailInvitation,
          notice: mailNotice,
          password_changed: mailSecurityChange,
          second_factor_enabled: mailSecurityChange,
          second_factor_disabled: mailSecurityChange,
          second_factor_reset: mailSecurityChange,
          backup_codes_renewed: mailSecurityChange,
          passkey_added: mailSecurityChange,
          passkey_renamed: mailSecurityChange,
          passkey_removed: mailSecurityChange,
          schedule_paused: mailPausedSchedule,
          schedule_consent: mailConsentRequest,
          webhook_disabled: mailWebhookDisabled,
          program_let_in: sendFirstUseMail,
        }),
      uploads: () => sweepUploads(context, (companyId) => openContext(origin, { kind: 'system', companyId })),
      messages: () => sendDueMessages(context),
      events: () => queueWaitingEvents(context),
      knowledge_jobs: () => resumeJobs(context),
      knowledge_sources: () => deleteLeftoverSources(context),
      asked_questions: () => purgeAskedQuestions(context),
      schedule_runs: () => resumeRuns(context),
      old_schedule_runs: () => purgeRuns(context),
      data_jobs: () => resumeDataJobs(context),
      data_results: () => purgeDataJobs(context),
      company_exports: () => resumeExports(context),
      old_company_exports: () => purgeExports(context),
      sign_ins: () => purgeSignIns(context),
      invitations: () => purgeInvitations(context),
      passkey_challenges: () => purgeChallenges(context),
      password_resets: () => purgePasswordResets(context),
      single_sign_on: () => purgeSingleSignOn(context),
      embed_revocations: () => purgeRevocations(context),
      programs_let_in: () => purgeGrants(context),
      social_sign_in: () => purgeUsedTokens(context),
      connections_under_old_keys: () => reencryptIfRotating(context, reencryptConnections),
      second_factors_under_old_keys: () => reencryptIfRotating(context, reencryptSecondFactors),
      client_secrets_under_old_keys: () => reencryptIfRotating(context, reencryptClientSecrets),
      signing_keys_under_old_keys: () => reencryptIfRotating(context, reencryptSigningSecrets),
      webhook_secrets_under_old_keys: () => reencryptIfRotating(context, reencryptWebhookSecrets),
      dead_letters: () => replayDeadLetters(context, makeMessageResender(env)),
      old_dead_letters: () => purgeDeadLetters(context),
      undelivered_records: () => deliverStoredRecords(context),
      ended_companies: () =>
        eraseDueCompanies(context, async (companyId, work) => {
          const openedContext = openContext(origin, { kind: 'system', companyId });
          try {
            return await work(openedContext.context);
          } finally {
            await openedContext.close();
          }
        }),
    };
    // A part that fails or hangs does not prevent the others from running.
    const toLogFields = ([part]: [string, unknown]) => ({ part });
    await runConcurrently(Object.entries(parts), PART_LIMITS, toLogFields, ([, run]) => run());
  } finally {
    await close();
  }
}

/** Encrypts data again if there is more than one encryption key: with one, nothing is encrypted under an older one. */
async function reencryptIfRotating(context: Context, reencrypt: (context: Context) => Promise<number>): Promise<void> {
  if (Object.keys(context.config.ENCRYPTION_KEYS).length > 1) await reencrypt(context);
}

/** Limits of the parts: a run may take fifteen minutes on the platform. */
const PART_LIMITS = { concurrency: 4, timeoutMs: 4 * MINUTE_MS, failureEvent: 'scheduled_part_failed' };
