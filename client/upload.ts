/** The progress of an upload. Bytes of the files. */
export interface UploadProgress {
  sent: number;
  total: number;
}

export interface UploadOptions {
  /** The managed table that the rows are for; a new one when left out. */
  tableId?: string | undefined;
  /** The effect on the rows that are there: as the API says of an upload into a table. */
  mode?: 'append' | 'replace' | 'upsert' | undefined;
  /** The columns by which `upsert` finds rows. */
  key?: readonly string[] | undefined;
  /** Whether the load may change the columns of the table: by new ones (`add`), and by wider types (`widen`). */
  evolve?: 'none' | 'add' | 'widen' | undefined;
  /** Called at the beginning, as bytes go out, and at the end: with a `fetch` of your own, browsers tell no more. */
  onProgress?: ((progress: UploadProgress) => void) | undefined;
  /** Stops the upload. A begun upload is then deleted, unless `onBegun` was told of it. */
  signal?: AbortSignal | undefined;
  /** Called with the id of an upload that can be gone on with, within a day: of one file of more than 50 MB. */
  onBegun?: ((id: string) => void) | undefined;
  /** The id of an earlier upload of the same file, to go on with it. */
  resumeAt?: string | undefined;
}

/** A file whose parts are read when they are sent, where there is no whole `File` of it. */
export interface FileInParts {
  name: string;
  type?: string;
  /** Bytes. */
  size: number;
  slice(start: number, end: number): Blob | Promise<Blob>;
}

interface Sending {
  headers: Headers;
  form: FormData;
  signal?: AbortSignal | undefined;
}

/** Sends a form by POST, and answers as `fetch` does. */
export type FormWay = (url: string, sending: Sending) => Promise<Response>;

/** The part of an XMLHttpRequest that is used here: other runtimes than browsers do not know the type. */
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

/** The form of an upload: its fields before its files. */
export function buildForm(files: File | Iterable<File>, { mode, key = [], evolve }: UploadOptions): FormData {
  const form = new FormData();
  if (mode !== undefined) form.append('mode', mode);
  if (evolve !== undefined) form.append('evolve', evolve);
  for (const column of key) form.append('key', column);
  for (const file of files instanceof Blob ? [files] : files) form.append('files', file);
  return form;
}

/**
 * The way out for a form that can be watched: only XMLHttpRequest tells a browser how far it is; elsewhere the form is a stream
 * whose bytes are counted as they are taken.
 * @param isOwn whether `send` is the runtime's own: another one sees each request
 */
export function formWay(send: typeof fetch, isOwn: boolean, onProgress?: UploadOptions['onProgress']): FormWay {
  const { XMLHttpRequest, navigator } = globalThis as unknown as {
    XMLHttpRequest?: new () => Xhr;
    navigator?: { userAgent?: string };
  };
  const isBrowser = navigator?.userAgent?.startsWith('Mozilla/') ?? false;
  return async (url, sending) => {
    const files = sending.form.getAll('files').filter((entry) => typeof entry !== 'string');
    const total = files.reduce((sum, { size }) => sum + size, 0);
    let last = -1;
    const tell = (bytes: number) => {
      const sent = Math.min(bytes, total);
      if (sent > last) onProgress?.({ sent, total });
      last = Math.max(sent, last);
    };
    tell(0);
    const response = await (XMLHttpRequest && isOwn
      ? byRequest(new XMLHttpRequest(), url, sending, tell)
      : isBrowser
        ? send(url, { method: 'POST', headers: sending.headers, body: sending.form, signal: sending.signal ?? null })
        : byStream(send, url, sending, tell));
    if (response.ok) tell(total);
    return response;
  };
}

/** @throws TypeError without an answer, as `fetch` does, or the reason of the signal */
function byRequest(request: Xhr, url: string, { headers, form, signal }: Sending, tell: (bytes: number) => void) {
  const abort = () => request.abort();
  return new Promise<Response>((resolve, reject) => {
    signal?.throwIfAborted();
    signal?.addEventListener('abort', abort);
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    request.open('POST', url);
    for (const [name, value] of headers) request.setRequestHeader(name, value);
    request.responseType = 'blob';
    request.upload.onprogress = ({ loaded }) => tell(loaded);
    request.onerror = () => reject(new TypeError('The upload was not answered.'));
    request.onload = () => resolve(toResponse(request));
    request.send(form);
  }).finally(() => signal?.removeEventListener('abort', abort));
}

function toResponse(request: Xhr): Response {
  const lines = request.getAllResponseHeaders().trim().split(/\r?\n/).filter(Boolean);
  const headers = lines.map((line): [string, string] => {
    const end = line.indexOf(':');
    return [line.slice(0, end), line.slice(end + 1).trim()];
  });
  return new Response(request.response, { status: request.status, headers });
}

/** Sends the form as a stream that is written here: runtimes that write a form themselves report no progress. */
function byStream(send: typeof fetch, url: string, { headers, form, signal }: Sending, tell: (bytes: number) => void) {
  const boundary = `form-${crypto.randomUUID()}`;
  const chunks = splitChunks(form, boundary, tell);
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
  const sent = new Headers(headers);
  sent.set('content-type', `multipart/form-data; boundary=${boundary}`);
  const init: RequestInit = { method: 'POST', headers: sent, body, signal: signal ?? null };
  // Node asks for it; the types of browsers do not know it.
  return send(url, { ...init, duplex: 'half' } as RequestInit);
}

/** A form as RFC 7578 and browsers write it. `tell` is told how many bytes of files were taken. */
async function* splitChunks(
  form: FormData,
  boundary: string,
  tell: (bytes: number) => void,
): AsyncGenerator<Uint8Array, void> {
  let bytes = 0;
  for (const [name, value] of form) {
    const part = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"`;
    if (typeof value === 'string') {
      yield utf8(`${part}\r\n\r\n${value}\r\n`);
      continue;
    }
    const type = value.type || 'application/octet-stream';
    yield utf8(`${part}; filename="${quoted(value.name)}"\r\nContent-Type: ${type}\r\n\r\n`);
    const reader = value.stream().getReader();
    try {
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        yield read.value;
        // It has been taken once the next one is wanted.
        bytes += read.value.byteLength;
        tell(bytes);
      }
    } finally {
      await reader.cancel();
    }
    yield utf8('\r\n');
  }
  yield utf8(`--${boundary}--\r\n`);
}

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

const quoted = (name: string): string => name.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');
