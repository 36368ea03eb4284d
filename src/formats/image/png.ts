import { crc32, createInflate } from 'node:zlib';
import { concatBytes } from '../../kernel/bytes.ts';
import { BadImage, beginsWith, type Image, requireDrawableSize } from './picture.ts';

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

/** Chunks that affect the picture: https://www.w3.org/TR/png-3/#4Concepts.FormatTypes */
const KEPT_CHUNKS = new Set(['IHDR', 'PLTE', 'IDAT', 'IEND', 'tRNS', 'gAMA', 'cHRM', 'sRGB', 'sBIT']);

const SAMPLES_PER_PIXEL: Record<number, number> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };

/** Passes of an interlaced picture: the start of each, and the distance of its pixels. */
const ADAM7_PASSES = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;

/** Reads a PNG, whose pixels are inflated to check that they are complete and no more; undefined for another file. */
export async function readPng(bytes: Uint8Array<ArrayBuffer>, view: DataView): Promise<Image | undefined> {
  if (!beginsWith(bytes, SIGNATURE)) return undefined;
  const keptChunks: Uint8Array[] = [bytes.subarray(0, 8)];
  const pixelChunks: Uint8Array[] = [];
  let header: ReturnType<typeof readHeader> | undefined;
  for (let at = 8, type = ''; type !== 'IEND'; ) {
    const length = view.getUint32(at);
    const end = at + 12 + length;
    if (end > bytes.length) throw new BadImage('is not whole');
    type = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
    if ((type === 'IHDR') !== (at === 8)) throw new BadImage('is not a PNG picture');
    if (view.getUint32(end - 4) !== crc32(bytes.subarray(at + 4, end - 4))) throw new BadImage('is damaged');
    if (type === 'acTL') throw new BadImage('must not be animated');
    if (type === 'IHDR') header = readHeader(view, at + 8);
    if (type === 'IDAT') pixelChunks.push(bytes.subarray(at + 8, end - 4));
    if (KEPT_CHUNKS.has(type)) keptChunks.push(bytes.subarray(at, end));
    at = end;
  }
  if (!header) throw new BadImage('is not a PNG picture');
  await requirePixelBytes(pixelChunks, header.size);
  return { type: 'image/png', width: header.width, height: header.height, bytes: concatBytes(keptChunks) };
}

/** Reads the header. @returns its values, and the number of bytes of the pixels */
function readHeader(view: DataView, at: number) {
  const [width, height, depth] = [view.getUint32(at), view.getUint32(at + 4), view.getUint8(at + 8)];
  const sampleCount = SAMPLES_PER_PIXEL[view.getUint8(at + 9)];
  const interlace = view.getUint8(at + 12);
  if (sampleCount === undefined || ![1, 2, 4, 8, 16].includes(depth) || interlace > 1) {
    throw new BadImage('is not a PNG picture');
  }
  requireDrawableSize(width, height);
  const passes = interlace === 1 ? ADAM7_PASSES : [[0, 0, 1, 1] as const];
  const size = passes.reduce((sum, [x, y, across, down]) => {
    const columns = Math.ceil((width - x) / across);
    const rows = Math.ceil((height - y) / down);
    return columns > 0 && rows > 0 ? sum + rows * (1 + Math.ceil((columns * sampleCount * depth) / 8)) : sum;
  }, 0);
  return { width, height, size };
}

/** Bytes of pixels that are inflated at a time: `DecompressionStream` would unpack everything at once. */
const INFLATED_BLOCK_BYTES = 64 * 1024;

/** Inflates the pixels piece by piece, no further than their expected size. @throws BadImage for any other size */
async function requirePixelBytes(parts: readonly Uint8Array[], size: number): Promise<void> {
  const deflatedBytes = concatBytes(parts);
  const inflateStream = createInflate({ chunkSize: INFLATED_BLOCK_BYTES });
  let length = 0;
  try {
    inflateStream.end(deflatedBytes);
    for await (const { length: pieceLength } of inflateStream as AsyncIterable<Uint8Array>) {
      length += pieceLength;
      if (length > size) break;
    }
  } catch {
    throw new BadImage('is damaged');
  }
  if (length === size && inflateStream.bytesWritten < deflatedBytes.length) throw new BadImage('is damaged');
  if (length > size) throw new BadImage('holds more than its size says');
  if (length < size) throw new BadImage('is not whole');
}
