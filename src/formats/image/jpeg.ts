import { concatBytes } from '../../kernel/bytes.ts';
import { BadImage, beginsWith, type Image, requireDrawableSize } from './picture.ts';

const JPEG_SIGNATURE = [0xff, 0xd8, 0xff];
const [EOI, SOS, APP0, APP14, APP15, COM] = [0xd9, 0xda, 0xe0, 0xee, 0xef, 0xfe];

/**
 * Returns true for the marker of a frame (SOFn). The markers DHT, JPG and DAC, whose codes lie among these, begin no
 * frame.
 */
const isFrameMarker = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

/** Reads a JPEG: its segments and scans up to its end; undefined for another file. */
export function readJpeg(bytes: Uint8Array<ArrayBuffer>, view: DataView): Image | undefined {
  if (!beginsWith(bytes, JPEG_SIGNATURE)) return undefined;
  const keptSegments: Uint8Array[] = [bytes.subarray(0, 2)];
  let size: { width: number; height: number } | undefined;
  let scanCount = 0;
  for (let at = 2; ; ) {
    if (view.getUint8(at) !== 0xff) throw new BadImage('is damaged');
    // Any number of fill bytes may stand before a marker.
    while (view.getUint8(at + 1) === 0xff) at += 1;
    const marker = view.getUint8(at + 1);
    if (marker === EOI) {
      if (!size || scanCount === 0) throw new BadImage('is not whole');
      keptSegments.push(Uint8Array.of(0xff, EOI));
      return { type: 'image/jpeg', ...size, bytes: concatBytes(keptSegments) };
    }
    let end = at + 2 + view.getUint16(at + 2);
    if (end > bytes.length || end < at + 4) throw new BadImage('is not whole');
    if (isFrameMarker(marker)) {
      if (size) throw new BadImage('is damaged');
      size = { height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
      requireDrawableSize(size.width, size.height);
    }
    if (marker === SOS) {
      if (!size) throw new BadImage('is damaged');
      scanCount += 1;
      end = findScanEnd(view, end);
    }
    if (!isMetadataMarker(marker)) keptSegments.push(bytes.subarray(at, end));
    at = end;
  }
}

/** Returns true if a marker begins metadata: comments, and application segments except APP0 and APP14, the colour transform. */
const isMetadataMarker = (marker: number): boolean =>
  marker === COM || (marker > APP0 && marker <= APP15 && marker !== APP14);

/** Finds the offset of the next marker: within a scan, 0xFF is followed by 0 or by a restart marker. */
function findScanEnd(view: DataView, from: number): number {
  for (let at = from; ; at += 1) {
    if (view.getUint8(at) !== 0xff) continue;
    const nextByte = view.getUint8(at + 1);
    if (nextByte !== 0 && !(nextByte >= 0xd0 && nextByte <= 0xd7)) return at;
  }
}
