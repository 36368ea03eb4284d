import { concatBytes } from '../../kernel/bytes.ts';
import { BadImage, type Image, requireDrawableSize } from './picture.ts';

const ANIMATED_FLAG = 0b10;
const ALPHA_FLAG = 0b10000;

/** Reads a WebP: https://developers.google.com/speed/webp/docs/riff_container; undefined for another file. */
export function readWebp(bytes: Uint8Array<ArrayBuffer>, view: DataView): Image | undefined {
  const readName = (at: number) => String.fromCharCode(...bytes.subarray(at, at + 4));
  if (readName(0) !== 'RIFF' || readName(8) !== 'WEBP') return undefined;
  const length = 8 + view.getUint32(4, true);
  if (length > bytes.length) throw new BadImage('is not whole');
  let extendedHeader: Uint8Array | undefined;
  let alphaChunk: Uint8Array | undefined;
  let size: { width: number; height: number } | undefined;
  const keptChunks: Uint8Array[] = [];
  for (let at = 12; at < length; ) {
    const type = readName(at);
    const content = view.getUint32(at + 4, true);
    const end = at + 8 + content + (content % 2);
    if (end > length) throw new BadImage('is not whole');
    const chunk = bytes.subarray(at, end);
    if (type === 'ANIM' || type === 'ANMF') throw new BadImage('must not be animated');
    if (type === 'VP8X') {
      const flags = view.getUint8(at + 8);
      if (flags & ANIMATED_FLAG) throw new BadImage('must not be animated');
      extendedHeader = chunk.slice();
      // Nothing but alpha is kept of what it announces.
      extendedHeader[8] = flags & ALPHA_FLAG;
    }
    if (type === 'ALPH') alphaChunk = chunk;
    if (type === 'VP8 ' || type === 'VP8L') {
      if (size) throw new BadImage('is damaged');
      size = type === 'VP8 ' ? readLossySize(view, at + 8, content) : readLosslessSize(view, at + 8);
      requireDrawableSize(size.width, size.height);
      keptChunks.push(chunk);
    }
    at = end;
  }
  if (!size) throw new BadImage('is not whole');
  if (
    extendedHeader &&
    (readCanvasSize(extendedHeader).width !== size.width || readCanvasSize(extendedHeader).height !== size.height)
  ) {
    throw new BadImage('is damaged');
  }
  const body = concatBytes([
    ...(extendedHeader ? [extendedHeader, ...(alphaChunk ? [alphaChunk] : [])] : []),
    ...keptChunks,
  ]);
  const head = bytes.slice(0, 12);
  new DataView(head.buffer).setUint32(4, body.length + 4, true);
  return { type: 'image/webp', ...size, bytes: concatBytes([head, body]) };
}

/** Reads the size from the key frame's header of VP8 (RFC 6386 §9.1), whose first partition must be there. */
function readLossySize(view: DataView, at: number, length: number) {
  const tag = view.getUint8(at) | (view.getUint8(at + 1) << 8) | (view.getUint8(at + 2) << 16);
  const isKeyFrame = (tag & 1) === 0 && view.getUint8(at + 3) === 0x9d && view.getUint16(at + 4) === 0x012a;
  if (!isKeyFrame) throw new BadImage('is damaged');
  if (10 + (tag >> 5) > length) throw new BadImage('is not whole');
  return { width: view.getUint16(at + 6, true) & 0x3fff, height: view.getUint16(at + 8, true) & 0x3fff };
}

function readLosslessSize(view: DataView, at: number) {
  if (view.getUint8(at) !== 0x2f) throw new BadImage('is damaged');
  const bits = view.getUint32(at + 1, true);
  return { width: (bits & 0x3fff) + 1, height: ((bits >> 14) & 0x3fff) + 1 };
}

function readCanvasSize(chunk: Uint8Array) {
  const readSideLength = (at: number) =>
    1 + (chunk[at] as number) + ((chunk[at + 1] as number) << 8) + ((chunk[at + 2] as number) << 16);
  return { width: readSideLength(12), height: readSideLength(15) };
}
