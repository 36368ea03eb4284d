export type ImageType = 'image/png' | 'image/jpeg' | 'image/webp';

/** Picture that may be passed on: only the parts of its file that draw it. */
export interface Image {
  type: ImageType;
  width: number;
  height: number;
  bytes: Uint8Array<ArrayBuffer>;
}

/** Error thrown for a file that is no accepted picture, is incomplete, or too large to be drawn. `message` says which. */
export class BadImage extends Error {}

/** Maximum side in pixels: displaying more would take more memory than a small file suggests. */
export const MAX_SIDE = 2048;

/** Checks the size of a picture. @throws BadImage if a side is longer than a logo's may be */
export function requireDrawableSize(width: number, height: number): void {
  if (width > MAX_SIDE || height > MAX_SIDE) {
    throw new BadImage(`must be at most ${MAX_SIDE} pixels wide and high; it is ${width} by ${height}`);
  }
}

/** Returns true if the file begins with these bytes. */
export const beginsWith = (bytes: Uint8Array, signature: readonly number[]): boolean =>
  signature.every((byte, at) => bytes[at] === byte);
