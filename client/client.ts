import { ApiError, isRefused, mayHelpToRepeat, orAborted, read, wait } from './answers.ts';
import type { Ask, Credential } from './credentials.ts';
import type { ChangeOfAccess, Routes, UploadJob, WebhookEvents } from './generated/routes.ts';
import { isSentResumably, sendResumably } from './resumable.ts';
import { signsIn } from './session.ts';
import { buildForm, type FileInParts, type FormWay, formWay, type UploadOptions } from './upload.ts';
import {
  type Job,
  type JobOf,
  type JobPathOf,
  jobPath,
  type Look,
  nextLook,
  runs,
  type WaitOptions,
} from './waiting.ts';

export { ApiError, fieldErrors } from './answers.ts';
export { type Credential, type Key, withKey, withToken } from './credentials.ts';
export { type DataValue, endpointOf } from './data.ts';
export type * from './generated/routes.ts';
export { type SessionOptions, type SessionStore, type StoredSession, withSession } from './session.ts';
export type { FileInParts, UploadOptions, UploadProgress } from './upload.ts';
export type { Job, JobOf, WaitOptions } from './waiting.ts';

/** The body that a webhook endpoint is sent, of any type or of these: told apart by its `type`. */
export type WebhookEvent<T extends keyof WebhookEvents = keyof WebhookEvents> = WebhookEvents[T];

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The paths that take a method, as the contract writes them: `/accounts/{id}`. */
export type PathOf<M extends Method> = keyof Routes extends infer Name
  ? Name extends `${M} ${infer Path}`
    ? Path
    : never
  : never;

type RouteOf<M extends Method, P extends PathOf<M>> = Routes[`${M} ${P}` & keyof Routes];

/** The answer to a method on a path. */
export type AnswerOf<M extends Method, P extends PathOf<M>> = RouteOf<M, P> extends { answer: infer A } ? A : never;

/** The files that a method on a path can be asked for, by their `format`. */
export type FilesOf<M extends Method, P extends PathOf<M>> =
  RouteOf<M, P> extends { files: infer F } ? F : Record<never, never>;

/** Lets each optional member be undefined, which is as if it were left out, whatever `exactOptionalPropertyTypes` says. */
type OrUndefined<T> = T extends object
  ? { [K in keyof T]: Record<never, never> extends Pick<T, K> ? T[K] | undefined : T[K] }
  : T;

/** The input of a method on a path. */
export type InputOf<M extends Method, P extends PathOf<M>> =
  RouteOf<M, P> extends infer R
    ? OrUndefined<{
        [K in keyof R as Exclude<K, 'answer' | 'files' | 'dryRun'>]: K extends 'query' | 'body'
          ? OrUndefined<R[K]>
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

/** The paths whose answers have versions, of which those that the caller knows need not be answered again. */
type VersionedPathOf<M extends Method> = {
  [P in PathOf<M>]: 'ifNoneMatch' extends keyof RouteOf<M, P> ? P : never;
}[PathOf<M>];

/** The paths of changes that allow a dry run. */
type TriedPathOf<M extends Method> = { [P in PathOf<M>]: 'dryRun' extends keyof RouteOf<M, P> ? P : never }[PathOf<M>];

interface Send<M extends Method> {
  /** Changes nothing, and answers who would gain and who would lose what. */
  <P extends TriedPathOf<M>>(path: P, input: InputOf<M, P> & { query: { dry_run: 'true' } }): Promise<ChangeOfAccess>;
  <P extends PathOf<M>, F extends keyof FilesOf<M, P>>(
    path: P,
    input: InputOf<M, P> & { query: { format: F } },
  ): Promise<FilesOf<M, P>[F]>;
  /** Answers nothing where the record is at a version that `ifNoneMatch` names. */
  <P extends VersionedPathOf<M>>(
    path: P,
    input: InputOf<M, P> & { ifNoneMatch: string },
  ): Promise<AnswerOf<M, P> | undefined>;
  <P extends PathOf<M>>(path: P, ...input: Arguments<InputOf<M, P>>): Promise<AnswerOf<M, P>>;
}

/** A page of any kind of list. */
interface ListPage {
  records?: unknown[];
  results?: unknown[];
  total?: number;
  next_cursor?: string | null;
}

/** The paths whose GET answers a page of a list, and what the list holds. */
type ListPathOf = { [P in PathOf<'GET'>]: RecordOf<P> extends never ? never : P }[PathOf<'GET'>];
type RecordOf<P extends PathOf<'GET'>> =
  AnswerOf<'GET', P> extends { records: (infer R)[] } | { results: (infer R)[] } ? R : never;

/** The input of a list, except for the number of its page. */
type ListInputOf<P extends PathOf<'GET'>> =
  InputOf<'GET', P> extends infer Input
    ? Input extends { query?: infer Query }
      ? Omit<Input, 'query'> & { query?: Omit<Query, 'page' | 'cursor'> }
      : Input
    : never;

const UPLOAD_PATH = '/v1/managed-tables/upload';
const UPLOAD_INTO_PATH = '/v1/managed-tables/{id}/upload';
const UPLOAD_JOB_PATH = '/v1/managed-tables/upload-jobs/{jobId}';

/** One function for each method; path, input and answer are those of the contract. */
export interface Client {
  /** Yields every record of a list, page after page; each page is asked for when the one before has been read. */
  list<P extends ListPathOf>(path: P, ...input: Arguments<ListInputOf<P>>): AsyncIterableIterator<RecordOf<P>>;
  /**
   * Sends files, 1 to 10 that feed one table: a new one, or the one that `tableId` names. `waitFor` tells what came of them. One
   * file of more than 50 MB, up to 5 GiB, goes out in parts, and goes on where the connection was cut. Any other upload that was not
   * answered is not sent again: it might be done twice. @returns the job that reads them
   */
  upload(files: File | FileInParts | Iterable<File>, options?: UploadOptions): Promise<UploadJob>;
  /**
   * Waits until a job waits for a person (`waiting_confirm`) or has ended, well or not: its `status` tells.
   * A job is also the answer to a job of the Data API or of generation, and to an export of the company.
   */
  waitFor<J extends Job>(job: J, options?: WaitOptions<JobOf<J>>): Promise<JobOf<J>>;
  /** Waits for any job in the same way, by the path that shows it. */
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
  /** The credential of the caller; left out, nobody is signed in. */
  credential?: Credential | undefined;
  /**
   * The number of times that a request is sent again that came too often, was not answered, or met a part that was away; after
   * the time the API says, else after a second, then two. Twice when left out. Only requests that may be done twice are: reads,
   * PUT and DELETE, and POST under the idempotency key that each call of a known caller carries. A write for a version is not:
   * its own change would be told as somebody else's. Nor is a sign-in: each try counts against the person.
   */
  retries?: number | undefined;
  /** The longest wait (s) before sending again, by default 20. Where the API asks for more, its refusal is thrown. */
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
  /** A function that sends the form, in the place of `fetch`. */
  way?: FormWay;
}

/** A client of every surface. Runs in browsers, Node and Workers. Its calls throw `ApiError` when they are refused. */
export function createClient({
  baseUrl,
  credential: given,
  retries = 2,
  longestWait = 20,
  fetch: givenFetch,
}: ClientOptions): Client {
  const send = givenFetch ?? fetch;
  const ask: Ask = async (method, url, headers, { body, signal } = {}) =>
    read(
      `${method} ${url.slice(baseUrl.length)}`,
      await send(url, { method, headers, body: body ?? null, signal: signal ?? null }),
    );

  async function call(method: Method, path: string, input: Input = {}) {
    const { params = {}, query = {}, body, form, bytes, ifMatch, ifNoneMatch, signal, onHeaders, way } = input;
    const url = baseUrl + fill(path, params) + search(query);
    const text = body === undefined ? '' : JSON.stringify(body);
    const isSignIn = method === 'POST' && signsIn(path);
    const credential = isSignIn ? undefined : given;
    const vouch = (refused?: string) =>
      credential
        ? orAborted(credential({ method, url, body: text, baseUrl, longestWait, ask, refused }), signal)
        : undefined;
    const key = method === 'POST' && credential && !form ? crypto.randomUUID() : undefined;
    let refused: string | undefined;
    for (let attempt = 0; ; attempt += 1) {
      const headers = new Headers(await vouch(refused));
      const authorization = headers.get('authorization') ?? '';
      // An idempotency key is a known caller's.
      const isKnown = key !== undefined && authorization !== '';
      const isRepeatable = isKnown || (ifMatch === undefined && ['GET', 'PUT', 'DELETE'].includes(method));
      for (const [name, value] of Object.entries(input.headers ?? {})) headers.set(name, value);
      if (body !== undefined) headers.set('content-type', 'application/json');
      if (isKnown) headers.set('idempotency-key', key);
      if (ifMatch !== undefined) headers.set('if-match', ifMatch);
      if (ifNoneMatch !== undefined) headers.set('if-none-match', ifNoneMatch);
      try {
        const response = await (form && way
          ? way(url, { headers, form, signal })
          : send(url, { method, headers, body: form ?? bytes ?? (text || null), signal: signal ?? null }));
        const answer = response.status === 304 ? undefined : await read(`${method} ${path}`, response);
        onHeaders?.(response.headers);
        return answer;
      } catch (error) {
        if (refused === undefined && isRefused(error) && authorization.startsWith('Bearer ')) {
          refused = authorization;
          const next = (await vouch(refused))?.authorization;
          if (next === undefined || next === authorization) throw error;
          attempt -= 1;
          continue;
        }
        const isByNobody = method === 'POST' && authorization === '';
        if (attempt >= retries || signal?.aborted || isByNobody || !mayHelpToRepeat(error, isRepeatable)) throw error;
        const pause = (error instanceof ApiError ? error.retryAfter : null) ?? 2 ** attempt;
        if (pause > longestWait) throw error;
        await wait(pause * 1000, signal);
      }
    }
  }

  async function* list(path: string, { query = {}, ...input }: Input = {}): AsyncGenerator<unknown> {
    // Which page is first is not said: some lists have one only.
    let at: Record<string, unknown> = {};
    for (let told = 0, number = 1; ; ) {
      const page = (await call('GET', path, { ...input, query: { ...query, ...at } })) as ListPage;
      const records = page.records ?? page.results ?? [];
      yield* records;
      told += records.length;
      if (typeof page.next_cursor === 'string') at = { cursor: page.next_cursor };
      else if ('next_cursor' in page || records.length === 0 || told >= (page.total ?? 0)) return;
      else {
        number += 1;
        at = { page: number };
      }
    }
  }

  async function upload(
    given: File | FileInParts | Iterable<File>,
    { tableId, signal, ...options }: UploadOptions = {},
  ) {
    const sendInParts = async (file: FileInParts) => {
      const jobId = await sendResumably(call, file, { tableId, signal, ...options });
      return call('GET', UPLOAD_JOB_PATH, { params: { jobId }, signal });
    };
    if (!(given instanceof Blob || Symbol.iterator in given)) return sendInParts(given);
    const files = given instanceof Blob ? [given] : [...given];
    const [file, ...others] = files;
    if (file && others.length === 0 && (isSentResumably(file) || options.resumeAt !== undefined)) {
      return sendInParts(file);
    }
    const form = buildForm(files, options);
    const way = formWay(send, givenFetch === undefined, options.onProgress);
    const begun = await (tableId === undefined
      ? call('POST', UPLOAD_PATH, { form, way, signal })
      : call('POST', UPLOAD_INTO_PATH, { params: { id: tableId }, form, way, signal }));
    return call('GET', UPLOAD_JOB_PATH, { params: { jobId: (begun as { job_id: string }).job_id }, signal });
  }

  async function waitFor(job: Job | string, options: WaitOptions<unknown> & Input = {}): Promise<unknown> {
    const [path, params] = typeof job === 'string' ? [job, options.params ?? {}] : jobPath(job);
    const { onProgress, signal } = options;
    let version: string | undefined;
    const onHeaders = (headers: Headers) => {
      version = headers.get('etag') ?? undefined;
    };
    for (let look: Look = { pause: 0, input: {} }; ; look = nextLook(version, look.pause)) {
      if (look.pause > 0) await wait(look.pause, signal);
      const found = await call('GET', path, { ...look.input, params, signal, onHeaders });
      if (found === undefined) continue;
      onProgress?.(found);
      if (!runs(found)) return found;
    }
  }

  const of = (method: Method) => ((path: string, input?: Input) => call(method, path, input)) as never;
  return {
    list: list as never,
    upload: upload as never,
    waitFor: waitFor as never,
    get: of('GET'),
    post: of('POST'),
    put: of('PUT'),
    patch: of('PATCH'),
    delete: of('DELETE'),
  };
}

const fill = (path: string, params: Record<string, string>): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(params[name] as string));

function search(query: Record<string, unknown>): string {
  const given = Object.entries(query).flatMap(([name, value]) => toParameters(name, value));
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}

/** Members of an object go out as `name[member]`, elements of a list one after the other. */
function toParameters(name: string, value: unknown): [string, string][] {
  if (value === undefined) return [];
  if (Array.isArray(value)) return value.flatMap((each) => toParameters(name, each));
  if (typeof value !== 'object' || value === null) return [[name, String(value)]];
  return Object.entries(value).flatMap(([member, inner]) => toParameters(`${name}[${member}]`, inner));
}

/** The list that a filter's `in` and `nin` take. @throws RangeError without any value, which would be the empty text */
export function oneOf(values: readonly (string | number | boolean)[]): string {
  if (values.length === 0) throw new RangeError('a list of a filter has at least one value');
  return values
    .map((value) => (/[",]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : value))
    .join(',');
}
