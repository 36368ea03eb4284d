import { readJpeg } from './jpeg.ts';
import { BadImage, type Image } from './picture.ts';
import { readPng } from './png.ts';
import { readWebp } from './webp.ts';

export { BadImage, type Image, type ImageType } from './picture.ts';

/** Reads a PNG, JPEG or WebP, recognized by its content alone, without texts, metadata and trailing bytes. @throws BadImage */
export async function readImage(bytes: Uint8Array<ArrayBuffer>): Promise<Image> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    const image = (await readPng(bytes, view)) ?? readJpeg(bytes, view) ?? readWebp(bytes, view);
    if (!image) throw new BadImage('must be a PNG, JPEG or WebP picture');
    if (image.width === 0 || image.height === 0) throw new BadImage('has no pixels');
    return image;
  } catch (error) {
    // A length that the file does not have.
    if (error instanceof RangeError) throw new BadImage('is not whole');
    throw error;
  }
}
