import { concatBytes } from '../../kernel/bytes.ts';
import { BadImage, beginsWith, type Image, requireDrawable } from './picture.ts';

const SOI = [0xff, 0xd8, 0xff];
const [EOI, SOS, APP0, APP14, APP15, COM] = [0xd9, 0xda, 0xe0, 0xee, 0xef, 0xfe];

/** Frames (SOFn) but the markers among them that are none: tables of Huffman and arithmetic coding, and JPG. */
const isFrame = (marker: number): boolean => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

/** Reads a JPEG: its segments and scans up to its end; undefined for another file. */
export function readJpeg(bytes: Uint8Array<ArrayBuffer>, view: DataView): Image | undefined {
  if (!beginsWith(bytes, SOI)) return undefined;
  const kept: Uint8Array[] = [bytes.subarray(0, 2)];
  let size: { width: number; height: number } | undefined;
  let scans = 0;
  for (let at = 2; ; ) {
    if (view.getUint8(at) !== 0xff) throw new BadImage('is damaged');
    // Any number of fill bytes may stand before a marker.
    while (view.getUint8(at + 1) === 0xff) at += 1;
    const marker = view.getUint8(at + 1);
    if (marker === EOI) {
      if (!size || scans === 0) throw new BadImage('is not whole');
      kept.push(Uint8Array.of(0xff, EOI));
      return { type: 'image/jpeg', ...size, bytes: concatBytes(kept) };
    }
    let end = at + 2 + view.getUint16(at + 2);
    if (end > bytes.length || end < at + 4) throw new BadImage('is not whole');
    if (isFrame(marker)) {
      if (size) throw new BadImage('is damaged');
      size = { height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
      requireDrawable(size.width, size.height);
    }
    if (marker === SOS) {
      if (!size) throw new BadImage('is damaged');
      scans += 1;
      end = endOfScan(view, end);
    }
    if (!isMetadataMarker(marker)) kept.push(bytes.subarray(at, end));
    at = end;
  }
}

/** Whether a marker begins metadata: comments, and application segments but APP0 and APP14, the colour transform. */
const isMetadataMarker = (marker: number): boolean =>
  marker === COM || (marker > APP0 && marker <= APP15 && marker !== APP14);

/** The place of the next marker: within a scan, 0xFF is followed by 0 or by a restart marker. */
function endOfScan(view: DataView, from: number): number {
  for (let at = from; ; at += 1) {
    if (view.getUint8(at) !== 0xff) continue;
    const next = view.getUint8(at + 1);
    if (next !== 0 && !(next >= 0xd0 && next <= 0xd7)) return at;
  }
}
