import { failureText, LOCALE, TEXTS } from './texts.ts';

/** The problem of a part of a request, such as `parameters.cost`; in the page's language, as the API says it. */
export interface Detail {
  field: string;
  message?: string;
}

/** An error of a call. `message` may be displayed to the person. */
export class ApiProblem extends Error {
  /** HTTP status; 0 without an answer. */
  readonly status: number;
  readonly code: string;
  /** Seconds to wait before the next try, if the server says so. */
  readonly retryAfter: number | null;
  /** The problems of the request's parts. */
  readonly details: readonly Detail[];

  constructor(
    status: number,
    code: string,
    message: string,
    { retryAfter = null, details = [] }: { retryAfter?: number | null; details?: readonly Detail[] } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
    this.details = details;
  }
}

export interface Call {
  body?: unknown;
  /** Bearer token. */
  token?: string;
  signal?: AbortSignal | undefined;
  /** Asks for an answer that is not kept from before. */
  isFresh?: boolean | undefined;
  /** Called with the time (ms) of the server when it answered. */
  onTime?: (time: number) => void;
}

/** Calls this page's API: with a body by POST, else by GET. @throws ApiProblem; the signal's reason when aborted */
export async function call<T>(path: string, options: Call = {}): Promise<T> {
  const response = await sendRequest(path, options);
  options.onTime?.(Date.parse(response.headers.get('Date') ?? '') || Date.now());
  const answer: unknown = await response.json().catch(() => undefined);
  if (response.ok && answer !== undefined) return answer as T;
  options.signal?.throwIfAborted();
  throw toProblem(response, answer);
}

/** Calls the API for a file, which has the name that the answer gives it. @throws ApiProblem */
export async function callFile(path: string, options: Call): Promise<File> {
  const response = await sendRequest(path, options);
  if (!response.ok) throw toProblem(response, await response.json().catch(() => undefined));
  const [, name = 'file'] = /filename\*=UTF-8''([^;]+)/.exec(response.headers.get('Content-Disposition') ?? '') ?? [];
  const content = await response.blob().catch(() => {
    throw new ApiProblem(0, 'NETWORK', TEXTS.offline);
  });
  return new File([content], decodeURIComponent(name), { type: content.type });
}

function sendRequest(path: string, { body, token, signal, isFresh }: Call): Promise<Response> {
  const headers = new Headers({ 'Accept-Language': LOCALE });
  if (token) headers.set('Authorization', `Bearer ${token}`);
  if (isFresh) headers.set('Cache-Control', 'no-cache');
  if (body !== undefined) headers.set('Content-Type', 'application/json');
  const request: RequestInit = { headers, signal, credentials: 'omit' };
  if (body !== undefined) Object.assign(request, { method: 'POST', body: JSON.stringify(body) });
  return fetch(path, request).catch((cause: unknown) => {
    throw signal?.aborted ? cause : new ApiProblem(0, 'NETWORK', TEXTS.offline);
  });
}

/** A failure in the words of the page's language. */
function toProblem({ status, headers }: Response, answer: unknown): ApiProblem {
  const { error_code, error, details } = (answer ?? {}) as Record<string, unknown>;
  const code = String(error_code ?? error ?? 'UNKNOWN');
  const waits = Number(headers.get('Retry-After')) || null;
  if (status === 429) return new ApiProblem(status, code, TEXTS.busy, { retryAfter: waits ?? 1 });
  if (status === 404) return new ApiProblem(status, code, TEXTS.notFound);
  return new ApiProblem(status, code, failureText(code), { retryAfter: waits, details: detailsIn(details) });
}

const detailsIn = (details: unknown): Detail[] =>
  Array.isArray(details) ? details.map((detail) => ({ field: '', ...Object(detail) })) : [];
