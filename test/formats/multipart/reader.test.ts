import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MultipartMalformed, type PartHeaders, parseBoundary } from '../../../src/formats/multipart/headers.ts';
import { MultipartReader, readSmallForm } from '../../../src/formats/multipart/reader.ts';

const BOUNDARY = 'x-boundary';
const encode = (text: string) => new TextEncoder().encode(text);

function joinPieces(pieces: Uint8Array[]): Uint8Array {
  const joinedBytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    joinedBytes.set(piece, at);
    at += piece.length;
  }
  return joinedBytes;
}

/** Makes a stream that delivers the bytes in pieces of the given sizes; the last size is repeated. */
function streamInPieces(bytes: Uint8Array, sizes: number[]): ReadableStream<Uint8Array> {
  let at = 0;
  let pieceCount = 0;
  return new ReadableStream({
    type: 'bytes',
    pull(controller) {
      if (at >= bytes.length) {
        controller.close();
        controller.byobRequest?.respond(0);
        return;
      }
      const size = sizes[Math.min(pieceCount++, sizes.length - 1)] ?? 1;
      controller.enqueue(bytes.slice(at, at + size));
      at += size;
    },
  });
}

const makeLimits = (blockBytes: number, maxBytes = 1e6) => ({
  blockBytes,
  maxBytes,
  makeTooLargeError: () => new RangeError('too large'),
});

interface FormPart {
  head: PartHeaders;
  content: Uint8Array;
}

async function readAll(body: Uint8Array, { sizes = [65536], block = 4096, max = 1e6 } = {}): Promise<FormPart[]> {
  const reader = new MultipartReader(streamInPieces(body, sizes), BOUNDARY, makeLimits(block, max));
  const parts: FormPart[] = [];
  for (let head = await reader.readNextHeaders(); head; head = await reader.readNextHeaders()) {
    const pieces: Uint8Array[] = [];
    for (let isLast = false; !isLast; ) {
      const piece = await reader.readBlock(block);
      pieces.push(Uint8Array.from(piece.bytes));
      isLast = piece.isLast;
      if (!isLast) expect(piece.bytes.length).toBe(block);
    }
    parts.push({ head, content: joinPieces(pieces) });
  }
  return parts;
}

const makeForm = (parts: [headers: string, content: Uint8Array][], ending = `--${BOUNDARY}--\r\n`): Uint8Array =>
  joinPieces([
    ...parts.flatMap(([headers, content]) => [encode(`--${BOUNDARY}\r\n${headers}\r\n\r\n`), content, encode('\r\n')]),
    encode(ending),
  ]);

const makeFilePart = (name: string) =>
  `Content-Disposition: form-data; name="files"; filename="${name}"\r\nContent-Type: text/csv`;

describe('a multipart body', () => {
  it('is read with the contents that were written, wherever the network cuts it', async () => {
    // Contents made of what delimiters are made of, so that near misses are common.
    const content = fc
      .array(
        fc.constantFrom('\r', '\n', '\r\n', '-', '--', BOUNDARY, `\r\n--${BOUNDARY.slice(0, -1)}`, 'a', ',', '\0', 'é'),
        {
          maxLength: 40,
        },
      )
      .map((pieces) => encode(pieces.join('')))
      .filter((bytes) => !`\r\n${new TextDecoder().decode(bytes)}`.includes(`\r\n--${BOUNDARY}`));
    const sizes = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(content, { maxLength: 4 }),
        sizes,
        fc.integer({ min: 1, max: 64 }),
        async (contents, cutSizes, blockSize) => {
          const parts = await readAll(makeForm(contents.map((bytes, index) => [makeFilePart(`${index}.csv`), bytes])), {
            sizes: cutSizes,
            block: blockSize,
          });
          expect(parts.map((part) => Array.from(part.content))).toEqual(contents.map((bytes) => Array.from(bytes)));
          expect(parts.map((part) => part.head.filename)).toEqual(contents.map((_, index) => `${index}.csv`));
        },
      ),
      { numRuns: 300 },
    );
  });

  it('is read in the form in which FormData writes it', async () => {
    const data = new FormData();
    data.append('mode', 'append');
    data.append('files', new File(['a,b\r\n1,2\r\n'], 'tabela "ção" 1.csv', { type: 'text/csv' }));
    const request = new Request('https://x.test', { method: 'POST', body: data });
    const boundary = parseBoundary(request.headers.get('content-type'));
    const reader = new MultipartReader(request.body as ReadableStream<Uint8Array>, boundary ?? '', makeLimits(1024));
    expect(await reader.readNextHeaders()).toMatchObject({ name: 'mode', filename: null });
    expect(new TextDecoder().decode((await reader.readBlock(64)).bytes)).toBe('append');
    expect(await reader.readNextHeaders()).toEqual({
      name: 'files',
      filename: 'tabela "ção" 1.csv',
      mediaType: 'text/csv',
    });
    expect(await reader.readNextHeaders()).toBeNull();
  });

  it('is read past a preamble, an epilogue and parts whose content is skipped', async () => {
    const body = joinPieces([
      encode('preamble\r\n'),
      makeForm([
        [makeFilePart('a.csv'), encode('a')],
        [makeFilePart('b.csv'), encode('b')],
      ]),
      encode('epilogue'),
    ]);
    const reader = new MultipartReader(streamInPieces(body, [7]), BOUNDARY, makeLimits(16));
    expect((await reader.readNextHeaders())?.filename).toBe('a.csv');
    expect((await reader.readNextHeaders())?.filename).toBe('b.csv');
    expect(await reader.readNextHeaders()).toBeNull();
  });

  it.each([
    ['no content', ''],
    ['no delimiter', 'a,b\n1,2\n'],
    ['a cut in the content', `--${BOUNDARY}\r\n${makeFilePart('a.csv')}\r\n\r\n1,2`],
    ['a cut in the header', `--${BOUNDARY}\r\nContent-Dispo`],
    ['a cut before the closing dashes', `--${BOUNDARY}\r\n${makeFilePart('a.csv')}\r\n\r\n1,2\r\n--${BOUNDARY}`],
    ['a delimiter followed by text', `--${BOUNDARY}longer\r\n${makeFilePart('a.csv')}\r\n\r\n1\r\n--${BOUNDARY}--`],
    ['a part without a name', `--${BOUNDARY}\r\nContent-Disposition: form-data\r\n\r\n1\r\n--${BOUNDARY}--`],
    ['a part without headers', `--${BOUNDARY}\r\n\r\n1\r\n--${BOUNDARY}--`],
    ['endless headers', `--${BOUNDARY}\r\nX: ${'x'.repeat(20_000)}`],
    [
      'too many parts',
      `--${BOUNDARY}\r\n${makeFilePart('a.csv')}\r\n\r\n`
        .repeat(1)
        .concat(`\r\n--${BOUNDARY}\r\n${makeFilePart('a.csv')}\r\n\r\n`.repeat(1001)),
    ],
  ])('is refused with %s', async (_, body) => {
    await expect(readAll(encode(body), { sizes: [50] })).rejects.toThrow(MultipartMalformed);
  });

  it('is refused beyond its limit of bytes, whichever part they belong to', async () => {
    const body = makeForm([['Content-Disposition: form-data; name="other"', new Uint8Array(50_000)]]);
    await expect(readAll(body, { max: 20_000, sizes: [1000] })).rejects.toThrow(RangeError);
  });

  it('is read into memory up to a limit of bytes', async () => {
    const body = makeForm([
      ['Content-Disposition: form-data; name="text"', encode('one')],
      [makeFilePart('a.csv'), encode('1,2'.repeat(50_000))],
    ]);
    const readFormIntoMemory = (maxBytes: number) =>
      readSmallForm(streamInPieces(body, [7000]), BOUNDARY, {
        maxBytes,
        makeTooLargeError: () => new RangeError('too large'),
      });
    const [text, csv] = await readFormIntoMemory(1e6);
    expect(text).toEqual({ name: 'text', filename: null, mediaType: '', bytes: encode('one') });
    expect(new TextDecoder().decode(csv?.bytes)).toBe('1,2'.repeat(50_000));
    await expect(readFormIntoMemory(100_000)).rejects.toThrow(RangeError);
  });

  it('is refused as too large rather than as malformed', async () => {
    const readLimitedForm = (bytes: number) =>
      readSmallForm(streamInPieces(encode(`--${BOUNDARY} text\r\n${'x'.repeat(bytes)}`), [7000]), BOUNDARY, {
        maxBytes: 100_000,
        makeTooLargeError: () => new RangeError('too large'),
      });
    await expect(readLimitedForm(90_000)).rejects.toThrow(MultipartMalformed);
    await expect(readLimitedForm(100_000)).rejects.toThrow(RangeError);
  });

  it.each([
    ['filename="a\\"b.csv"', 'a"b.csv'],
    ['filename="a%22b%0D%0A.csv"', 'a"b\r\n.csv'],
    ['filename="100%25.csv"', '100%25.csv'],
    ['filename="C:\\pasta\\a.csv"', 'C:\\pasta\\a.csv'],
    ['filename=plain.csv', 'plain.csv'],
    ['filename="数据;é.csv"', '数据;é.csv'],
    ["filename*=UTF-8''dados%20%C3%A7.csv", 'dados ç.csv'],
    ['FILENAME="A.CSV"', 'A.CSV'],
    [`filename="${'\\'.repeat(3000)}`, ''],
  ])('has its file name read from %s', async (parameter, expected) => {
    const [part] = await readAll(
      makeForm([[`Content-Disposition: form-data; name="files"; ${parameter}`, encode('1')]]),
    );
    expect(part?.head.filename).toBe(expected);
  });

  it.each([
    ['multipart/form-data; boundary=abc', 'abc'],
    ['Multipart/Form-Data; charset=utf-8; boundary="a b"', 'a b'],
    ['multipart/form-data', null],
    ['multipart/mixed; boundary=abc', null],
    [`multipart/form-data; boundary=${'a'.repeat(71)}`, null],
    ['application/json', null],
    [null, null],
  ])('has its boundary found in %s', (contentType, expected) => {
    expect(parseBoundary(contentType)).toBe(expected);
  });
});
