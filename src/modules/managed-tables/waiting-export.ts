import type { CompanyContext } from '../../context.ts';
import { DAY_MS, HOUR_MS } from '../../kernel/clock.ts';
import { getCreatedAt } from '../../kernel/ids.ts';
import { deleteObjects, listKeys } from '../../platform/stored-files.ts';
import { scheduleSweep } from '../managed-database/service.ts';

/** The longest time for the reader of an export to read the part that waits in R2. Milliseconds. */
export const MAX_READING_MS = 12 * HOUR_MS;
/** The age (ms) after which an object counts as left behind by an interrupted export: no export takes longer. */
const OBJECT_RETENTION_MS = DAY_MS;
/** The size of one object. Three of them are in memory while rows are read. */
const OBJECT_BYTES = 4 * 1024 * 1024;
const BUFFER_COUNT = 3;
/** The number of bytes of an object that are read at a time, and held in memory until a slow reader accepts them. */
const SEND_BATCH_BYTES = 256 * 1024;

const makePrefix = (companyId: string): string => `exports/${companyId}/`;

/** The part of an export that is read faster than the client receives it: it waits in objects of R2, deleted as they are sent. */
export class BufferedExport {
  readonly #ctx: CompanyContext;
  readonly #id: string;
  readonly #send: (bytes: Uint8Array) => Promise<void>;
  readonly #free = Array.from({ length: BUFFER_COUNT }, () => new Uint8Array(OBJECT_BYTES));
  #buffer: Uint8Array<ArrayBuffer> | undefined;
  #length = 0;
  /** The stored objects, in order; each resolves to its size once it is stored. */
  readonly #objects: Promise<number>[] = [];
  #isWhole = false;
  #changed = Promise.withResolvers<void>();
  readonly #sentPromise: Promise<void>;
  /** The error that ended the sending. */
  #failure: { error: unknown } | undefined;

  /** @param begin resolves when the bytes written before were sent @param sendBytes resolves when bytes were accepted */
  constructor(ctx: CompanyContext, begin: Promise<void>, sendBytes: (bytes: Uint8Array) => Promise<void>) {
    this.#ctx = ctx;
    this.#id = ctx.newId();
    this.#send = sendBytes;
    this.#sentPromise = begin.then(() => this.#sendAll());
    this.#sentPromise.catch((error: unknown) => {
      this.#failure = { error };
    });
  }

  /** Copies bytes into objects; waits while all buffers are being written to R2. @throws the error that ended the sending */
  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      if (this.#failure) throw this.#failure.error;
      this.#buffer ??= await this.#takeNextBuffer();
      const freeBytes = Math.min(OBJECT_BYTES - this.#length, bytes.length - at);
      this.#buffer.set(bytes.subarray(at, at + freeBytes), this.#length);
      this.#length += freeBytes;
      at += freeBytes;
      if (this.#length === OBJECT_BYTES) this.#store();
    }
  }

  /** Resolves when all written bytes were accepted by the reader, and none of them is left in R2. */
  async end(): Promise<void> {
    if (this.#length > 0) this.#store();
    this.#isWhole = true;
    this.#changed.resolve();
    await this.#sentPromise;
  }

  /** Deletes the objects that were not sent. */
  async discard(): Promise<void> {
    await Promise.allSettled(this.#objects);
    await deleteObjects(
      this.#ctx.files,
      this.#objects.map((_, objectIndex) => this.#makeKey(objectIndex)),
    );
  }

  #makeKey(objectIndex: number): string {
    return `${makePrefix(this.#ctx.actor.companyId)}${this.#id}/${objectIndex}`;
  }

  async #takeNextBuffer(): Promise<Uint8Array<ArrayBuffer>> {
    // Should all that follows break off, the objects stay behind.
    if (this.#objects.length === 0) await scheduleSweep(this.#ctx, this.#ctx.now() + OBJECT_RETENTION_MS);
    let oldestIndex = Math.max(0, this.#objects.length - BUFFER_COUNT);
    while (this.#free.length === 0) await Promise.race([this.#objects[oldestIndex++], this.#sentPromise]);
    return this.#free.pop() as Uint8Array<ArrayBuffer>;
  }

  #store(): void {
    const buffer = this.#buffer as Uint8Array<ArrayBuffer>;
    const bytes = this.#length;
    const storePromise = this.#ctx.files
      .put(this.#makeKey(this.#objects.length), buffer.subarray(0, bytes))
      .then(() => {
        this.#free.push(buffer);
        return bytes;
      });
    storePromise.catch(() => {});
    this.#objects.push(storePromise);
    this.#buffer = undefined;
    this.#length = 0;
    this.#changed.resolve();
  }

  async #sendAll(): Promise<void> {
    for (let objectIndex = 0; ; objectIndex += 1) {
      while (objectIndex === this.#objects.length && !this.#isWhole) {
        this.#changed = Promise.withResolvers();
        await this.#changed.promise;
      }
      if (objectIndex === this.#objects.length) return;
      const size = (await this.#objects[objectIndex]) as number;
      const key = this.#makeKey(objectIndex);
      for (let offset = 0; offset < size; offset += SEND_BATCH_BYTES) {
        const object = await this.#ctx.files.get(key, {
          range: { offset, length: Math.min(SEND_BATCH_BYTES, size - offset) },
        });
        if (!object) throw new Error('a part of the export is gone');
        await this.#send(new Uint8Array(await object.arrayBuffer()));
      }
      await deleteObjects(this.#ctx.files, [key]);
    }
  }
}

/** Deletes objects in R2 of exports interrupted without cleanup. @returns when the next one is due (ms); infinity for none */
export async function sweepExports(ctx: CompanyContext): Promise<number> {
  let nextDueAt = Number.POSITIVE_INFINITY;
  const prefix = makePrefix(ctx.actor.companyId);
  for await (const keys of listKeys(ctx.files, prefix)) {
    const expiredKeys: string[] = [];
    for (const key of keys) {
      const deletableAt = getCreatedAt(key.slice(prefix.length)) + OBJECT_RETENTION_MS;
      if (deletableAt <= ctx.now()) expiredKeys.push(key);
      else nextDueAt = Math.min(nextDueAt, deletableAt);
    }
    await deleteObjects(ctx.files, expiredKeys);
  }
  return nextDueAt;
}
