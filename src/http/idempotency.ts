import { createHash } from 'node:crypto';
import type { Context as HonoContext, MiddlewareHandler } from 'hono';
import type { Actor } from '../access/actors.ts';
import { listSources } from '../access/evaluation.ts';
import { type Config, readConfig } from '../config.ts';
import type { Context, PrincipalContext } from '../context.ts';
import { Failure, invalid } from '../kernel/failure.ts';
import { type KeyEnd, type KeyedRequest, type KeyState, type KeyUse, LEASE_MS } from '../objects/idempotency-keys.ts';
import { decrypt, encrypt } from '../platform/cipher.ts';
import { keyedDigest, keyedDigests } from '../platform/keyed-digest.ts';
import { logError } from '../platform/log.ts';
import { sha256Hex } from '../platform/secrets.ts';
import { boundBody } from './body-limit.ts';
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

/** Larger answers are not kept. */
const MAX_RESPONSE_BYTES = 256 * 1024;

/** The idempotency key of a request whose sender is known, with functions that notify the object that stores the key. */
export interface HeldKey {
  state: KeyState;
  use: KeyUse;
  extend(): Promise<void>;
  end(how: KeyEnd): Promise<void>;
  /**
   * Reads the sender again, with their present access; absent for an outsider.
   * @throws where the credential is no longer good
   */
  readSender?(): Promise<Actor>;
}

/** The idempotency key of a request, if any; a failure in place of a key that cannot be taken. */
export type RequestKey = HeldKey | Failure | null;

/** A place that keeps idempotency keys. */
interface KeyKeeper {
  extendKey(use: KeyUse): Promise<void>;
  endKey(use: KeyUse, end: KeyEnd): Promise<void>;
}

/** A key as the object that stores it knows it. Calls never throw: a key becomes free by itself later. */
export function openHeldKey(
  state: KeyState,
  use: KeyUse,
  tell: (what: (keeper: KeyKeeper) => Promise<void>) => Promise<void>,
): HeldKey {
  const logged = (error: unknown) => logError('idempotency_key_not_changed', error);
  return {
    state,
    use,
    extend: () => tell(async (keeper) => await keeper.extendKey(use)).catch(logged),
    end: (how) => tell(async (keeper) => await keeper.endKey(use, how)).catch(logged),
  };
}

/**
 * Reads the idempotency key of a request, and its body for that, up to the route's limit.
 * @returns null where it carries no key, or the route takes none; a failure for what cannot be a key, or not of this request
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
    await boundBody(c.req, getBodyLimit(contract));
    const { url } = c.req.raw;
    const request = `${contract.method} ${url.slice(url.indexOf('/', 'https://'.length))}\n`;
    const body = c.req.raw.body === null ? new ArrayBuffer() : await c.req.arrayBuffer();
    if (contract.raw) restoreBody(c, body);
    const said = Object.keys(contract.protocol?.requestHeaders ?? {}).map(
      (name) => `${name}: ${c.req.header(name) ?? ''}\n`,
    );
    const hash = createHash('sha256').update(request).update(said.join('')).update(new Uint8Array(body)).digest('hex');
    return { key, digests: await computeDigests(readConfig(c.env), hash) };
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

/** Lets the handler read a body that was read before: a stream allows that once. */
function restoreBody(c: HonoContext<HttpEnv>, body: ArrayBuffer): void {
  const { url, method, headers, signal } = c.req.raw;
  c.req.raw = new Request(url, { method, headers, signal, body });
}

/** Digests of a request, whose body may hold a password: a plain hash could be tried out by whoever gets it. */
async function computeDigests({ KEY_DERIVATION_SECRETS }: Config, hash: string): Promise<string[]> {
  const [keys, purpose] = [KEY_DERIVATION_SECRETS, 'idempotency key'];
  return [await keyedDigest(keys, purpose, hash), ...(await keyedDigests(keys, purpose, hash))];
}

const makeInvalidKeyFailure = (message: string): Failure => invalid([{ field: 'Idempotency-Key', message }]);

/** Releases the idempotency key of a request that does not reach its handler. */
export async function giveUpKey(key: RequestKey): Promise<void> {
  if (key !== null && !(key instanceof Failure) && key.state.state === 'begun') await key.end({ state: 'undone' });
}

/** Executes a request with an idempotency key only once: its response is stored, and replayed if it is repeated. */
export const runOnce: MiddlewareHandler<HttpEnv> = async (c, next) => {
  const key = c.get('key');
  if (key === null) return next();
  if (key instanceof Failure) throw key;
  if (key.state.state !== 'begun') return replayResponse(c, key);

  const atWork = setInterval(() => void key.extend(), LEASE_MS / 3);
  try {
    await next();
  } finally {
    clearInterval(atWork);
  }
  await storeResponse(c, key);
};

async function replayResponse(c: HonoContext<HttpEnv>, { state, use }: HeldKey): Promise<Response> {
  const { context } = c.var;
  if (state.state === 'reused') throw idempotencyKeyReused();
  if (state.state === 'in_use') throw idempotencyKeyInUse(Math.max(1, Math.ceil((state.until - context.now()) / 1000)));
  if (state.state !== 'kept') throw idempotencyAnswerTooLarge();
  const { status, headers, body, resourceIds, recordedAs, access } = await decryptResponse(context, use, state.answer);
  if (access === null || access !== (await describeAccess(context.actor))) throw idempotencyAccessChanged();
  const facts = c.get('facts');
  try {
    await facts.contract?.checkBeforeReplay?.(context as unknown as PrincipalContext, c.req.param());
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

/** An answer as it is kept; the body in base64. */
interface StoredResponse {
  status: number;
  headers: [string, string][];
  body: string | null;
  resourceIds: string[];
  /** The action that its handler recorded it as, if any. */
  recordedAs?: RequestFacts['recordedAs'];
  /** The digest of its sender's access, see `describeAccess`. */
  access: string | null;
}

/** A digest of a principal's permissions; null for outsiders, whom records let in: they are not answered again. */
const describeAccess = async (actor: Actor): Promise<string | null> =>
  'access' in actor ? sha256Hex(JSON.stringify(listSources(actor.access))) : null;

/**
 * The same of a request's sender, once it is done. What it has changed itself is no change since its answer; what others
 * change while it runs counts as one, wherever it leaves its sender's access alone.
 */
async function describeSenderAccess(c: HonoContext<HttpEnv>, { readSender }: HeldKey): Promise<string | null> {
  if (!c.get('facts').changedOwnAccess || !readSender) return describeAccess(c.var.context.actor);
  // It is done, whatever comes of this: then its answer is not given again.
  return readSender().then(describeAccess, () => null);
}

/** Stores the answer before it leaves: whoever got no answer can ask for it again at once. */
async function storeResponse(c: HonoContext<HttpEnv>, key: HeldKey): Promise<void> {
  const { status, headers, body } = c.res;
  if (status >= 500 || status === 429) return key.end({ state: 'undone' });
  const { beginning, whole } = body === null ? { beginning: null, whole: true } : await readBeginning(body);
  if (beginning !== null) c.res = new Response(beginning, { status, headers });
  if (!whole) return key.end({ state: 'not_kept' });
  const { resourceIds, recordedAs } = c.get('facts');
  const { context } = c.var;
  const kept = {
    status,
    headers: [...headers],
    body: beginning && (beginning as Uint8Array).toBase64(),
    resourceIds,
    ...(recordedAs && { recordedAs }),
    access: await describeSenderAccess(c, key),
  };
  await key.end({ state: 'kept', answer: await encryptResponse(context, key.use, kept) });
}

const makeContext = ({ senderId, key }: KeyUse) => `idempotency:${senderId}:${key}`;

const encryptResponse = ({ config }: Context, use: KeyUse, answer: StoredResponse): Promise<string> =>
  encrypt(config.ENCRYPTION_KEYS, JSON.stringify(answer), makeContext(use));

async function decryptResponse({ config }: Context, use: KeyUse, answer: string): Promise<StoredResponse> {
  const text = await decrypt(config.ENCRYPTION_KEYS, answer, makeContext(use)).catch((error) => {
    // Its key is gone; what is sure is that the request was done.
    throw idempotencyAnswerTooLarge().because(error);
  });
  return JSON.parse(text);
}

/** The whole body if it is small enough to be stored; otherwise a stream of it, after reading the maximum size. */
async function readBeginning(
  body: ReadableStream<Uint8Array>,
): Promise<{ beginning: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>; whole: boolean }> {
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    chunks.push(chunk.value);
    bytes += chunk.value.byteLength;
    if (bytes > MAX_RESPONSE_BYTES) return { beginning: continueStream(chunks, reader), whole: false };
  }
  return { beginning: new Uint8Array(await new Blob(chunks).arrayBuffer()), whole: true };
}

function continueStream(
  chunks: Uint8Array[],
  rest: ReadableStreamDefaultReader<Uint8Array>,
): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const chunk = chunks.length > 0 ? { done: false, value: chunks.shift() } : await rest.read();
      if (chunk.done) controller.close();
      else controller.enqueue(chunk.value as Uint8Array);
    },
    cancel: (reason) => rest.cancel(reason),
  });
}
