import type { CompanyContext } from '../../context.ts';
import { formatIsoTimestamp } from '../../kernel/fields.ts';
import { decrypt, encrypt } from '../../platform/cipher.ts';
import { waitForStorage } from '../../platform/file-storage.ts';
import {
  MAX_REDIRECTS,
  OutsideFetchError,
  type OutsideResponse,
  openOutsideFile,
} from '../../platform/outside-file.ts';
import { readQuota } from '../managed-database/service.ts';
import { wrongFileType } from './failures.ts';
import { runWithinFileQuota } from './file-quota.ts';
import { finishFetch } from './job-store.ts';
import { ACCEPTED_EXTENSIONS, hasAcceptedExtension } from './kinds.ts';
import { JobProblem, sourceChanged, sourceTooLarge, sourceTypeUnknown, sourceUnreachable } from './problems.ts';
import { makePieceKey, makeUploadPrefix, normalizeMediaType, PIECE_BYTES, toSafeFileName } from './receive.ts';
import { readMediaType, readNameFromResponse, readNameInPath } from './source-name.ts';
import { type JobWork, saveProgress } from './work.ts';

/** The progress of fetching a file from a URL, which it holds encrypted and which is deleted with it. */
export interface FetchState {
  /** The mark by which this state is told from that of an analysis. */
  fetching: 1;
  /** The whole URL, encrypted. */
  address: string;
  /** The file name with a known extension from the caller or the path; null if the response must name the file. */
  name: string | null;
  /** The file's name and media type in the first answer. */
  found: { name: string; type: string } | null;
  /** The strong `ETag` with which the download is resumed; null where it cannot be resumed. */
  etag: string | null;
  /** The size of the file, where the server says it. */
  total: number | null;
  /** The number of bytes stored in R2: whole pieces. */
  received: number;
  /** The number of restarts from the first byte. The pieces of each restart are stored apart. */
  restarts: number;
  /** The number of message deliveries since the last piece, the current one included. */
  tries: number;
}

/** The limits of a download, in milliseconds and bytes. */
export interface FetchLimits {
  /** The maximum size of the file. */
  maxBytes: number;
  /** The longest time without receiving a byte. */
  silenceMs: number;
  /** The longest time for one piece. */
  pieceMs: number;
}

const FETCH_LIMITS: FetchLimits = { maxBytes: 5 * 1024 ** 3, silenceMs: 30_000, pieceMs: 300_000 };
/** The longest time for which one message fetches before the next message resumes, where the download can be resumed. */
const MAX_MESSAGE_MS = 60_000;
/** The longest time for a file whose download cannot be resumed: the platform gives a message 15 minutes. */
const MAX_UNRESUMABLE_MS = 600_000;
/** The interval at which a job that waits for a slow server renews its time of change: less than `RESUME_AFTER_MS`. */
const RENEWAL_INTERVAL_MS = 20_000;
/** The maximum number of consecutive deliveries that bring no piece, the same as for all other work. */
const MAX_TRIES = 12;
const MAX_RESTARTS = 2;
/** The maximum number of connections for one piece. */
const MAX_CONNECTIONS = 20;
/** The maximum number of consecutive connections that bring no byte. */
const MAX_EMPTY_CONNECTIONS = 4;
/** The statuses after which a retry may succeed. */
const RETRYABLE_STATUSES = new Set([408, 425, 429, 500, 502, 503, 504]);

const UNREACHABLE_REASONS = {
  refused: 'o endereço, ou um para o qual ele redireciona, não é um endereço https público',
  redirects: `o endereço redireciona mais de ${MAX_REDIRECTS} vezes`,
  silent: 'o servidor não respondeu em 30 segundos',
  lost: 'a conexão com o servidor falhou',
  slow: 'o servidor é lento demais',
  longer: 'o servidor enviou mais bytes do que anunciou',
} as const;

const toUnreachableProblem = (reason: keyof typeof UNREACHABLE_REASONS) =>
  new JobProblem(sourceUnreachable(UNREACHABLE_REASONS[reason]));

const makeAddressContext = (companyId: string, jobId: string) => `upload-source:${companyId}:${jobId}`;

/**
 * Prepares the fetch of a new job's file. @param url a URL that has passed the rules for outside addresses @returns the first
 * state of the fetch, and the URL as it may be shown
 */
export async function beginFetch(
  ctx: CompanyContext,
  jobId: string,
  url: string,
  filename: string | undefined,
): Promise<{ sourceUrl: string; state: FetchState }> {
  const givenName = toSafeFileName(filename ?? '');
  if (filename !== undefined && !hasAcceptedExtension(givenName)) throw wrongFileType(givenName, ACCEPTED_EXTENSIONS);
  const fileUrl = new URL(url);
  fileUrl.hash = '';
  const nameInPath = readNameInPath(url);
  const state: FetchState = {
    fetching: 1,
    address: await encrypt(ctx.config.ENCRYPTION_KEYS, fileUrl.href, makeAddressContext(ctx.actor.companyId, jobId)),
    name: givenName || (hasAcceptedExtension(nameInPath) ? nameInPath : null),
    found: null,
    etag: null,
    total: null,
    received: 0,
    restarts: 0,
    tries: 0,
  };
  return { sourceUrl: fileUrl.origin + fileUrl.pathname, state };
}

/** Tells whether a job still has to fetch its file. */
export const isFetchWork = (work: JobWork<unknown>): work is JobWork<FetchState> =>
  (work.job.state as Partial<FetchState> | null)?.fetching === 1;

/** Fetches a job's file into R2 by pieces, for a limited time. @returns true: the next message resumes it, or begins to analyse */
export async function fetchSource(work: JobWork<FetchState>, limits: FetchLimits = FETCH_LIMITS): Promise<boolean> {
  const { ctx, job } = work;
  const storedState = job.state as FetchState;
  if (storedState.tries >= MAX_TRIES) throw toUnreachableProblem('lost');
  // Saved first, so that what kills an isolate each time ends as well.
  const download = new Download(work, { ...storedState, tries: storedState.tries + 1 }, limits);
  await download.saveProgress();
  const keys = ctx.config.ENCRYPTION_KEYS;
  const url = await decrypt(keys, storedState.address, makeAddressContext(ctx.actor.companyId, job.id));
  await download.fetchFile(url);
  return true;
}

/** The part of a download that one message does. Between pieces it holds at most one piece in memory. */
class Download {
  readonly #work: JobWork<FetchState>;
  readonly #limits: FetchLimits;
  readonly #buffer = new Uint8Array(PIECE_BYTES);
  readonly #beganAt: number;
  #state: FetchState;
  /** The number of bytes of the piece that is being received. */
  #length = 0;
  #connections = 0;
  #empty = 0;
  #fetched = 0;
  #pieceBeganAt: number;
  #savedAt: number;

  constructor(work: JobWork<FetchState>, state: FetchState, limits: FetchLimits) {
    this.#work = work;
    this.#state = state;
    this.#limits = limits;
    this.#beganAt = this.#pieceBeganAt = this.#savedAt = work.ctx.now();
  }

  get #offset(): number {
    return this.#state.received + this.#length;
  }

  async saveProgress(): Promise<void> {
    const { ctx, database, job } = this.#work;
    const progress = this.#makeProgress();
    await runWithinFileQuota(ctx, database, progress.bytes_total, (tx) =>
      saveProgress(this.#work, this.#state, progress, tx),
    );
    job.stepNumber += 1;
    this.#savedAt = ctx.now();
  }

  async fetchFile(url: string): Promise<void> {
    // What was received without an ETag cannot be gone on with.
    if (this.#state.received > 0 && this.#state.etag === null) this.#restart();
    for (;;) {
      const offset = this.#offset;
      try {
        const answer = await this.#open(url);
        try {
          if (this.#offset === 0) await this.#countAnnounced();
          if (answer.status !== 416 && (await this.#receive(answer)) === 'later') return;
        } finally {
          answer.close();
        }
        if (this.#state.total === null || this.#offset >= this.#state.total) return await this.#finish();
        throw new OutsideFetchError('lost');
      } catch (error) {
        if (!(error instanceof OutsideFetchError)) throw error;
        await this.#retryOrFail(error, this.#offset > offset);
      }
    }
  }

  /** Counts the `Content-Length` of the first response against the company's quota, if it has one, before the file is read. */
  async #countAnnounced(): Promise<void> {
    if (this.#state.total !== null && (await readQuota(this.#work.ctx, 'file_bytes')) !== undefined)
      await this.saveProgress();
  }

  /** Retries after a lost connection, after a short pause, or fails. */
  async #retryOrFail({ problem }: OutsideFetchError, hasReceivedBytes: boolean): Promise<void> {
    if (problem !== 'lost' && !(problem === 'silent' && this.#offset > 0)) throw toUnreachableProblem(problem);
    this.#connections += 1;
    this.#empty = hasReceivedBytes ? 0 : this.#empty + 1;
    if (this.#empty > MAX_EMPTY_CONNECTIONS || this.#connections > MAX_CONNECTIONS) throw toUnreachableProblem(problem);
    if (this.#offset > 0 && this.#state.etag === null) this.#restart();
    await this.saveProgress();
    const pauseMs = 250 * 2 ** this.#empty;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }

  /** Begins again from the first byte. */
  #restart(): void {
    if (this.#state.restarts >= MAX_RESTARTS) throw toUnreachableProblem('lost');
    this.#length = 0;
    const restarts = this.#state.restarts + 1;
    this.#state = { ...this.#state, restarts, received: 0, found: null, etag: null, total: null };
    this.#pieceBeganAt = this.#work.ctx.now();
  }

  async #open(url: string): Promise<OutsideResponse> {
    const { etag } = this.#state;
    const isResumed = this.#offset > 0 && etag !== null;
    const headers = {
      accept: '*/*',
      'accept-encoding': 'identity',
      'user-agent': 'data-console',
      ...(isResumed && { range: `bytes=${this.#offset}-`, 'if-range': etag }),
    };
    const { config } = this.#work.ctx;
    const limits = { allowPrivateHosts: config.ALLOW_PRIVATE_ISSUERS, silenceMs: this.#limits.silenceMs };
    const answer = await openOutsideFile(url, headers, limits);
    try {
      if (isResumed) this.#requireContinuation(answer, etag, url);
      else this.#readFirstAnswer(answer, url);
      return answer;
    } catch (error) {
      answer.close();
      throw error;
    }
  }

  /** Reads name, type and size of the file from the first answer. @throws JobProblem for a file that cannot be loaded */
  #readFirstAnswer({ status, headers }: OutsideResponse, url: string): void {
    if (status !== 200) throw toStatusProblem(status);
    const { name } = this.#state;
    const fileName = name ?? readNameFromResponse(headers, readNameInPath(url));
    if (fileName === null) throw new JobProblem(sourceTypeUnknown);
    // The runtime unpacks what is encoded: its length and ranges are those of other bytes.
    const isPlain = /^(?:identity)?$/i.test(headers.get('content-encoding') ?? '');
    const length = Number(headers.get('content-length') ?? Number.NaN);
    const total = isPlain && Number.isSafeInteger(length) ? length : null;
    if ((total ?? 0) > this.#limits.maxBytes) throw new JobProblem(sourceTooLarge);
    const isResumable = isPlain && headers.get('accept-ranges')?.toLowerCase() !== 'none';
    const etag = isResumable ? toStrongEtag(headers.get('etag')) : null;
    const found = { name: fileName, type: normalizeMediaType(readMediaType(headers)) };
    this.#state = { ...this.#state, found, etag, total };
  }

  /** Checks that an answer continues the same file. @throws JobProblem where the file has changed */
  #requireContinuation(answer: OutsideResponse, etag: string, url: string): void {
    const { status, headers } = answer;
    if (status === 416 && this.#state.total === null && headers.get('content-range') === `bytes */${this.#offset}`) {
      // A file of unknown length ended with a piece.
      this.#state = { ...this.#state, total: this.#offset };
      return;
    }
    if (status === 412 || status === 416) throw new JobProblem(sourceChanged);
    if (status !== 200 && status !== 206) throw toStatusProblem(status);
    if (headers.get('etag') !== etag) throw new JobProblem(sourceChanged);
    if (status === 200) {
      // The same file, from its first byte: the server knows no ranges.
      this.#restart();
      this.#readFirstAnswer(answer, url);
      this.#state = { ...this.#state, etag: null };
      return;
    }
    const range = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headers.get('content-range') ?? '');
    const [, from, total] = range ?? [];
    if (Number(from) !== this.#offset) throw new JobProblem(sourceChanged);
    if (total !== '*' && this.#state.total !== null && Number(total) !== this.#state.total) {
      throw new JobProblem(sourceChanged);
    }
  }

  /** Receives the bytes of an answer. @returns `later` where the next message is to resume */
  async #receive(answer: OutsideResponse): Promise<'end' | 'later'> {
    const { ctx } = this.#work;
    for (let bytes = await answer.read(); bytes !== null; bytes = await answer.read()) {
      const size = this.#offset + bytes.length;
      if (size > this.#limits.maxBytes) throw new JobProblem(sourceTooLarge);
      if (this.#state.total !== null && size > this.#state.total) throw toUnreachableProblem('longer');
      for (let at = 0; at < bytes.length; ) {
        const freeBytes = Math.min(PIECE_BYTES - this.#length, bytes.length - at);
        this.#buffer.set(bytes.subarray(at, at + freeBytes), this.#length);
        this.#length += freeBytes;
        at += freeBytes;
        if (this.#length === PIECE_BYTES) await this.#storePiece();
        // What was read of the next piece is asked for again.
        if (this.#length === 0 && this.#offset !== this.#state.total && this.#hasFetchedEnough()) return 'later';
      }
      const now = ctx.now();
      if (now - this.#pieceBeganAt > this.#limits.pieceMs || now - this.#beganAt > MAX_UNRESUMABLE_MS)
        throw toUnreachableProblem('slow');
      if (now - this.#savedAt > RENEWAL_INTERVAL_MS) await this.saveProgress();
    }
    return 'end';
  }

  #hasFetchedEnough(): boolean {
    const { ctx } = this.#work;
    if (this.#state.etag === null) return false;
    return this.#fetched >= ctx.config.UPLOAD_MESSAGE_BYTES || ctx.now() - this.#beganAt > MAX_MESSAGE_MS;
  }

  async #storePiece(): Promise<void> {
    const { ctx } = this.#work;
    const pieceNumber = this.#state.received / PIECE_BYTES;
    await waitForStorage(
      ctx.files.put(makePieceKey(this.#makeStoredFile(), pieceNumber), this.#buffer.subarray(0, this.#length)),
    );
    this.#state = { ...this.#state, received: this.#offset, tries: 0 };
    this.#fetched += this.#length;
    this.#length = this.#connections = this.#empty = 0;
    this.#pieceBeganAt = ctx.now();
    await this.saveProgress();
  }

  /** Stores the last piece and queues the file for analysis. */
  async #finish(): Promise<void> {
    const { ctx, database, job } = this.#work;
    const file = { ...this.#makeStoredFile(), size_bytes: this.#offset };
    const key =
      file.size_bytes < PIECE_BYTES ? file.storage_path : makePieceKey(file, this.#state.received / PIECE_BYTES);
    if (this.#length > 0 || file.size_bytes === 0) {
      await waitForStorage(ctx.files.put(key, this.#buffer.subarray(0, this.#length)));
    }
    const progress = { rows_processed: 0, rows_total: null, bytes_processed: 0, bytes_total: file.size_bytes };
    const at = formatIsoTimestamp(ctx.now());
    await runWithinFileQuota(ctx, database, file.size_bytes, (tx) =>
      finishFetch(tx, job, job.stepNumber, { files: [file], progress }, at),
    );
    job.stepNumber += 1;
  }

  #makeStoredFile() {
    const { job, ctx } = this.#work;
    const { found, restarts } = this.#state;
    return {
      original_name: found?.name ?? '',
      storage_path: `${makeUploadPrefix(ctx.actor.companyId, job.id)}/${restarts}`,
      size_bytes: 0,
      mime_type: found?.type ?? normalizeMediaType(''),
    };
  }

  #makeProgress() {
    const total = this.#state.total ?? this.#offset;
    return { rows_processed: 0, rows_total: null, bytes_processed: this.#offset, bytes_total: total };
  }
}

/** Returns the ETag if it is strong: equal weak ETags do not guarantee equal bytes. */
const toStrongEtag = (etag: string | null): string | null => (etag !== null && /^"[^"]*"$/.test(etag) ? etag : null);

const toStatusProblem = (status: number): Error =>
  RETRYABLE_STATUSES.has(status)
    ? new OutsideFetchError('lost')
    : new JobProblem(sourceUnreachable(`o servidor respondeu com o código ${status}`));
