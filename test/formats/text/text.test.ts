import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createDecoder, measureEncodedLength, toScannableBytes } from '../../../src/formats/text/decode.ts';
import { decodeWhole, guessEncoding, isUtf8 } from '../../../src/formats/text/detect.ts';

const encodeUtf8 = (text: string) => new TextEncoder().encode(text);
const text = fc.string({ unit: fc.constantFrom('a', ',', '\n', 'é', '€', '数', '😀'), minLength: 4 });

function encodeUtf16(value: string, isLittleEndian: boolean): Uint8Array {
  const bytes = new Uint8Array(value.length * 2);
  const view = new DataView(bytes.buffer);
  for (let index = 0; index < value.length; index++) view.setUint16(index * 2, value.charCodeAt(index), isLittleEndian);
  return bytes;
}

describe('a text file in UTF-16', () => {
  it('is converted to UTF-8 block by block, with the length of each block in the file', () => {
    fc.assert(
      fc.property(text, fc.boolean(), fc.integer({ min: 4, max: 9 }), (value, isLittleEndian, blockBytes) => {
        const bytes = encodeUtf16(value, isLittleEndian);
        const encoding = isLittleEndian ? 'utf-16le' : 'utf-16be';
        let decodedText = '';
        for (let at = 0; at < bytes.length; ) {
          const isLast = at + blockBytes >= bytes.length;
          const scannable = toScannableBytes(bytes.subarray(at, at + blockBytes), encoding, isLast) as Uint8Array;
          decodedText += createDecoder(encoding)(scannable, 0, scannable.length);
          at += measureEncodedLength(scannable, scannable.length, encoding);
        }
        expect(decodedText).toBe(value);
      }),
    );
  });

  it('is refused with half a surrogate pair or a missing byte', () => {
    expect(toScannableBytes(encodeUtf16('a\ud83d!', true), 'utf-16le', true)).toBeNull();
    expect(toScannableBytes(encodeUtf16('ab', true).subarray(0, 3), 'utf-16le', true)).toBeNull();
  });
});

describe('the encoding of a text file', () => {
  it.each([
    ['a byte order mark', Uint8Array.of(0xef, 0xbb, 0xbf, 97), { encoding: 'utf-8', markLength: 3 }],
    ['a byte order mark of UTF-16', Uint8Array.of(0xfe, 0xff, 0, 97), { encoding: 'utf-16be', markLength: 2 }],
    ['zeros at every second place', encodeUtf16('data,valor', true), { encoding: 'utf-16le', markLength: 0 }],
    ['valid UTF-8', encodeUtf8('data,valor'), { encoding: 'utf-8', markLength: 0 }],
  ])('is guessed from %s', (_, bytes, expected) => {
    expect(guessEncoding(bytes)).toEqual(expected);
  });

  it('is guessed as UTF-8 even if a block ends inside a character', () => {
    const bytes = encodeUtf8('a😀');
    for (let end = 1; end < bytes.length; end++) {
      expect(isUtf8(bytes.subarray(0, end), false)).toBe(true);
      expect(isUtf8(bytes.subarray(0, end), true)).toBe(end === 1);
    }
  });

  it.each([
    [encodeUtf8('ação'), 'ação'],
    [Uint8Array.of(0xef, 0xbb, 0xbf, 97), 'a'],
    [Uint8Array.of(0xff, 0xfe, ...encodeUtf16('ação', true)), 'ação'],
    [Uint8Array.of(0x80, 0xe7), '€ç'],
  ])('is guessed when the bytes %j are decoded', (bytes, expected) => {
    expect(decodeWhole(bytes)).toBe(expected);
  });
});
