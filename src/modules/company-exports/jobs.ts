import type { CompanyContext, Context } from '../../context.ts';
import { commit, readTogether } from '../../db/client.ts';
import { LEASE_MS, RENEWAL_MS, RESUME_AFTER_MS, updateAttempt } from '../../db/job-leases.ts';
import { companyExports } from '../../db/schema/company-exports.ts';
import type { Failure } from '../../kernel/failure.ts';
import { isoTimestamp } from '../../kernel/fields.ts';
import { log, logError } from '../../platform/log.ts';
import { readCompanyState, selectCompany } from '../companies/service.ts';
import { keepMessage } from '../outbox/service.ts';
import { Archive } from './archive.ts';
import { STAGES } from './contents.ts';
import { archiveTooLarge, tableKeptChanging } from './failures.ts';
import {
  beginArchive,
  type Checkpoint,
  deleteAll,
  deleteCheckpoint,
  deleteCheckpoints,
  getCheckpoint,
  makeArchiveKey,
  putCheckpoint,
} from './objects.ts';
import { RETENTION_MS } from './service.ts';
import {
  type CompanyExport,
  claimDue,
  claimExport,
  deleteExport,
  giveUpExport,
  selectExpired,
  selectExport,
} from './store.ts';

const MAX_TRIES = 8;

/**
 * The milliseconds, and the queries of the control database, after which an attempt stops at the end of the current file and
 * leaves the rest to another invocation: an invocation has 300 s of CPU. Files have limits of their own.
 */
const EXPORT_STEP_LIMITS = { milliseconds: 60_000, queries: 300, fileBytes: 1024 ** 3, fileMilliseconds: 150_000 };
/** The time between two checkpoints, which are made at the end of a file. Milliseconds. */
const CHECKPOINT_MS = 15_000;

const BATCH_SIZE = 50;

const INTERRUPTED = 'The export was interrupted too often.';

/** Another attempt has taken over the export. */
class AttemptSuperseded extends Error {}

/**
 * Continues an export for a limited time, and sends the message for the rest. A repeated message does nothing while another
 * attempt holds the lease; an interrupted export continues at its last checkpoint.
 */
export async function continueExport(
  ctx: CompanyContext,
  exportId: string,
  limits = EXPORT_STEP_LIMITS,
): Promise<void> {
  const key = { companyId: ctx.actor.companyId, id: exportId };
  const [known] = await selectExport(ctx.db, key.companyId, exportId);
  if (known && (await isWaiting(ctx, known))) {
    return keepMessage(ctx, { type: 'company.export', companyId: key.companyId, exportId });
  }
  const now = ctx.now();
  const {
    givenUp,
    claimed: [job],
  } = await commit(ctx.db, {
    givenUp: giveUpExport(ctx.db, key, { now, most: MAX_TRIES, error: INTERRUPTED, expiresAt: now + RETENTION_MS }),
    claimed: claimExport(ctx.db, key, { now, until: now + LEASE_MS }),
  });
  for (const each of givenUp) await deleteAll(ctx.files, each);
  if (!job) return;
  const attempt = new ExportAttempt(ctx, job);
  try {
    const isWhole = await attempt.work(limits);
    if (!isWhole) await ctx.jobs.send({ type: 'company.export', ...toMessage(job) });
  } catch (error) {
    if (error instanceof AttemptSuperseded) return;
    const told = [archiveTooLarge, tableKeptChanging].some((type) => type.matches(error));
    if (!told) {
      await attempt.update({ status: 'queued', dueAt: ctx.now() + RESUME_AFTER_MS });
      throw error;
    }
    const { message } = error as Failure;
    if (await attempt.update({ status: 'failed', error: message, expiresAt: ctx.now() + RETENTION_MS })) {
      await deleteAll(ctx.files, job);
    }
  } finally {
    attempt.end();
  }
}

/** Whether an export waits for the end of a suspension. The operator's does not. */
const isWaiting = async (ctx: CompanyContext, { forOperator }: CompanyExport): Promise<boolean> =>
  !forOperator && (await readCompanyState(ctx)) === 'suspended';

const toMessage = ({ companyId, id }: CompanyExport) => ({ companyId, exportId: id });

/** The work of one invocation at an export. */
class ExportAttempt {
  readonly #ctx: CompanyContext;
  readonly #job: CompanyExport;
  readonly #renewals: ReturnType<typeof setInterval>;
  #checkpoint: string | null;
  #checkpoints = 0;
  #isOvertaken = false;
  /** The end of this attempt's lease: until then nobody begins another one. */
  #until: number;

  constructor(ctx: CompanyContext, job: CompanyExport) {
    this.#ctx = ctx;
    this.#job = job;
    this.#checkpoint = job.checkpoint;
    this.#until = job.dueAt;
    this.#renewals = setInterval(() => {
      this.#renew().catch((error) => logError('company_export_not_renewed', error, { export_id: job.id }));
    }, RENEWAL_MS);
  }

  end(): void {
    clearInterval(this.#renewals);
  }

  /** @returns whether this is the present attempt */
  async update(changes: Partial<CompanyExport>): Promise<boolean> {
    const { db } = this.#ctx;
    const { updated } = await commit(db, {
      updated: updateAttempt(db, companyExports, this.#job, { ...changes, updatedAt: this.#ctx.now() }),
    });
    return updated.length > 0;
  }

  async #renew(changes: Partial<CompanyExport> = {}): Promise<void> {
    const until = this.#ctx.now() + LEASE_MS;
    if (await this.update({ dueAt: until, ...changes })) this.#until = until;
    else this.#isOvertaken = true;
    this.#requirePresent();
  }

  #requirePresent(): void {
    if (this.#isOvertaken || this.#until <= this.#ctx.now()) throw new AttemptSuperseded();
  }

  /** @returns whether the export has ended */
  async work(limits: typeof EXPORT_STEP_LIMITS): Promise<boolean> {
    const { files } = this.#ctx;
    const began = Date.now();
    const begun = await this.#begin();
    const archive = new Archive(files, makeArchiveKey(this.#job), begun, () => this.#requirePresent(), limits);
    let { next } = begun;
    let queries = 0;
    const work = {
      ctx: this.#ctx,
      archive,
      askedAt: this.#job.createdAt,
      countQuery: () => {
        queries += 1;
      },
    };
    const isOver = () => queries > limits.queries || Date.now() - began > limits.milliseconds;
    let savedAt = began;
    while (next) {
      const stage = STAGES.get(next.stage);
      if (!stage) throw new Error(`there is no stage ${next.stage}`);
      const from = await stage(work, next.from);
      next = from === null ? findNextStage(next.stage) : { stage: next.stage, from };
      if (!isOver() && next && Date.now() - savedAt < CHECKPOINT_MS) continue;
      const isLeft = isOver() || (await isWaiting(this.#ctx, this.#job));
      await this.#saveCheckpoint({ ...archive.checkpoint, next }, isLeft ? { dueAt: this.#ctx.now() } : {});
      savedAt = Date.now();
      if (isLeft) return false;
    }
    await this.#finish(archive);
    return true;
  }

  /** Returns the export's last checkpoint; begins the archive of an export that has none. */
  async #begin(): Promise<Checkpoint & { tail: Uint8Array }> {
    const { files } = this.#ctx;
    if (this.#checkpoint !== null) return getCheckpoint(files, this.#job, this.#checkpoint);
    const uploadId = await beginArchive(files, this.#job);
    const [stage] = STAGES.keys();
    const begun = {
      written: { uploadId, parts: [], files: [] },
      next: { stage: stage as string, from: null },
      tail: new Uint8Array(),
    };
    await this.#saveCheckpoint(begun);
    return begun;
  }

  async #saveCheckpoint(
    checkpoint: Checkpoint & { tail: Uint8Array },
    changes: Partial<CompanyExport> = {},
  ): Promise<void> {
    const { files } = this.#ctx;
    const before = this.#checkpoint;
    this.#checkpoints += 1;
    const name = `${this.#job.attempt}.${this.#checkpoints}`;
    await putCheckpoint(files, this.#job, name, checkpoint);
    await this.#renew({ checkpoint: name, tries: 0, ...changes });
    this.#checkpoint = name;
    if (before !== null) await deleteCheckpoint(files, this.#job, before);
  }

  /** Completes the archive, unless an earlier, interrupted attempt has done so, and marks the export as succeeded. */
  async #finish(archive: Archive): Promise<void> {
    const { files, now } = this.#ctx;
    const whole = await files.head(makeArchiveKey(this.#job));
    const bytes = whole?.size ?? (await this.#writeEnd(archive));
    await this.update({ status: 'succeeded', bytes, expiresAt: now() + RETENTION_MS });
    await deleteCheckpoints(files, this.#job);
    log('company_exported', { company_id: this.#job.companyId, export_id: this.#job.id, bytes });
  }

  async #writeEnd(archive: Archive): Promise<number> {
    const [company] = await selectCompany(this.#ctx.db, this.#job.companyId);
    const manifest = {
      format: 'data-console-export/1',
      organization: { id: this.#job.companyId, name: company?.name ?? null, slug: company?.slug ?? null },
      exported_at: isoTimestamp(this.#job.createdAt),
      files: archive.files.map(({ path, rows, sha256 }) => ({ path, rows, sha256 })),
    };
    await archive.add('manifest.json', true, (sink) =>
      sink.write(new TextEncoder().encode(`${JSON.stringify(manifest, null, 2)}\n`)),
    );
    return archive.end();
  }
}

/** The stage after this one; null after the last. */
function findNextStage(name: string): Checkpoint['next'] {
  const names = [...STAGES.keys()];
  const stage = names[names.indexOf(name) + 1];
  return stage === undefined ? null : { stage, from: null };
}

/** Sends the messages again of unfinished exports whose lease no attempt holds. For the scheduled run. */
export async function resumeExports(ctx: Context): Promise<void> {
  const now = ctx.now();
  const { due } = await commit(ctx.db, {
    due: claimDue(ctx.db, { now, next: now + RESUME_AFTER_MS, limit: BATCH_SIZE }),
  });
  for (const { companyId, id } of due) await ctx.jobs.send({ type: 'company.export', companyId, exportId: id });
}

/** Deletes exports with their archives, a day after they ended. For the scheduled run. */
export async function purgeExports(ctx: Context): Promise<void> {
  const { expired } = await readTogether(ctx.db, { expired: selectExpired(ctx.db, ctx.now(), BATCH_SIZE) });
  for (const key of expired) {
    await deleteAll(ctx.files, key);
    await commit(ctx.db, { deleted: deleteExport(ctx.db, key) });
  }
}
