import { getFailureText, LOCALE, TEXTS } from './texts.ts';

/** The problem of a part of a request, such as `parameters.cost`, in the page's language. */
export interface ProblemDetail {
  field: string;
  message?: string;
}

/** Thrown when a call fails. `message` may be displayed to the user. */
export class ApiProblem extends Error {
  /** The HTTP status; 0 without a response. */
  readonly status: number;
  readonly code: string;
  /** The seconds to wait before the next attempt, if the server says so. */
  readonly retryAfter: number | null;
  /** The problems of the request's parts. */
  readonly details: readonly ProblemDetail[];

  constructor(
    status: number,
    code: string,
    message: string,
    { retryAfter = null, details = [] }: { retryAfter?: number | null; details?: readonly ProblemDetail[] } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
    this.details = details;
  }
}

/** Returns the message of a failed call for the user; of any other error, that something is broken. */
export const formatFailure = (error: unknown): string => (error instanceof ApiProblem ? error.message : TEXTS.broken);

export interface CallOptions {
  body?: unknown;
  /** The bearer token. */
  token?: string;
  signal?: AbortSignal | undefined;
  /** True to request a response that is not cached. */
  isFresh?: boolean | undefined;
  /** Called with the server's time (ms) of the response. */
  onServerTime?: (time: number) => void;
}

/** Calls this page's API: by POST with a body, else by GET. @throws ApiProblem; the signal's reason when aborted */
export async function callApi<T>(path: string, options: CallOptions = {}): Promise<T> {
  const response = await sendRequest(path, options);
  options.onServerTime?.(Date.parse(response.headers.get('Date') ?? '') || Date.now());
  const answer: unknown = await response.json().catch(() => undefined);
  if (response.ok && answer !== undefined) return answer as T;
  options.signal?.throwIfAborted();
  // The connection ended within the answer.
  throw response.ok ? makeOfflineProblem() : toApiProblem(response, answer);
}

/** Calls the API for a file; the response gives its name. @throws ApiProblem */
export async function callFile(path: string, options: CallOptions): Promise<File> {
  const response = await sendRequest(path, options);
  if (!response.ok) throw toApiProblem(response, await response.json().catch(() => undefined));
  const [, name = 'file'] = /filename\*=UTF-8''([^;]+)/.exec(response.headers.get('Content-Disposition') ?? '') ?? [];
  const content = await response.blob().catch(() => {
    throw makeOfflineProblem();
  });
  return new File([content], decodeURIComponent(name), { type: content.type });
}

function sendRequest(path: string, { body, token, signal, isFresh }: CallOptions): Promise<Response> {
  const headers = new Headers({ 'Accept-Language': LOCALE });
  if (token) headers.set('Authorization', `Bearer ${token}`);
  if (isFresh) headers.set('Cache-Control', 'no-cache');
  if (body !== undefined) headers.set('Content-Type', 'application/json');
  const request: RequestInit = { headers, signal, credentials: 'omit' };
  if (body !== undefined) Object.assign(request, { method: 'POST', body: JSON.stringify(body) });
  return fetch(path, request).catch((cause: unknown) => {
    throw signal?.aborted ? cause : makeOfflineProblem();
  });
}

const makeOfflineProblem = (): ApiProblem => new ApiProblem(0, 'NETWORK', TEXTS.offline);

/** Converts a failed response to a problem in the page's language. */
function toApiProblem({ status, headers }: Response, answer: unknown): ApiProblem {
  const { error_code, error, details } = (answer ?? {}) as Record<string, unknown>;
  const code = String(error_code ?? error ?? 'UNKNOWN');
  const retryAfterSeconds = Number(headers.get('Retry-After')) || null;
  if (status === 429) return new ApiProblem(status, code, TEXTS.busy, { retryAfter: retryAfterSeconds ?? 1 });
  if (status === 404) return new ApiProblem(status, code, TEXTS.notFound);
  return new ApiProblem(status, code, getFailureText(code), {
    retryAfter: retryAfterSeconds,
    details: toDetails(details),
  });
}

const toDetails = (details: unknown): ProblemDetail[] =>
  Array.isArray(details) ? details.map((detail) => ({ field: '', ...Object(detail) })) : [];
