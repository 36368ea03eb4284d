/** Error thrown when the API refuses a request. `body` is the refusal in the surface's own form. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  /** Value of `error` or `error_code` in the body: the surfaces put their codes in different places. */
  readonly code: string | null;
  readonly body: unknown;
  /** Id by which the API's operators find the request in their records. */
  readonly correlationId: string | null;
  /** Seconds after which the API says that another try makes sense. */
  readonly retryAfter: number | null;

  constructor(requestLine: string, { status, headers }: Response, body: unknown) {
    const { error, error_code, message } = Object(body) as Record<string, unknown>;
    super(`${requestLine} answered ${status}: ${message ?? error ?? JSON.stringify(body)}`);
    this.status = status;
    this.code = (error_code ?? error ?? null) as string | null;
    this.body = body;
    this.correlationId = headers.get('x-correlation-id');
    const seconds = Number.parseFloat(headers.get('retry-after') ?? '');
    this.retryAfter = Number.isNaN(seconds) ? null : seconds;
  }
}

/** Returns the message for each invalid field by its name, for the person who filled it in; empty if no fields are named. */
export function fieldErrors(error: unknown): Record<string, string> {
  const { details, message } = Object(error instanceof ApiError ? error.body : undefined) as {
    details?: { field?: unknown; message?: string } | { field?: unknown; message?: string }[];
    message?: string;
  };
  const namedDetails = [details ?? []].flat().filter(({ field }) => typeof field === 'string');
  return Object.fromEntries(namedDetails.map((detail) => [detail.field, detail.message ?? message ?? '']));
}

const TEMPORARY_STATUSES = [502, 503, 504];
const KEY_IN_USE_CODES = ['IDEMPOTENCY_KEY_IN_USE', 'IdempotencyKeyInUse'];

export const isRefused = (error: unknown): boolean => error instanceof ApiError && error.status === 401;

/**
 * Returns true if the same request may be answered differently later: it exceeded a rate limit, or it is repeatable,
 * and was not answered or met a temporary failure.
 */
export function isWorthRepeating(error: unknown, isRepeatable: boolean): boolean {
  if (!(error instanceof ApiError)) return isRepeatable;
  const { status, code } = error;
  return (
    status === 429 || (isRepeatable && (TEMPORARY_STATUSES.includes(status) || KEY_IN_USE_CODES.includes(code ?? '')))
  );
}

/** Pattern of the media types that are read as text; others are read as bytes. */
const TEXT_TYPE_PATTERN = /^text\/|json\b/;

/** Reads the body of a response: JSON, a text, or bytes. @throws ApiError when it is a refusal */
export async function readAnswer(requestLine: string, response: Response): Promise<unknown> {
  const type = response.headers.get('content-type') ?? 'text/plain';
  if (response.ok && !TEXT_TYPE_PATTERN.test(type)) return response.blob();
  const text = await response.text();
  const isJson = /\bjson\b/.test(type);
  const answer = isJson ? JSON.parse(text) : text || undefined;
  if (response.ok) return answer;
  throw new ApiError(requestLine, response, answer);
}

/** Waits for a number of milliseconds, or throws the reason of `signal` once that is aborted. */
export const wait = (milliseconds: number, signal?: AbortSignal): Promise<void> =>
  runUnlessAborted(signal, (promise) => {
    const timer = setTimeout(promise.resolve, milliseconds);
    return () => clearTimeout(timer);
  });

/** Waits for shared work; aborting ends only this wait, while the work goes on. @throws the reason of `signal` */
export function waitUnlessAborted<T>(sharedWork: Promise<T>, signal?: AbortSignal): Promise<T> {
  // Where nobody waits any more, nobody is told.
  sharedWork.catch(() => {});
  return runUnlessAborted<T>(signal, ({ resolve, reject }) => {
    sharedWork.then(resolve, reject);
    return () => {};
  });
}

interface Resolvers<T> {
  resolve(value: T): void;
  reject(reason: unknown): void;
}

/**
 * Starts work, and waits for its result or until `signal` is aborted. The function that `start` returns is called at
 * the end in both cases, so that it stops work that was aborted.
 * @throws the reason of `signal`
 */
export function runUnlessAborted<T>(
  signal: AbortSignal | undefined,
  start: (promise: Resolvers<T>) => () => void,
): Promise<T> {
  let undo = () => {};
  let listener = () => {};
  return new Promise<T>((resolve, reject) => {
    signal?.throwIfAborted();
    undo = start({ resolve, reject });
    listener = () => reject(signal?.reason);
    signal?.addEventListener('abort', listener);
  }).finally(() => {
    signal?.removeEventListener('abort', listener);
    undo();
  });
}
