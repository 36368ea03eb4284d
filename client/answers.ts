/** The API refused a request. `body` is the surface's own wording. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  /** `error` or `error_code` of the body: the surfaces differ in where their codes stand. */
  readonly code: string | null;
  readonly body: unknown;
  /** For whoever runs the API: finds the request in its records. */
  readonly correlationId: string | null;
  /** Seconds after which the API says that a new try makes sense. */
  readonly retryAfter: number | null;

  constructor(what: string, { status, headers }: Response, body: unknown) {
    const { error, error_code, message } = Object(body) as Record<string, unknown>;
    super(`${what} answered ${status}: ${message ?? error ?? JSON.stringify(body)}`);
    this.status = status;
    this.code = (error_code ?? error ?? null) as string | null;
    this.body = body;
    this.correlationId = headers.get('x-correlation-id');
    const seconds = Number.parseFloat(headers.get('retry-after') ?? '');
    this.retryAfter = Number.isNaN(seconds) ? null : seconds;
  }
}

/** The message for each field at fault, by its name, for who filled it in; empty for errors that name no fields. */
export function fieldErrors(error: unknown): Record<string, string> {
  const { details, message } = Object(error instanceof ApiError ? error.body : undefined) as {
    details?: { field?: unknown; message?: string } | { field?: unknown; message?: string }[];
    message?: string;
  };
  const named = [details ?? []].flat().filter(({ field }) => typeof field === 'string');
  return Object.fromEntries(named.map((each) => [each.field, each.message ?? message ?? '']));
}

const MAY_PASS = [502, 503, 504];
const FIRST_IS_AT_WORK = ['IDEMPOTENCY_KEY_IN_USE', 'IdempotencyKeyInUse'];

export const isRefused = (error: unknown): boolean => error instanceof ApiError && error.status === 401;

/** Whether the same request may be answered differently later: it came too often, or it may be done twice and its answer is missing. */
export function mayHelpToRepeat(error: unknown, isRepeatable: boolean): boolean {
  if (!(error instanceof ApiError)) return isRepeatable;
  const { status, code } = error;
  return status === 429 || (isRepeatable && (MAY_PASS.includes(status) || FIRST_IS_AT_WORK.includes(code ?? '')));
}

/** Types of answers that are texts; others are bytes. */
const TEXT = /^text\/|json\b/;

/** Reads the body of a response: JSON, a text, or bytes. @throws ApiError when it is a refusal */
export async function read(what: string, response: Response): Promise<unknown> {
  const type = response.headers.get('content-type') ?? 'text/plain';
  if (response.ok && !TEXT.test(type)) return response.blob();
  const text = await response.text();
  const isJson = /\bjson\b/.test(type);
  const answer = isJson ? JSON.parse(text) : text || undefined;
  if (response.ok) return answer;
  throw new ApiError(what, response, answer);
}

/** Waits for a number of milliseconds, or throws the reason of `signal` once that is aborted. */
export const wait = (milliseconds: number, signal?: AbortSignal): Promise<void> =>
  unlessAborted(signal, (ended) => {
    const timer = setTimeout(ended.resolve, milliseconds);
    return () => clearTimeout(timer);
  });

/** Waits for work that others wait for too; aborting the wait leaves the work going. @throws the reason of `signal` */
export function orAborted<T>(awaited: Promise<T>, signal?: AbortSignal): Promise<T> {
  // Where nobody waits any more, nobody is told.
  awaited.catch(() => {});
  return unlessAborted<T>(signal, ({ resolve, reject }) => {
    awaited.then(resolve, reject);
    return () => {};
  });
}

interface Ended<T> {
  resolve(value: T): void;
  reject(reason: unknown): void;
}

/** Begins work, and undoes it by the function that `begin` returns if `signal` is aborted before its end. */
function unlessAborted<T>(signal: AbortSignal | undefined, begin: (ended: Ended<T>) => () => void): Promise<T> {
  let undo = () => {};
  let listener = () => {};
  return new Promise<T>((resolve, reject) => {
    signal?.throwIfAborted();
    undo = begin({ resolve, reject });
    listener = () => reject(signal?.reason);
    signal?.addEventListener('abort', listener);
  }).finally(() => {
    signal?.removeEventListener('abort', listener);
    undo();
  });
}
