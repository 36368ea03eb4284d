import { runUnlessAborted } from './answers.ts';

/** Progress of an upload in bytes of the files. */
export interface UploadProgress {
  /** Number of bytes that were sent so far. */
  sent: number;
  /** Number of bytes of all files. */
  total: number;
}

export interface UploadOptions {
  /** The managed table that the rows are loaded into; a new one when left out. */
  tableId?: string | undefined;
  /** Effect on the rows that exist, as in the API's upload into a table. */
  mode?: 'append' | 'replace' | 'upsert' | undefined;
  /** Key columns by which `upsert` matches rows. */
  key?: readonly string[] | undefined;
  /**
   * Changes of the table's columns that the load may make: none, new columns (`add`), or also wider types (`widen`).
   */
  evolve?: 'none' | 'add' | 'widen' | undefined;
  /** Called at the beginning, as bytes are sent, and at the end; with a custom `fetch`, browsers report nothing in between. */
  onProgress?: ((progress: UploadProgress) => void) | undefined;
  /** Signal that stops the upload. A started upload is then deleted, unless `onBegun` received its id. */
  signal?: AbortSignal | undefined;
  /** Called with the id of an upload that can be resumed within a day: of one file of more than 50 MB. */
  onBegun?: ((id: string) => void) | undefined;
  /** The id of an earlier upload of the same file, which is resumed. */
  resumeAt?: string | undefined;
}

/** File whose parts are read when they are sent, for callers without a whole `File`. */
export interface FileInParts {
  name: string;
  type?: string;
  /** Size in bytes. */
  size: number;
  slice(start: number, end: number): Blob | Promise<Blob>;
}

interface FormRequest {
  headers: Headers;
  form: FormData;
  signal?: AbortSignal | undefined;
}

/** Function that sends a form by POST, and answers as `fetch` does. */
export type SendForm = (url: string, formRequest: FormRequest) => Promise<Response>;

/** Used part of XMLHttpRequest, whose type is unknown to runtimes other than browsers. */
interface Xhr {
  open(method: string, url: string): void;
  setRequestHeader(name: string, value: string): void;
  getAllResponseHeaders(): string;
  send(body: FormData): void;
  abort(): void;
  responseType: string;
  status: number;
  response: Blob;
  upload: { onprogress: ((event: { loaded: number }) => void) | null };
  onload: (() => void) | null;
  onerror: (() => void) | null;
}

/** Builds the form of an upload: its fields before its files. */
export function buildForm(files: File | Iterable<File>, { mode, key = [], evolve }: UploadOptions): FormData {
  const form = new FormData();
  if (mode !== undefined) form.append('mode', mode);
  if (evolve !== undefined) form.append('evolve', evolve);
  for (const column of key) form.append('key', column);
  for (const file of files instanceof Blob ? [files] : files) form.append('files', file);
  return form;
}

/**
 * Creates a function that sends a form and reports progress. In browsers only XMLHttpRequest reports progress;
 * elsewhere the form is a stream whose bytes are counted as they are read.
 * @param isRuntimeFetch whether `sendRequest` is the runtime's own `fetch`; any other function is called for each
 * request
 */
export function createFormSender(
  sendRequest: typeof fetch,
  isRuntimeFetch: boolean,
  onProgress?: UploadOptions['onProgress'],
): SendForm {
  const { XMLHttpRequest, navigator } = globalThis as unknown as {
    XMLHttpRequest?: new () => Xhr;
    navigator?: { userAgent?: string };
  };
  const isBrowser = navigator?.userAgent?.startsWith('Mozilla/') ?? false;
  return async (url, formRequest) => {
    const files = formRequest.form.getAll('files').filter((entry) => typeof entry !== 'string');
    const total = files.reduce((sum, { size }) => sum + size, 0);
    let lastSentBytes = -1;
    const reportBytes = (bytes: number) => {
      const sentBytes = Math.min(bytes, total);
      if (sentBytes > lastSentBytes) onProgress?.({ sent: sentBytes, total });
      lastSentBytes = Math.max(sentBytes, lastSentBytes);
    };
    reportBytes(0);
    const response = await (XMLHttpRequest && isRuntimeFetch
      ? sendByXhr(new XMLHttpRequest(), url, formRequest, reportBytes)
      : isBrowser
        ? sendRequest(url, {
            method: 'POST',
            headers: formRequest.headers,
            body: formRequest.form,
            signal: formRequest.signal ?? null,
          })
        : sendByStream(sendRequest, url, formRequest, reportBytes));
    if (response.ok) reportBytes(total);
    return response;
  };
}

/** Sends a form by XMLHttpRequest. @throws TypeError without an answer, as `fetch` does, or the reason of the signal */
function sendByXhr(
  request: Xhr,
  url: string,
  { headers, form, signal }: FormRequest,
  reportBytes: (bytes: number) => void,
) {
  return runUnlessAborted<Response>(signal, ({ resolve, reject }) => {
    request.open('POST', url);
    for (const [name, value] of headers) request.setRequestHeader(name, value);
    request.responseType = 'blob';
    request.upload.onprogress = ({ loaded }) => reportBytes(loaded);
    request.onerror = () => reject(new TypeError('The upload was not answered.'));
    request.onload = () => resolve(toResponse(request));
    request.send(form);
    return () => request.abort();
  });
}

function toResponse(request: Xhr): Response {
  const lines = request.getAllResponseHeaders().trim().split(/\r?\n/).filter(Boolean);
  const headers = lines.map((line): [string, string] => {
    const end = line.indexOf(':');
    return [line.slice(0, end), line.slice(end + 1).trim()];
  });
  return new Response(request.response, { status: request.status, headers });
}

/**
 * Sends a form as a stream that is written by this module: runtimes that write a form themselves report no progress.
 */
function sendByStream(
  sendRequest: typeof fetch,
  url: string,
  { headers, form, signal }: FormRequest,
  reportBytes: (bytes: number) => void,
) {
  const boundary = `form-${crypto.randomUUID()}`;
  const chunks = splitChunks(form, boundary, reportBytes);
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await chunks.return();
    },
  });
  const sentHeaders = new Headers(headers);
  sentHeaders.set('content-type', `multipart/form-data; boundary=${boundary}`);
  const init: RequestInit = { method: 'POST', headers: sentHeaders, body, signal: signal ?? null };
  // Node asks for it; the types of browsers do not know it.
  return sendRequest(url, { ...init, duplex: 'half' } as RequestInit);
}

/** Yields a form as RFC 7578 and browsers write it. `reportBytes` is called with the number of file bytes that were taken. */
async function* splitChunks(
  form: FormData,
  boundary: string,
  reportBytes: (bytes: number) => void,
): AsyncGenerator<Uint8Array, void> {
  let takenBytes = 0;
  for (const [name, value] of form) {
    const part = `--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(name)}"`;
    if (typeof value === 'string') {
      yield encodeUtf8(`${part}\r\n\r\n${value}\r\n`);
      continue;
    }
    const type = value.type || 'application/octet-stream';
    yield encodeUtf8(`${part}; filename="${escapeName(value.name)}"\r\nContent-Type: ${type}\r\n\r\n`);
    const reader = value.stream().getReader();
    try {
      for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
        yield chunk.value;
        // It has been taken once the next one is wanted.
        takenBytes += chunk.value.byteLength;
        reportBytes(takenBytes);
      }
    } finally {
      await reader.cancel();
    }
    yield encodeUtf8('\r\n');
  }
  yield encodeUtf8(`--${boundary}--\r\n`);
}

const encodeUtf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

const escapeName = (name: string): string =>
  name.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');
