import { ApiError, isRefused, isWorthRepeating, readAnswer, wait, waitUnlessAborted } from './answers.ts';
import type { Ask, Credential } from './credentials.ts';
import type { ChangeOfAccess, Routes, UploadJob, WebhookEvents } from './generated/routes.ts';
import { isSentResumably, sendResumably } from './resumable.ts';
import { isSignInPath } from './session.ts';
import { buildForm, createFormSender, type FileInParts, type SendForm, type UploadOptions } from './upload.ts';
import {
  findJobPath,
  isRunning,
  type Job,
  type JobOf,
  type JobPathOf,
  type JobRead,
  planNextRead,
  type WaitOptions,
} from './waiting.ts';

export { ApiError, fieldErrors } from './answers.ts';
export { type Credential, type Key, withKey, withToken } from './credentials.ts';
export { type DataValue, endpointOf } from './data.ts';
export type * from './generated/routes.ts';
export { type SessionOptions, type SessionStore, type StoredSession, withSession } from './session.ts';
export type { FileInParts, UploadOptions, UploadProgress } from './upload.ts';
export type { Job, JobOf, WaitOptions } from './waiting.ts';

/**
 * Body that a webhook endpoint receives, of any event type or of the event types `T`; its `type` names the event type.
 */
export type WebhookEvent<T extends keyof WebhookEvents = keyof WebhookEvents> = WebhookEvents[T];

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Paths that accept a method, as the contract writes them: `/accounts/{id}`. */
export type PathOf<M extends Method> = keyof Routes extends infer Name
  ? Name extends `${M} ${infer Path}`
    ? Path
    : never
  : never;

type RouteOf<M extends Method, P extends PathOf<M>> = Routes[`${M} ${P}` & keyof Routes];

/** Type of the answer to a method on a path. */
export type AnswerOf<M extends Method, P extends PathOf<M>> = RouteOf<M, P> extends { answer: infer A } ? A : never;

/** Files that a method on a path can answer, by their `format`. */
export type FilesOf<M extends Method, P extends PathOf<M>> =
  RouteOf<M, P> extends { files: infer F } ? F : Record<never, never>;

/**
 * Type whose optional members may also be undefined, with the meaning of left out, whatever
 * `exactOptionalPropertyTypes` says.
 */
type AllowUndefined<T> = T extends object
  ? { [K in keyof T]: Record<never, never> extends Pick<T, K> ? T[K] | undefined : T[K] }
  : T;

/** Type of the input of a method on a path. */
export type InputOf<M extends Method, P extends PathOf<M>> =
  RouteOf<M, P> extends infer R
    ? AllowUndefined<{
        [K in keyof R as Exclude<K, 'answer' | 'files' | 'dryRun'>]: K extends 'query' | 'body'
          ? AllowUndefined<R[K]>
          : R[K];
      }> &
        InputOfAll
    : never;

interface InputOfAll {
  signal?: AbortSignal | undefined;
  /** Called with the headers of the answer: `x-truncated`, `content-disposition`, `etag`. */
  onHeaders?: ((headers: Headers) => void) | undefined;
}

type Arguments<Input> = Record<never, never> extends Input ? [input?: Input] : [input: Input];

/** Paths whose answers have versions: an answer whose version the caller knows need not be sent again. */
type VersionedPathOf<M extends Method> = {
  [P in PathOf<M>]: 'ifNoneMatch' extends keyof RouteOf<M, P> ? P : never;
}[PathOf<M>];

/** Paths of changes that allow a dry run. */
type DryRunPathOf<M extends Method> = { [P in PathOf<M>]: 'dryRun' extends keyof RouteOf<M, P> ? P : never }[PathOf<M>];

interface Send<M extends Method> {
  /** Makes a dry run: changes nothing, and answers who would gain and who would lose which actions. */
  <P extends DryRunPathOf<M>>(path: P, input: InputOf<M, P> & { query: { dry_run: 'true' } }): Promise<ChangeOfAccess>;
  <P extends PathOf<M>, F extends keyof FilesOf<M, P>>(
    path: P,
    input: InputOf<M, P> & { query: { format: F } },
  ): Promise<FilesOf<M, P>[F]>;
  /** Answers undefined if the record is at a version that `ifNoneMatch` names. */
  <P extends VersionedPathOf<M>>(
    path: P,
    input: InputOf<M, P> & { ifNoneMatch: string },
  ): Promise<AnswerOf<M, P> | undefined>;
  <P extends PathOf<M>>(path: P, ...input: Arguments<InputOf<M, P>>): Promise<AnswerOf<M, P>>;
}

/** Page of any kind of list, as the API answers it. */
interface ListPage {
  records?: unknown[];
  results?: unknown[];
  total?: number;
  next_cursor?: string | null;
  Resources?: unknown[];
  totalResults?: number;
  startIndex?: number;
}

/** Paths whose GET answers a page of a list, and the type of the list's records. */
type ListPathOf = { [P in PathOf<'GET'>]: RecordOf<P> extends never ? never : P }[PathOf<'GET'>];
type RecordOf<P extends PathOf<'GET'>> =
  AnswerOf<'GET', P> extends { records: (infer R)[] } | { results: (infer R)[] } | { Resources: (infer R)[] }
    ? R
    : never;

/** Input of a list, without the cursor; `page` is the first page to read, `startIndex` the first resource. */
type ListInputOf<P extends PathOf<'GET'>> =
  InputOf<'GET', P> extends infer Input
    ? Input extends { query?: infer Query }
      ? Omit<Input, 'query'> & { query?: Omit<Query, 'cursor'> }
      : Input
    : never;

/** Paths of the lists that can be read by cursor. */
type CursorPathOf = {
  [P in ListPathOf]: RouteOf<'GET', P> extends { query?: infer Query }
    ? 'cursor' extends keyof NonNullable<Query>
      ? P
      : never
    : never;
}[ListPathOf];

const CURSOR_PATHS: Record<CursorPathOf, true> = { '/v1/managed-tables/{id}/data': true };

const UPLOAD_PATH = '/v1/managed-tables/upload';
const UPLOAD_INTO_PATH = '/v1/managed-tables/{id}/upload';
const UPLOAD_JOB_PATH = '/v1/managed-tables/upload-jobs/{jobId}';

/** Client of the API: one function for each method; path, input and answer are those of the contract. */
export interface Client {
  /**
   * Yields every record of a list, page after page; a page is requested when the previous one has been read. Rows are read by
   * cursor, so that none is missed or comes twice while others are added or deleted, unless a `page` is given. In other lists,
   * new records may move a record from one page to the next: it is yielded only once.
   */
  list<P extends ListPathOf>(path: P, ...input: Arguments<ListInputOf<P>>): AsyncIterableIterator<RecordOf<P>>;
  /**
   * Sends files, 1 to 10 that feed one table: a new one, or the one that `tableId` names. `waitFor` returns their
   * result. One file of more than 50 MB, up to 5 GiB, is sent in parts, and resumed where the connection was cut. Any
   * other upload that was not answered is not sent again, because its rows might be loaded twice.
   * @returns the job that reads them
   */
  upload(files: File | FileInParts | Iterable<File>, options?: UploadOptions): Promise<UploadJob>;
  /**
   * Waits until a job waits for a person (`waiting_confirm`), or has ended, successfully or not, as its `status` says.
   * `job` may also be the answer that starts a job of the Data API or of generation, or an export of the company.
   */
  waitFor<J extends Job>(job: J, options?: WaitOptions<JobOf<J>>): Promise<JobOf<J>>;
  /** Waits for a job, by the path that answers the job, until the job waits for a person or has ended. */
  waitFor<P extends JobPathOf>(
    path: P,
    input: Pick<InputOf<'GET', P>, 'params' & keyof InputOf<'GET', P>> & WaitOptions<AnswerOf<'GET', P>>,
  ): Promise<AnswerOf<'GET', P>>;
  get: Send<'GET'>;
  post: Send<'POST'>;
  put: Send<'PUT'>;
  patch: Send<'PATCH'>;
  delete: Send<'DELETE'>;
}

export interface ClientOptions {
  /** The address of the API, without a slash at the end. In a page that the API itself serves: an empty text. */
  baseUrl: string;
  /** The credential of the caller; without it, requests are sent unauthenticated. */
  credential?: Credential | undefined;
  /**
   * The number of times that a request is sent again if it exceeded a rate limit, was not answered, or met an
   * unavailable part of the system: after the time that the API says, else after one second, then two. Two when left
   * out. After a failure other than a rate limit, only requests that may be done twice are sent again: reads, PUT and
   * DELETE, and POST under the idempotency key that each call with a credential sends; but no write with a version, as
   * its own change would be reported as somebody else's. A sign-in is never sent again, as each try counts against the
   * person.
   */
  retries?: number | undefined;
  /**
   * The longest wait (s) before a request is sent again, by default 20. If the API asks for more, its refusal is thrown;
   * but an upload in parts that has begun waits as long as the API asks.
   */
  longestWait?: number | undefined;
  fetch?: typeof fetch | undefined;
}

interface Input {
  params?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: unknown;
  form?: FormData;
  bytes?: Blob;
  headers?: Record<string, string>;
  ifMatch?: string;
  ifNoneMatch?: string;
  signal?: AbortSignal | undefined;
  onHeaders?: (headers: Headers) => void;
  /** Function that sends the form instead of `fetch`. */
  formSender?: SendForm;
}

/** Makes a client of every surface for browsers, Node and Workers. Its calls throw `ApiError` when they are refused. */
export function createClient({
  baseUrl,
  credential: callerCredential,
  retries = 2,
  longestWait = 20,
  fetch: callerFetch,
}: ClientOptions): Client {
  const sendRequest = callerFetch ?? fetch;
  const sendOnce: Ask = async (method, url, headers, { body, signal } = {}) =>
    readAnswer(
      `${method} ${url.slice(baseUrl.length)}`,
      await sendRequest(url, { method, headers, body: body ?? null, signal: signal ?? null }),
    );

  async function call(method: Method, path: string, input: Input = {}) {
    const { params = {}, query = {}, body, form, bytes, ifMatch, ifNoneMatch, signal, onHeaders, formSender } = input;
    const url = baseUrl + fillPath(path, params) + formatQuery(query);
    const text = body === undefined ? '' : JSON.stringify(body);
    const isSignInRequest = method === 'POST' && isSignInPath(path);
    const credential = isSignInRequest ? undefined : callerCredential;
    const makeAuthHeaders = (refusedAuthorization?: string) =>
      credential
        ? waitUnlessAborted(
            credential({ method, url, body: text, baseUrl, longestWait, ask: sendOnce, refused: refusedAuthorization }),
            signal,
          )
        : undefined;
    const key = method === 'POST' && credential && !form ? crypto.randomUUID() : undefined;
    let refusedAuthorization: string | undefined;
    for (let attempt = 0; ; attempt += 1) {
      const headers = new Headers(await makeAuthHeaders(refusedAuthorization));
      const authorization = headers.get('authorization') ?? '';
      // An idempotency key is a known caller's.
      const hasIdempotencyKey = key !== undefined && authorization !== '';
      const isRepeatable = hasIdempotencyKey || (ifMatch === undefined && ['GET', 'PUT', 'DELETE'].includes(method));
      for (const [name, value] of Object.entries(input.headers ?? {})) headers.set(name, value);
      if (body !== undefined) headers.set('content-type', 'application/json');
      if (hasIdempotencyKey) headers.set('idempotency-key', key);
      if (ifMatch !== undefined) headers.set('if-match', ifMatch);
      if (ifNoneMatch !== undefined) headers.set('if-none-match', ifNoneMatch);
      try {
        const response = await (form && formSender
          ? formSender(url, { headers, form, signal })
          : sendRequest(url, { method, headers, body: form ?? bytes ?? (text || null), signal: signal ?? null }));
        const answer = response.status === 304 ? undefined : await readAnswer(`${method} ${path}`, response);
        onHeaders?.(response.headers);
        return answer;
      } catch (error) {
        if (refusedAuthorization === undefined && isRefused(error) && authorization.startsWith('Bearer ')) {
          refusedAuthorization = authorization;
          const nextAuthorization = (await makeAuthHeaders(refusedAuthorization))?.authorization;
          if (nextAuthorization === undefined || nextAuthorization === authorization) throw error;
          attempt -= 1;
          continue;
        }
        const isAnonymousPost = method === 'POST' && authorization === '';
        if (attempt >= retries || signal?.aborted || isAnonymousPost || !isWorthRepeating(error, isRepeatable))
          throw error;
        const pauseSeconds = (error instanceof ApiError ? error.retryAfter : null) ?? 2 ** attempt;
        if (pauseSeconds > longestWait) throw error;
        await wait(pauseSeconds * 1000, signal);
      }
    }
  }

  async function* list(path: string, { query = {}, ...input }: Input = {}): AsyncGenerator<unknown> {
    // Which page is first is not said by itself: some lists have one only.
    let at: Record<string, unknown> =
      path in CURSOR_PATHS && query.page === undefined ? { cursor: query.cursor ?? '' } : {};
    let previousRecords = new Set<string>();
    for (let readCount = 0, pageNumber = Number(query.page ?? 1); ; ) {
      const page = (await call('GET', path, { ...input, query: { ...query, ...at } })) as ListPage;
      const records = page.records ?? page.results ?? page.Resources;
      if (!records) throw new TypeError(`GET ${path} does not answer a list`);
      if ('next_cursor' in page) yield* records;
      else {
        // Compared as a whole: a list may have the same id more than once, in different records.
        const pageRecords = records.map((record) => JSON.stringify(record));
        yield* records.filter((_, index) => !previousRecords.has(pageRecords[index] as string));
        previousRecords = new Set(pageRecords);
      }
      readCount += records.length;
      if (typeof page.next_cursor === 'string') at = { cursor: page.next_cursor };
      else if (page.startIndex !== undefined) {
        const nextIndex = page.startIndex + records.length;
        if (records.length === 0 || nextIndex > (page.totalResults ?? 0)) return;
        at = { startIndex: nextIndex };
      } else if ('next_cursor' in page || records.length === 0 || readCount >= (page.total ?? 0)) return;
      else {
        pageNumber += 1;
        at = { page: pageNumber };
      }
    }
  }

  async function upload(
    uploadInput: File | FileInParts | Iterable<File>,
    { tableId, signal, ...options }: UploadOptions = {},
  ) {
    const sendInParts = async (file: FileInParts) => {
      const jobId = await sendResumably(call, file, { tableId, signal, ...options });
      return call('GET', UPLOAD_JOB_PATH, { params: { jobId }, signal });
    };
    if (!(uploadInput instanceof Blob || Symbol.iterator in uploadInput)) return sendInParts(uploadInput);
    const files = uploadInput instanceof Blob ? [uploadInput] : [...uploadInput];
    const [file, ...others] = files;
    if (file && others.length === 0 && (isSentResumably(file) || options.resumeAt !== undefined)) {
      return sendInParts(file);
    }
    const form = buildForm(files, options);
    const sendForm = createFormSender(sendRequest, callerFetch === undefined, options.onProgress);
    const startedUpload = await (tableId === undefined
      ? call('POST', UPLOAD_PATH, { form, formSender: sendForm, signal })
      : call('POST', UPLOAD_INTO_PATH, { params: { id: tableId }, form, formSender: sendForm, signal }));
    return call('GET', UPLOAD_JOB_PATH, { params: { jobId: (startedUpload as { job_id: string }).job_id }, signal });
  }

  async function waitFor(job: Job | string, options: WaitOptions<unknown> & Input = {}): Promise<unknown> {
    const [path, params] = typeof job === 'string' ? [job, options.params ?? {}] : findJobPath(job);
    const { onProgress, signal } = options;
    let version: string | undefined;
    const onHeaders = (headers: Headers) => {
      version = headers.get('etag') ?? undefined;
    };
    for (
      let nextRequest: JobRead = { pauseMs: 0, input: {} };
      ;
      nextRequest = planNextRead(version, nextRequest.pauseMs)
    ) {
      if (nextRequest.pauseMs > 0) await wait(nextRequest.pauseMs, signal);
      const currentJob = await call('GET', path, { ...nextRequest.input, params, signal, onHeaders });
      if (currentJob === undefined) continue;
      onProgress?.(currentJob);
      if (!isRunning(currentJob)) return currentJob;
    }
  }

  const makeMethod = (method: Method) => ((path: string, input?: Input) => call(method, path, input)) as never;
  return {
    list: list as never,
    upload: upload as never,
    waitFor: waitFor as never,
    get: makeMethod('GET'),
    post: makeMethod('POST'),
    put: makeMethod('PUT'),
    patch: makeMethod('PATCH'),
    delete: makeMethod('DELETE'),
  };
}

/** Fills in the parameters of a path. @throws RangeError for `.` and `..`, which are other paths however they are encoded */
const fillPath = (path: string, params: Record<string, string>): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name) => {
    const value = params[name] as string;
    if (value === '.' || value === '..') throw new RangeError(`"${value}" cannot be the ${name} of a path`);
    return encodeURIComponent(value);
  });

function formatQuery(query: Record<string, unknown>): string {
  const parameters = Object.entries(query).flatMap(([name, value]) => toParameters(name, value));
  return parameters.length === 0 ? '' : `?${new URLSearchParams(parameters)}`;
}

/** Lists the query parameters of a value: members of an object as `name[member]`, elements of a list one by one. */
function toParameters(name: string, value: unknown): [string, string][] {
  if (value === undefined) return [];
  if (Array.isArray(value)) return value.flatMap((element) => toParameters(name, element));
  if (typeof value !== 'object' || value === null) return [[name, String(value)]];
  return Object.entries(value).flatMap(([member, inner]) => toParameters(`${name}[${member}]`, inner));
}

/** Joins the values of a filter's `in` or `nin`. @throws RangeError without any value, which would be the empty text */
export function oneOf(values: readonly (string | number | boolean)[]): string {
  if (values.length === 0) throw new RangeError('a list of a filter has at least one value');
  return values
    .map((value) => (/[",]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : value))
    .join(',');
}
