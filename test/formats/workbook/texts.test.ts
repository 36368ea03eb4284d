import fc from 'fast-check';
import { expect, it } from 'vitest';
import { WorkbookTooLarge } from '../../../src/formats/workbook/limits.ts';
import { MAX_TEXTS_BYTES, SharedTexts } from '../../../src/formats/workbook/texts.ts';

const MIB_BYTES = 1024 * 1024;

const decoder = new TextDecoder();
const readTextAt = (texts: SharedTexts, index: number) =>
  decoder.decode(texts.getBytes(index).subarray(texts.getStart(index), texts.getEnd(index)));

/** A text of one repeated letter, which is one piece of a shared text. */
const arbitraryPiece = fc.record({
  letter: fc.constantFrom('a', 'é', '東'),
  length: fc.oneof(fc.nat(20), fc.nat(700_000)),
});

it('shared texts of a workbook are found by their index, whatever their length and the number of pieces they came in', () => {
  const arbitraryTexts = fc.array(
    fc.record({ pieces: fc.array(arbitraryPiece, { maxLength: 4 }), dropped: fc.boolean() }),
    {
      maxLength: 12,
    },
  );
  fc.assert(
    fc.property(arbitraryTexts, (writtenTexts) => {
      const texts = new SharedTexts();
      const keptTexts: string[] = [];
      for (const { pieces, dropped } of writtenTexts) {
        const parts = pieces.map(({ letter, length }) => letter.repeat(length));
        for (const part of parts) texts.appendText(part);
        if (dropped) texts.dropText();
        else {
          texts.endText();
          keptTexts.push(parts.join(''));
        }
      }
      expect(texts.count).toBe(keptTexts.length);
      for (const [index, text] of keptTexts.entries()) expect(readTextAt(texts, index) === text).toBe(true);
    }),
    { numRuns: 60 },
  );
});

it('300,000 shared texts of a workbook are found by their index', () => {
  const texts = new SharedTexts();
  for (let n = 0; n < 300_000; n += 1) {
    texts.appendText(n % 3 === 0 ? '' : `text ${n}`);
    texts.endText();
  }
  for (let n = 0; n < 300_000; n += 997) expect(readTextAt(texts, n)).toBe(n % 3 === 0 ? '' : `text ${n}`);
});

it.each([
  ['long texts', 'x'.repeat(100_000), 1.1],
  ['empty texts', '', 4.1],
  ['a text that never ends', 'x'.repeat(MIB_BYTES), Number.POSITIVE_INFINITY],
])('shared texts of a workbook take no more memory than their limit: %s', (_what, text, bytesPerText) => {
  const texts = new SharedTexts();
  let textCount = 0;
  const fillMemory = () => {
    for (;;) {
      if (text !== '') texts.appendText(text);
      if (Number.isFinite(bytesPerText)) texts.endText();
      textCount += 1;
    }
  };
  expect(fillMemory).toThrow(WorkbookTooLarge);
  // Of a text that comes in pieces half its page may be empty.
  const minTextCount =
    MAX_TEXTS_BYTES / (Number.isFinite(bytesPerText) ? Math.max(4, text.length) * bytesPerText : 2.2 * MIB_BYTES);
  expect(textCount).toBeGreaterThan(minTextCount - 1);
  expect(textCount * Math.max(4, text.length)).toBeLessThanOrEqual(MAX_TEXTS_BYTES * 1.02);
});
