import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  chooseTextColour,
  computeContrast,
  MIN_TEXT_CONTRAST,
  makeColourReadable,
  mixColours,
  parseColour,
} from '../../src/kernel/colours.ts';
import { findContrastProblems, STANDARD_COLOURS } from '../../src/presentation/branding.ts';
import { themeField } from '../../src/presentation/branding-fields.ts';

const arbitraryColour = fc
  .integer({ min: 0, max: 0xffffff })
  .map((number) => `#${number.toString(16).padStart(6, '0')}`);

describe('colours', () => {
  it.each([
    ['#FFF', '#ffffff'],
    ['#1d5BD8', '#1d5bd8'],
    ['#12345', undefined],
    ['red', undefined],
    ['#12345678', undefined],
    ['url(x)', undefined],
  ])('are parsed, or found invalid: %j', (text, colour) => {
    expect(parseColour(text)).toBe(colour);
  });

  it.each([
    ['#000000', '#ffffff', 21],
    ['#777777', '#ffffff', 4.47],
    ['#767676', '#ffffff', 4.54],
    ['#ffffff', '#ffffff', 1],
  ])('have the contrast of WCAG: %s on %s', (firstColour, other, ratio) => {
    expect(Math.floor(computeContrast(firstColour, other) * 100) / 100).toBe(ratio);
    expect(computeContrast(other, firstColour)).toBe(computeContrast(firstColour, other));
  });

  it('are mixed', () => {
    expect([mixColours('#000000', '#ffffff', 0), mixColours('#000000', '#ff8000', 0.5)]).toEqual([
      '#000000',
      '#804000',
    ]);
  });

  it('always have a readable text colour, and can be made readable', () => {
    fc.assert(
      fc.property(arbitraryColour, arbitraryColour, (colour, background) => {
        expect(computeContrast(chooseTextColour(background), background)).toBeGreaterThan(MIN_TEXT_CONTRAST);
        const readableColour = makeColourReadable(
          colour,
          [background],
          MIN_TEXT_CONTRAST,
          chooseTextColour(background),
        );
        expect(computeContrast(readableColour, background)).toBeGreaterThanOrEqual(MIN_TEXT_CONTRAST);
        if (computeContrast(colour, background) >= MIN_TEXT_CONTRAST) expect(readableColour).toBe(colour);
      }),
    );
  });
});

describe('the colours of a brand', () => {
  it('are replaced by readable colours where none are set', () => {
    expect(findContrastProblems(STANDARD_COLOURS)).toEqual([]);
  });

  it('are reported where their contrast is too low', () => {
    const problems = findContrastProblems({
      background: '#ffffff',
      text_color: '#888888',
      primary_color: '#ffee00',
      chart_palette: ['#0055aa', '#bbbbbb'],
    });
    expect(problems.map(({ field }) => field)).toEqual(['text_color', 'primary_color', 'chart_palette.1']);
    expect(problems[0]?.message).toBe('#888888 on the background #ffffff has a contrast of 3.54; WCAG AA asks for 4.5');
    expect(problems[2]?.message).toMatch(/asks for 3$/);
  });

  it('require less contrast in charts than for text', () => {
    const colour = '#888888';
    expect(findContrastProblems({ background: '#ffffff', chart_palette: [colour] })).toEqual([]);
    expect(findContrastProblems({ background: '#ffffff', text_color: colour })).toHaveLength(1);
  });
});

describe('a theme', () => {
  it('may have only some fields, and gets its colours normalized', () => {
    expect(themeField.parse({ background: '#FFF', text_color: '#123', radius: 0, unknown: 1 })).toEqual({
      background: '#ffffff',
      text_color: '#112233',
      radius: 0,
    });
  });

  it.each([
    [{ background: '#ffffff', text_color: '#eeeeee' }, ['text_color']],
    [{ background: '#fff', chart_palette: ['#000', '#fff'] }, ['chart_palette', '1']],
    [{ background: 'white' }, ['background']],
    [{ radius: 33 }, ['radius']],
    [{ radius: -1 }, ['radius']],
    [{ radius: 1.5 }, ['radius']],
    [{ font: 'Comic Sans' }, ['font']],
    [{ name: '' }, ['name']],
    [{ name: 'x'.repeat(81) }, ['name']],
    [{ chart_palette: [] }, ['chart_palette']],
    [{ chart_palette: Array(21).fill('#000') }, ['chart_palette']],
    ['dark', []],
  ])('%j is refused', (brandTheme, path) => {
    expect(themeField.safeParse(brandTheme).error?.issues[0]?.path).toEqual(path);
  });
});
