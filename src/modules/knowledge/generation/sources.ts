import type { CompanyContext } from '../../../context.ts';
import type { JobSource } from '../../../db/schema/knowledge-jobs.ts';
import { waitForStorage } from '../../../platform/file-storage.ts';

/** The characters of one batch: long enough for meaning, short enough for the smallest context of today's models. */
export const BATCH_CHARACTERS = 24_000;
/** The maximum number of batches of one job. A file of 10 MiB has fewer. */
export const MAX_BATCHES = 500;

/** Splits a text into batches, at the end of a paragraph or line if one is near. */
export function splitBatches(text: string, size = BATCH_CHARACTERS): string[] {
  const batches: string[] = [];
  for (let start = 0; start < text.length; ) {
    const end = start + size >= text.length ? text.length : findSplitPosition(text, start, start + size);
    batches.push(text.slice(start, end));
    start = end;
  }
  return batches;
}

function findSplitPosition(text: string, start: number, latestPosition: number): number {
  const earliestPosition = start + Math.floor((latestPosition - start) / 2);
  const searchedText = text.slice(earliestPosition, latestPosition);
  for (const end of ['\n\n', '\n', ' ']) {
    const at = searchedText.lastIndexOf(end);
    if (at > 0) return earliestPosition + at + end.length;
  }
  // Not between the halves of a surrogate pair.
  return /[\uD800-\uDBFF]/.test(text[latestPosition - 1] ?? '') ? latestPosition - 1 : latestPosition;
}

/** Prefix of the keys of texts in R2; the ids of company and job follow. */
export const SOURCE_PREFIX = 'knowledge/';

const encoder = new TextEncoder();

/** Returns the key and offsets under which the batches of a job are stored. */
export function makeSource(ctx: CompanyContext, jobId: string, batches: string[]): JobSource {
  const offsets = [0];
  for (const batch of batches) offsets.push((offsets.at(-1) as number) + encoder.encode(batch).length);
  return { key: `${SOURCE_PREFIX}${ctx.actor.companyId}/${jobId}`, offsets };
}

/** Stores the batches, one after the other: together they may have 30 MB. */
export async function storeSource(ctx: CompanyContext, { key, offsets }: JobSource, batches: string[]): Promise<void> {
  const { readable, writable } = new FixedLengthStream(offsets.at(-1) as number);
  const writeBatches = async () => {
    const writer = writable.getWriter();
    for (const batch of batches) await writer.write(encoder.encode(batch));
    await writer.close();
  };
  await waitForStorage(Promise.all([ctx.files.put(key, readable), writeBatches()]));
}

/** Reads the text of one batch; undefined when the stored source is missing. */
export async function readBatch(
  ctx: CompanyContext,
  { key, offsets }: JobSource,
  index: number,
): Promise<string | undefined> {
  const offset = offsets[index] as number;
  const object = await ctx.files.get(key, { range: { offset, length: (offsets[index + 1] as number) - offset } });
  return object?.text();
}
