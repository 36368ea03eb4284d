import type { CompanyContext, Context } from '../../context.ts';
import { commit, readTogether } from '../../db/client.ts';
import { LEASE_MS, RENEWAL_MS, RESUME_AFTER_MS, updateAttempt } from '../../db/job-leases.ts';
import { companyExports } from '../../db/schema/company-exports.ts';
import type { Failure } from '../../kernel/failure.ts';
import { formatIsoTimestamp } from '../../kernel/fields.ts';
import { log, logError } from '../../platform/log.ts';
import { readCompanyState, selectCompany } from '../companies/service.ts';
import { postponeMessage } from '../outbox/service.ts';
import { Archive } from './archive.ts';
import { EXPORT_STAGES, listLeftOutFiles } from './contents.ts';
import { archiveTooLarge, tableKeptChanging } from './failures.ts';
import {
  beginArchive,
  type Checkpoint,
  deleteCheckpoint,
  deleteCheckpoints,
  deleteExportObjects,
  getCheckpoint,
  makeArchiveKey,
  putCheckpoint,
} from './objects.ts';
import { EXPORT_RETENTION_MS } from './service.ts';
import {
  type CompanyExport,
  claimDueExports,
  claimExport,
  deleteExport,
  giveUpExport,
  selectExpiredExports,
  selectExport,
} from './store.ts';

const MAX_ATTEMPTS_WITHOUT_PROGRESS = 8;

/**
 * The milliseconds, and the control database queries, after which an attempt stops at the end of the current file and leaves the
 * rest to another invocation: an invocation has 300 s of CPU. Files have limits of their own.
 */
const EXPORT_STEP_LIMITS = { milliseconds: 60_000, queries: 300, fileBytes: 1024 ** 3, fileMilliseconds: 150_000 };
/** The minimum time between two checkpoints, which are made at the end of a file. Milliseconds. */
const CHECKPOINT_INTERVAL_MS = 15_000;

const BATCH_SIZE = 50;

const INTERRUPTED_MESSAGE = 'The export was interrupted too often.';

/** The error when another attempt has taken over the export. */
class AttemptSupersededError extends Error {}

/**
 * Continues an export for a limited time, and sends a message for the rest. A repeated message does nothing while another attempt
 * holds the lease; an interrupted export continues at its last checkpoint.
 */
export async function continueExport(
  ctx: CompanyContext,
  exportId: string,
  limits = EXPORT_STEP_LIMITS,
): Promise<void> {
  const key = { companyId: ctx.actor.companyId, id: exportId };
  const [knownExport] = await selectExport(ctx.db, key.companyId, exportId);
  if (knownExport && (await waitsForSuspension(ctx, knownExport))) {
    return postponeMessage(ctx, { type: 'company.export', companyId: key.companyId, exportId });
  }
  const now = ctx.now();
  const {
    givenUp,
    claimed: [job],
  } = await commit(ctx.db, {
    givenUp: giveUpExport(ctx.db, key, {
      now,
      maxAttempts: MAX_ATTEMPTS_WITHOUT_PROGRESS,
      error: INTERRUPTED_MESSAGE,
      expiresAt: now + EXPORT_RETENTION_MS,
    }),
    claimed: claimExport(ctx.db, key, { now, leaseUntil: now + LEASE_MS }),
  });
  for (const exportKey of givenUp) await deleteExportObjects(ctx.files, exportKey);
  if (!job) return;
  const attempt = new ExportAttempt(ctx, job);
  try {
    const isFinished = await attempt.runStep(limits);
    if (!isFinished) await ctx.jobs.send({ type: 'company.export', companyId: key.companyId, exportId });
  } catch (error) {
    if (error instanceof AttemptSupersededError) return;
    const isExpectedFailure = [archiveTooLarge, tableKeptChanging].some((type) => type.matches(error));
    if (!isExpectedFailure) {
      await attempt.update({ status: 'queued', dueAt: ctx.now() + RESUME_AFTER_MS });
      throw error;
    }
    const { message } = error as Failure;
    if (await attempt.update({ status: 'failed', error: message, expiresAt: ctx.now() + EXPORT_RETENTION_MS })) {
      await deleteExportObjects(ctx.files, job);
    }
  } finally {
    attempt.end();
  }
}

/** Tells whether an export waits for the end of its company's suspension. The operator's exports do not. */
const waitsForSuspension = async (ctx: CompanyContext, { forOperator }: CompanyExport): Promise<boolean> =>
  !forOperator && (await readCompanyState(ctx)) === 'suspended';

/** One invocation's attempt to continue an export. */
class ExportAttempt {
  readonly #ctx: CompanyContext;
  readonly #job: CompanyExport;
  readonly #renewals: ReturnType<typeof setInterval>;
  #checkpoint: string | null;
  #checkpoints = 0;
  #isOvertaken = false;
  /** The end of this attempt's lease: until then no other attempt begins. */
  #leaseUntil: number;

  constructor(ctx: CompanyContext, job: CompanyExport) {
    this.#ctx = ctx;
    this.#job = job;
    this.#checkpoint = job.checkpoint;
    this.#leaseUntil = job.dueAt;
    this.#renewals = setInterval(() => {
      this.#renew().catch((error) => logError('company_export_not_renewed', error, { export_id: job.id }));
    }, RENEWAL_MS);
  }

  end(): void {
    clearInterval(this.#renewals);
  }

  /** Changes the record of the export. @returns whether this attempt still holds the export */
  async update(changes: Partial<CompanyExport>): Promise<boolean> {
    const { db } = this.#ctx;
    const { updated } = await commit(db, {
      updated: updateAttempt(db, companyExports, this.#job, { ...changes, updatedAt: this.#ctx.now() }),
    });
    return updated.length > 0;
  }

  async #renew(changes: Partial<CompanyExport> = {}): Promise<void> {
    const leaseUntil = this.#ctx.now() + LEASE_MS;
    if (await this.update({ dueAt: leaseUntil, ...changes })) this.#leaseUntil = leaseUntil;
    else this.#isOvertaken = true;
    this.#requirePresent();
  }

  #requirePresent(): void {
    if (this.#isOvertaken || this.#leaseUntil <= this.#ctx.now()) throw new AttemptSupersededError();
  }

  /** Writes files of the archive until the limits are reached or the export ends. @returns whether the export has ended */
  async runStep(limits: typeof EXPORT_STEP_LIMITS): Promise<boolean> {
    const { files } = this.#ctx;
    const startedAt = Date.now();
    const lastCheckpoint = await this.#begin();
    const archive = new Archive(files, makeArchiveKey(this.#job), lastCheckpoint, () => this.#requirePresent(), limits);
    let { next } = lastCheckpoint;
    let queryCount = 0;
    const stageContext = {
      ctx: this.#ctx,
      archive,
      requestedAt: this.#job.createdAt,
      countQuery: () => {
        queryCount += 1;
      },
    };
    const isOverLimit = () => queryCount > limits.queries || Date.now() - startedAt > limits.milliseconds;
    let savedAt = startedAt;
    while (next) {
      const runStage = EXPORT_STAGES.get(next.stage);
      if (!runStage) throw new Error(`there is no stage ${next.stage}`);
      const from = await runStage(stageContext, next.from);
      next = from === null ? findNextStage(next.stage) : { stage: next.stage, from };
      if (!isOverLimit() && next && Date.now() - savedAt < CHECKPOINT_INTERVAL_MS) continue;
      const isInterrupted = isOverLimit() || (await waitsForSuspension(this.#ctx, this.#job));
      await this.#saveCheckpoint({ ...archive.checkpoint, next }, isInterrupted ? { dueAt: this.#ctx.now() } : {});
      savedAt = Date.now();
      if (isInterrupted) return false;
    }
    await this.#finish(archive);
    return true;
  }

  /** Returns the export's last checkpoint; begins the archive of an export that has none. */
  async #begin(): Promise<Checkpoint & { tail: Uint8Array }> {
    const { files } = this.#ctx;
    if (this.#checkpoint !== null) return getCheckpoint(files, this.#job, this.#checkpoint);
    const uploadId = await beginArchive(files, this.#job);
    const [stage] = EXPORT_STAGES.keys();
    const firstCheckpoint = {
      written: { uploadId, parts: [], files: [] },
      next: { stage: stage as string, from: null },
      tail: new Uint8Array(),
    };
    await this.#saveCheckpoint(firstCheckpoint);
    return firstCheckpoint;
  }

  async #saveCheckpoint(
    checkpoint: Checkpoint & { tail: Uint8Array },
    changes: Partial<CompanyExport> = {},
  ): Promise<void> {
    const { files } = this.#ctx;
    const previousCheckpoint = this.#checkpoint;
    this.#checkpoints += 1;
    const name = `${this.#job.attempt}.${this.#checkpoints}`;
    await putCheckpoint(files, this.#job, name, checkpoint);
    await this.#renew({ checkpoint: name, tries: 0, ...changes });
    this.#checkpoint = name;
    if (previousCheckpoint !== null) await deleteCheckpoint(files, this.#job, previousCheckpoint);
  }

  /** Completes the archive, unless an earlier, interrupted attempt has done so, and marks the export as succeeded. */
  async #finish(archive: Archive): Promise<void> {
    const { files, now } = this.#ctx;
    const completeArchive = await files.head(makeArchiveKey(this.#job));
    const bytes = completeArchive?.size ?? (await this.#writeEnd(archive));
    // Another attempt has begun, and reads its checkpoints: it will find the archive complete.
    if (!(await this.update({ status: 'succeeded', bytes, expiresAt: now() + EXPORT_RETENTION_MS }))) return;
    await deleteCheckpoints(files, this.#job);
    log('company_exported', { company_id: this.#job.companyId, export_id: this.#job.id, bytes });
  }

  async #writeEnd(archive: Archive): Promise<number> {
    const [company] = await selectCompany(this.#ctx.db, this.#job.companyId);
    const manifest = {
      format: 'data-console-export/1',
      organization: { id: this.#job.companyId, name: company?.name ?? null, slug: company?.slug ?? null },
      exported_at: formatIsoTimestamp(this.#job.createdAt),
      files: archive.files.map(({ path, rows, sha256 }) => ({ path, rows, sha256 })),
      left_out: listLeftOutFiles(archive),
    };
    await archive.addFile('manifest.json', true, (sink) =>
      sink.write(new TextEncoder().encode(`${JSON.stringify(manifest, null, 2)}\n`)),
    );
    return archive.end();
  }
}

/** Returns the stage after this one; null after the last. */
function findNextStage(name: string): Checkpoint['next'] {
  const names = [...EXPORT_STAGES.keys()];
  const stage = names[names.indexOf(name) + 1];
  return stage === undefined ? null : { stage, from: null };
}

/** Resends the messages of unfinished exports whose lease no attempt holds. For the scheduled run. */
export async function resumeExports(ctx: Context): Promise<void> {
  const now = ctx.now();
  const { due } = await commit(ctx.db, {
    due: claimDueExports(ctx.db, { now, nextDueAt: now + RESUME_AFTER_MS, limit: BATCH_SIZE }),
  });
  for (const { companyId, id } of due) await ctx.jobs.send({ type: 'company.export', companyId, exportId: id });
}

/** Deletes exports with their archives, a day after they ended. For the scheduled run. */
export async function purgeExports(ctx: Context): Promise<void> {
  const { expired } = await readTogether(ctx.db, { expired: selectExpiredExports(ctx.db, ctx.now(), BATCH_SIZE) });
  for (const key of expired) {
    await deleteExportObjects(ctx.files, key);
    await commit(ctx.db, { deleted: deleteExport(ctx.db, key) });
  }
}
