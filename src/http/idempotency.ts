import { createHash } from 'node:crypto';
import type { Context as HonoContext, MiddlewareHandler } from 'hono';
import type { Actor } from '../access/actors.ts';
import { listSources } from '../access/evaluation.ts';
import { type Config, readConfig } from '../config.ts';
import type { Context, PrincipalContext } from '../context.ts';
import { Failure, invalidInput } from '../kernel/failure.ts';
import { type KeyEnd, type KeyedRequest, type KeyState, type KeyUse, LEASE_MS } from '../objects/idempotency-keys.ts';
import { decrypt, encrypt } from '../platform/cipher.ts';
import { computeKeyedDigest, computeKeyedDigests } from '../platform/keyed-digest.ts';
import { logError } from '../platform/log.ts';
import { computeSha256Hex } from '../platform/secrets.ts';
import { requireBoundedBody } from './body-limit.ts';
import { isDryRun } from './dry-run.ts';
import { type Contract, getBodyLimit } from './endpoint.ts';
import {
  idempotencyAccessChanged,
  idempotencyAnswerTooLarge,
  idempotencyKeyInUse,
  idempotencyKeyReused,
  takesIdempotencyKey,
} from './failures.ts';
import { isForm } from './json-body.ts';
import type { HttpEnv } from './mount.ts';
import type { RequestFacts } from './request-checks.ts';

/** Maximum size of stored answers; larger ones are not stored. */
const MAX_RESPONSE_BYTES = 256 * 1024;

/** Idempotency key of an identified sender's request, with functions that notify the object that stores the key. */
export interface IdempotencyKey {
  state: KeyState;
  keyUse: KeyUse;
  extendLease(): Promise<void>;
  endUse(outcome: KeyEnd): Promise<void>;
  /** Reads the sender again, with their current access; absent for an outsider. @throws if the credential is no longer valid */
  readSender?(): Promise<Actor>;
}

/** Idempotency key of a request, if any; a failure for a key that cannot be accepted. */
export type RequestKey = IdempotencyKey | Failure | null;

/** Durable Object that stores idempotency keys. */
interface KeyStore {
  extendKey(use: KeyUse): Promise<void>;
  endKey(use: KeyUse, end: KeyEnd): Promise<void>;
}

/** Makes a key with its state. Its functions never throw: the object that stores it frees it by itself later. */
export function makeIdempotencyKey(
  state: KeyState,
  use: KeyUse,
  callKeyStore: (callback: (keyStore: KeyStore) => Promise<void>) => Promise<void>,
): IdempotencyKey {
  const logFailure = (error: unknown) => logError('idempotency_key_not_changed', error);
  return {
    state,
    keyUse: use,
    extendLease: () => callKeyStore(async (keyStore) => await keyStore.extendKey(use)).catch(logFailure),
    endUse: (outcome) => callKeyStore(async (keyStore) => await keyStore.endKey(use, outcome)).catch(logFailure),
  };
}

/**
 * Reads a request's idempotency key, and, if there is one, the body, up to the route's limit.
 * @returns null if the request carries no key, or the route takes none; a failure for an invalid key, or one that does
 * not fit the request
 */
export async function readKeyedRequest(
  c: HonoContext<HttpEnv>,
  contract: Contract,
): Promise<KeyedRequest | Failure | null> {
  const key = c.req.header('idempotency-key');
  if (key === undefined || !takesIdempotencyKey(contract) || isDryRun(c.req, contract)) return null;
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    return makeInvalidKeyFailure('must be 1 to 255 visible ASCII characters, without spaces');
  if (isForm(c.req)) return makeInvalidKeyFailure('cannot be used with a form: send the request without it');
  try {
    await requireBoundedBody(c.req, getBodyLimit(contract));
    const { url } = c.req.raw;
    const request = `${contract.method} ${url.slice(url.indexOf('/', 'https://'.length))}\n`;
    const body = c.req.raw.body === null ? new ArrayBuffer() : await c.req.arrayBuffer();
    if (contract.raw) restoreBody(c, body);
    const protocolHeaders = Object.keys(contract.protocol?.requestHeaders ?? {}).map(
      (name) => `${name}: ${c.req.header(name) ?? ''}\n`,
    );
    const hash = createHash('sha256')
      .update(request)
      .update(protocolHeaders.join(''))
      .update(new Uint8Array(body))
      .digest('hex');
    return { key, digests: await computeDigests(readConfig(c.env), hash) };
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

/** Lets the handler read a body that was already read: a stream can be read only once. */
function restoreBody(c: HonoContext<HttpEnv>, body: ArrayBuffer): void {
  const { url, method, headers, signal } = c.req.raw;
  c.req.raw = new Request(url, { method, headers, signal, body });
}

/** Computes keyed digests of a request, whose body may hold a password: a plain hash could be guessed from by trial. */
async function computeDigests({ KEY_DERIVATION_SECRETS }: Config, hash: string): Promise<string[]> {
  const [keys, purpose] = [KEY_DERIVATION_SECRETS, 'idempotency key'];
  return [await computeKeyedDigest(keys, purpose, hash), ...(await computeKeyedDigests(keys, purpose, hash))];
}

const makeInvalidKeyFailure = (message: string): Failure => invalidInput([{ field: 'Idempotency-Key', message }]);

/** Releases the idempotency key of a request that does not reach its handler. */
export async function releaseKey(key: RequestKey): Promise<void> {
  if (key !== null && !(key instanceof Failure) && key.state.state === 'begun') await key.endUse({ state: 'undone' });
}

/** Executes a request with an idempotency key once; its stored response is returned for a repeated one. */
export const runWithIdempotencyKey: MiddlewareHandler<HttpEnv> = async (c, next) => {
  const key = c.get('key');
  if (key === null) return next();
  if (key instanceof Failure) throw key;
  if (key.state.state !== 'begun') return replayResponse(c, key);

  const extensionTimer = setInterval(() => void key.extendLease(), LEASE_MS / 3);
  try {
    await next();
  } finally {
    clearInterval(extensionTimer);
  }
  await storeResponse(c, key);
};

async function replayResponse(c: HonoContext<HttpEnv>, { state, keyUse: use }: IdempotencyKey): Promise<Response> {
  const { context } = c.var;
  if (state.state === 'reused') throw idempotencyKeyReused();
  if (state.state === 'in_use') throw idempotencyKeyInUse(Math.max(1, Math.ceil((state.until - context.now()) / 1000)));
  if (state.state !== 'kept') throw idempotencyAnswerTooLarge();
  const { status, headers, body, resourceIds, recordedAs, access } = await decryptResponse(context, use, state.answer);
  if (access === null || access !== (await describeAccess(context.actor))) throw idempotencyAccessChanged();
  const facts = c.get('facts');
  try {
    await facts.contract?.checkPath?.(context as unknown as PrincipalContext, c.req.param());
  } catch (error) {
    // What was not there, or was asked for in a wrong form, is refused as before: that shows nothing.
    if ((status !== 404 && status !== 422) || !(error instanceof Failure) || error.kind !== 'missing') throw error;
  }
  facts.resourceIds = resourceIds;
  if (recordedAs) facts.recordedAs = recordedAs;
  return new Response(body === null ? null : Uint8Array.fromBase64(body), {
    status,
    headers: [...headers, ['Idempotency-Replayed', 'true']],
  });
}

/** Answer in its stored form; the body in base64. */
interface StoredResponse {
  status: number;
  headers: [string, string][];
  body: string | null;
  resourceIds: string[];
  /** Action under which the handler recorded the request, if any. */
  recordedAs?: RequestFacts['recordedAs'];
  /** Digest of the sender's access, see `describeAccess`. */
  access: string | null;
}

/** Computes a digest of a principal's permissions; null for outsiders, whose answers are not repeated. */
const describeAccess = async (actor: Actor): Promise<string | null> =>
  'access' in actor ? computeSha256Hex(JSON.stringify(listSources(actor.access))) : null;

/**
 * Computes the digest of the sender's access after the request. Changes made by the request itself do not count as
 * changes after the answer; concurrent changes by others count, if they affect the sender's access.
 */
async function describeSenderAccess(c: HonoContext<HttpEnv>, { readSender }: IdempotencyKey): Promise<string | null> {
  if (!c.get('facts').changedOwnAccess || !readSender) return describeAccess(c.var.context.actor);
  // It is done, whatever comes of this: then its answer is not given again.
  return readSender().then(describeAccess, () => null);
}

/** Stores the answer before it is sent: a caller who received no answer can ask for it again at once. */
async function storeResponse(c: HonoContext<HttpEnv>, key: IdempotencyKey): Promise<void> {
  const { status, headers, body } = c.res;
  if (status >= 500 || status === 429) return key.endUse({ state: 'undone' });
  const { beginning, isWhole } = body === null ? { beginning: null, isWhole: true } : await readFirstBytes(body);
  if (beginning !== null) c.res = new Response(beginning, { status, headers });
  if (!isWhole) return key.endUse({ state: 'not_kept' });
  const { resourceIds, recordedAs } = c.get('facts');
  const { context } = c.var;
  const storedResponse = {
    status,
    headers: [...headers],
    body: beginning && (beginning as Uint8Array).toBase64(),
    resourceIds,
    ...(recordedAs && { recordedAs }),
    access: await describeSenderAccess(c, key),
  };
  await key.endUse({ state: 'kept', answer: await encryptResponse(context, key.keyUse, storedResponse) });
}

const makeContext = ({ senderId, key }: KeyUse) => `idempotency:${senderId}:${key}`;

const encryptResponse = ({ config }: Context, use: KeyUse, answer: StoredResponse): Promise<string> =>
  encrypt(config.ENCRYPTION_KEYS, JSON.stringify(answer), makeContext(use));

async function decryptResponse({ config }: Context, use: KeyUse, answer: string): Promise<StoredResponse> {
  const text = await decrypt(config.ENCRYPTION_KEYS, answer, makeContext(use)).catch((error) => {
    // Its key is gone; what is sure is that the request was done.
    throw idempotencyAnswerTooLarge().addCause(error);
  });
  return JSON.parse(text);
}

/** Reads the whole body if it has at most `MAX_RESPONSE_BYTES`; else stops reading, and returns a stream of the whole body. */
async function readFirstBytes(
  body: ReadableStream<Uint8Array>,
): Promise<{ beginning: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>; isWhole: boolean }> {
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let receivedBytes = 0;
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    chunks.push(chunk.value);
    receivedBytes += chunk.value.byteLength;
    if (receivedBytes > MAX_RESPONSE_BYTES) return { beginning: continueStream(chunks, reader), isWhole: false };
  }
  return { beginning: new Uint8Array(await new Blob(chunks).arrayBuffer()), isWhole: true };
}

function continueStream(
  chunks: Uint8Array[],
  streamReader: ReadableStreamDefaultReader<Uint8Array>,
): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const chunk = chunks.length > 0 ? { done: false, value: chunks.shift() } : await streamReader.read();
      if (chunk.done) controller.close();
      else controller.enqueue(chunk.value as Uint8Array);
    },
    cancel: (reason) => streamReader.cancel(reason),
  });
}
