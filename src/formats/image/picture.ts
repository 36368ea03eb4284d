export type ImageType = 'image/png' | 'image/jpeg' | 'image/webp';

/** A picture as it may be passed on: the parts that draw it, and nothing else that was in the file. */
export interface Image {
  type: ImageType;
  width: number;
  height: number;
  bytes: Uint8Array<ArrayBuffer>;
}

/** The file is no picture of a kind that is taken, or not whole, or too large to be drawn. `message` says which. */
export class BadImage extends Error {}

/** The longest side, in pixels: more would cost whoever shows it more memory than a small file lets expect. */
export const MAX_SIDE = 2048;

/** @throws BadImage where a side is longer than anybody draws a logo */
export function requireDrawable(width: number, height: number): void {
  if (width > MAX_SIDE || height > MAX_SIDE) {
    throw new BadImage(`must be at most ${MAX_SIDE} pixels wide and high; it is ${width} by ${height}`);
  }
}

/** Whether the file begins with these bytes. */
export const beginsWith = (bytes: Uint8Array, signature: readonly number[]): boolean =>
  signature.every((byte, at) => bytes[at] === byte);
