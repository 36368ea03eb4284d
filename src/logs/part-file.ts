import { readAll } from '../platform/bounded.ts';
import { type LogFilter, type LogRecord, makeRecordMatcher } from './log.ts';

/** Encodes records, given the oldest first, as a file of R2: compressed NDJSON, the newest first, as lists have them. */
export async function encodePart(records: readonly LogRecord[]): Promise<Uint8Array> {
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

/** The error for a file that its log names, or has named, but that is missing. */
export class MissingPartError extends Error {}

/** Yields the records of a file that match a filter, the newest first, line by line. @throws MissingPartError */
export async function* readPart(
  files: R2Bucket,
  file: string,
  filter: LogFilter = { values: {} },
): AsyncGenerator<LogRecord> {
  const storedFile = await files.get(file);
  if (!storedFile) throw new MissingPartError(`${file} is not there`);
  const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY, values } = filter;
  const matchesFilter = makeRecordMatcher(filter);
  // What a line that is asked for holds: most need not be parsed.
  const needles = Object.entries(values).map(([field, value]) => `${JSON.stringify(field)}:${JSON.stringify(value)}`);
  for await (const line of readLines(storedFile.body)) {
    if (!needles.every((needle) => line.includes(needle))) continue;
    const record = JSON.parse(line) as LogRecord;
    if (record.occurredAt >= from && record.occurredAt <= to && matchesFilter(record)) yield record;
  }
}

async function* readLines(body: ReadableStream): AsyncGenerator<string> {
  const text = body.pipeThrough(new DecompressionStream('gzip')).pipeThrough(new TextDecoderStream());
  let unreadText = '';
  for await (const chunk of text as unknown as AsyncIterable<string>) {
    const lines = (unreadText + chunk).split('\n');
    unreadText = lines.pop() as string;
    yield* lines;
  }
}
