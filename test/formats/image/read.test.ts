import { crc32, deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BadImage, readImage } from '../../../src/formats/image/read.ts';
import { decodePicture, PICTURES } from './pictures.ts';

const MEDIA_TYPES = { png: 'image/png', jpeg: 'image/jpeg', webp: 'image/webp', lossless: 'image/webp' };

const joinBytes = (...parts: (string | Uint8Array | number[])[]): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.concat(parts.map((part) => Buffer.from(part as string, 'latin1'))));

function makeChunk(type: string, content: Uint8Array): Buffer {
  const typeAndContent = Buffer.concat([Buffer.from(type), content]);
  const chunkBytes = Buffer.alloc(8 + typeAndContent.length);
  chunkBytes.writeUInt32BE(content.length);
  typeAndContent.copy(chunkBytes, 4);
  chunkBytes.writeUInt32BE(crc32(typeAndContent), 4 + typeAndContent.length);
  return chunkBytes;
}

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Makes a greyscale PNG with one byte per pixel, and further chunks between its header and its pixels. */
function makePng(
  width: number,
  height: number,
  { pixels = height * (width + 1), interlaced = 0, more = [] as Buffer[] } = {},
) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width);
  header.writeUInt32BE(height, 4);
  header.set([8, 0, 0, 0, interlaced], 8);
  const content = deflateSync(Buffer.alloc(pixels));
  const chunks = [makeChunk('IHDR', header), ...more, makeChunk('IDAT', content), makeChunk('IEND', Buffer.alloc(0))];
  return joinBytes(SIGNATURE, ...chunks);
}

const readRefusal = async (file: Uint8Array<ArrayBuffer>): Promise<string> => {
  const error = await readImage(file).catch((caughtError: unknown) => caughtError);
  expect(error).toBeInstanceOf(BadImage);
  return (error as Error).message;
};

describe('an uploaded picture', () => {
  it.each(Object.entries(PICTURES))('is recognized by its content: %s', async (name, base64) => {
    const image = await readImage(decodePicture(base64));
    expect(image).toMatchObject({ type: MEDIA_TYPES[name as 'png'], width: 3, height: 2 });
    // What is kept is read like the whole.
    expect(await readImage(image.bytes)).toEqual(image);
    expect(Buffer.from(image.bytes).includes('Google')).toBe(false);
  });

  it.each(Object.entries(PICTURES))('is refused if it is cut off at any byte: %s', async (_name, base64) => {
    const fullPicture = decodePicture(base64);
    for (let length = 0; length < fullPicture.length; length += 1) await readRefusal(fullPicture.slice(0, length));
  });

  it.each(Object.entries(PICTURES))('is stored without bytes that follow it: %s', async (_name, base64) => {
    const fullPicture = decodePicture(base64);
    const { bytes: storedBytes } = await readImage(joinBytes(fullPicture, '<script>alert(1)</script>'));
    expect(storedBytes).toEqual((await readImage(fullPicture)).bytes);
  });

  it('is stored without texts and metadata', async () => {
    const text = makeChunk('tEXt', Buffer.from('Comment\0<script>alert(1)</script>'));
    const exif = makeChunk('eXIf', Buffer.from('GPS'));
    const { bytes: storedBytes } = await readImage(makePng(4, 4, { more: [text, exif] }));
    expect(storedBytes).toEqual((await readImage(makePng(4, 4))).bytes);
    const jpeg = decodePicture(PICTURES.jpeg);
    const comment = [0xff, 0xfe, 0, 8, ...Buffer.from('<html>')];
    const commentedImage = await readImage(joinBytes(jpeg.slice(0, 2), comment, jpeg.slice(2)));
    expect(commentedImage.bytes).toEqual((await readImage(jpeg)).bytes);
  });

  it.each([
    ['HTML', '<!doctype html><script>alert(1)</script>'],
    ['SVG', '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'],
    ['GIF', 'GIF89a\x01\x00\x01\x00\x00\x00\x00;'],
    ['BMP', 'BM\x00\x00'],
    ['an empty file', ''],
  ])('is refused when it is %s', async (_name, content) => {
    expect(await readRefusal(joinBytes(content))).toBe('must be a PNG, JPEG or WebP picture');
  });

  it('is refused when only its first bytes look like a picture', async () => {
    for (const signature of [SIGNATURE, [0xff, 0xd8, 0xff, 0xe0], 'RIFF\x10\x00\x00\x00WEBP']) {
      await readRefusal(joinBytes(signature as string, '<html><script>alert(1)</script></html>'));
    }
  });

  it('is refused when it has too many pixels, or inflates to more or less than its size', async () => {
    expect(await readRefusal(makePng(2049, 1))).toMatch(/at most 2048 pixels/);
    expect(await readRefusal(makePng(1, 100_000, { pixels: 1 }))).toMatch(/at most 2048 pixels/);
    expect(await readRefusal(makePng(8, 8, { pixels: 50_000_000 }))).toBe('holds more than its size says');
    expect(await readRefusal(makePng(2000, 2000, { pixels: 10 }))).toBe('is not whole');
    expect(await readRefusal(makePng(0, 1, { pixels: 1 }))).toMatch(/no pixels|more than/);
    expect(await readImage(makePng(2048, 2048))).toMatchObject({ width: 2048, height: 2048 });
    const jpeg = decodePicture(PICTURES.jpeg);
    const frameOffset = Buffer.from(jpeg).indexOf(Buffer.from([0xff, 0xc0]));
    jpeg.set([0xff, 0xff, 0xff, 0xff], frameOffset + 5);
    expect(await readRefusal(jpeg)).toMatch(/at most 2048 pixels/);
    const webp = decodePicture(PICTURES.webp);
    const key = Buffer.from(webp).indexOf(Buffer.from([0x9d, 0x01, 0x2a]));
    webp.set([0xff, 0x3f, 0xff, 0x3f], key + 3);
    expect(await readRefusal(webp)).toMatch(/at most 2048 pixels/);
  });

  it('is accepted when it is interlaced and complete', async () => {
    // 1 + 1 + 2·2 + … bytes for the seven passes of 5 by 5 pixels.
    const pixels = [
      [1, 1],
      [1, 1],
      [2, 1],
      [1, 2],
      [3, 1],
      [2, 3],
      [5, 2],
    ] as const;
    const length = pixels.reduce((sum, [columns, rows]) => sum + rows * (columns + 1), 0);
    expect(await readImage(makePng(5, 5, { interlaced: 1, pixels: length }))).toMatchObject({ width: 5, height: 5 });
    await readRefusal(makePng(5, 5, { interlaced: 1, pixels: length - 1 }));
  });

  it('is refused when it is animated', async () => {
    expect(await readRefusal(makePng(4, 4, { more: [makeChunk('acTL', Buffer.alloc(8))] }))).toBe(
      'must not be animated',
    );
    const webp = decodePicture(PICTURES.webp);
    webp[20] = 0b10;
    expect(await readRefusal(webp)).toBe('must not be animated');
  });

  it('is refused when a byte of a PNG chunk was changed', async () => {
    const fullPng = makePng(4, 4);
    const damagedPng = fullPng.slice();
    damagedPng[45] = (damagedPng[45] as number) ^ 1;
    expect(await readRefusal(damagedPng)).toBe('is damaged');
  });

  it('is read or refused without any other error, whichever bytes are changed', async () => {
    const originalPictures = Object.values(PICTURES).map(decodePicture);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...originalPictures),
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }),
        async (start, changes) => {
          const file = start.slice();
          for (const [at, byte] of changes) file[at % file.length] = byte;
          const result = await readImage(file).catch((error: unknown) => error);
          if (!(result instanceof BadImage)) expect(result).toMatchObject({ type: expect.any(String) });
        },
      ),
      { numRuns: 300 },
    );
  });
});
