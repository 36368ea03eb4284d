import { readAll } from '../platform/bounded.ts';
import { type LogFilter, type Logged, makeRecordMatcher } from './log.ts';

/** Writes records, the oldest first, as a file of R2: compressed NDJSON, the newest first, as lists have them. */
export async function encodePart(records: readonly Logged[]): Promise<Uint8Array> {
  const { readable, writable } = new CompressionStream('gzip');
  const compressed = readAll(readable);
  const writer = writable.getWriter();
  const encoder = new TextEncoder();
  for (let end = records.length; end > 0; end -= LINES_PER_BATCH) {
    const lines = records.slice(Math.max(0, end - LINES_PER_BATCH), end).reverse();
    await writer.write(encoder.encode(lines.map((record) => `${JSON.stringify(record)}\n`).join('')));
  }
  await writer.close();
  return compressed;
}

const LINES_PER_BATCH = 500;

/** A file that its log names, or has named, and that is not there. */
export class MissingPart extends Error {}

/** The records of a file that a filter lets through, the newest first, line by line. @throws MissingPart */
export async function* readPart(
  files: R2Bucket,
  file: string,
  filter: LogFilter = { values: {} },
): AsyncGenerator<Logged> {
  const found = await files.get(file);
  if (!found) throw new MissingPart(`${file} is not there`);
  const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY, values } = filter;
  const isWanted = makeRecordMatcher(filter);
  // What a line that is asked for holds: most need not be parsed.
  const needles = Object.entries(values).map(([field, value]) => `${JSON.stringify(field)}:${JSON.stringify(value)}`);
  for await (const line of readLines(found.body)) {
    if (!needles.every((needle) => line.includes(needle))) continue;
    const record = JSON.parse(line) as Logged;
    if (record.occurredAt >= from && record.occurredAt <= to && isWanted(record)) yield record;
  }
}

async function* readLines(body: ReadableStream): AsyncGenerator<string> {
  const text = body.pipeThrough(new DecompressionStream('gzip')).pipeThrough(new TextDecoderStream());
  let rest = '';
  for await (const chunk of text as unknown as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() as string;
    yield* lines;
  }
}
