import fc from 'fast-check';
import { expect, it } from 'vitest';
import { WorkbookTooLarge } from '../../../src/formats/workbook/limits.ts';
import { MAX_TEXTS_BYTES, Texts } from '../../../src/formats/workbook/texts.ts';

const MIB = 1024 * 1024;

const decoder = new TextDecoder();
const readTextAt = (texts: Texts, index: number) =>
  decoder.decode(texts.bytes(index).subarray(texts.start(index), texts.end(index)));

/** A text of so many letters, in pieces. */
const piece = fc.record({ letter: fc.constantFrom('a', 'é', '東'), length: fc.oneof(fc.nat(20), fc.nat(700_000)) });

it('shared texts of a workbook are found by their index, however long they are and however many pieces they came in', () => {
  const many = fc.array(fc.record({ pieces: fc.array(piece, { maxLength: 4 }), dropped: fc.boolean() }), {
    maxLength: 12,
  });
  fc.assert(
    fc.property(many, (wanted) => {
      const texts = new Texts();
      const kept: string[] = [];
      for (const { pieces, dropped } of wanted) {
        const parts = pieces.map(({ letter, length }) => letter.repeat(length));
        for (const part of parts) texts.appendText(part);
        if (dropped) texts.undo();
        else {
          texts.endText();
          kept.push(parts.join(''));
        }
      }
      expect(texts.count).toBe(kept.length);
      for (const [index, text] of kept.entries()) expect(readTextAt(texts, index) === text).toBe(true);
    }),
    { numRuns: 60 },
  );
});

it('300,000 shared texts of a workbook are found by their index', () => {
  const texts = new Texts();
  for (let n = 0; n < 300_000; n += 1) {
    texts.appendText(n % 3 === 0 ? '' : `text ${n}`);
    texts.endText();
  }
  for (let n = 0; n < 300_000; n += 997) expect(readTextAt(texts, n)).toBe(n % 3 === 0 ? '' : `text ${n}`);
});

it.each([
  ['long texts', 'x'.repeat(100_000), 1.1],
  ['empty texts', '', 4.1],
  ['a text that never ends', 'x'.repeat(MIB), Number.POSITIVE_INFINITY],
])('shared texts of a workbook take no more memory than their limit: %s', (_what, text, perText) => {
  const texts = new Texts();
  let held = 0;
  const fill = () => {
    for (;;) {
      if (text !== '') texts.appendText(text);
      if (Number.isFinite(perText)) texts.endText();
      held += 1;
    }
  };
  expect(fill).toThrow(WorkbookTooLarge);
  // Of a text that comes in pieces half its page may be empty.
  const least = MAX_TEXTS_BYTES / (Number.isFinite(perText) ? Math.max(4, text.length) * perText : 2.2 * MIB);
  expect(held).toBeGreaterThan(least - 1);
  expect(held * Math.max(4, text.length)).toBeLessThanOrEqual(MAX_TEXTS_BYTES * 1.02);
});
