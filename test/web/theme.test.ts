import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contrast } from '../../src/kernel/colours.ts';
import { contrastProblems, STANDARD_COLOURS } from '../../src/presentation/branding.ts';
import { colourOfSeries, makeTheme, STANDARD } from '../../src/web/branding/theme.ts';

const aColour = fc.integer({ min: 0, max: 0xffffff }).map((number) => `#${number.toString(16).padStart(6, '0')}`);
const someColours = fc.record(
  {
    background: aColour,
    text_color: aColour,
    primary_color: aColour,
    chart_palette: fc.array(aColour, { minLength: 1, maxLength: 3 }),
  },
  { requiredKeys: [] },
);

describe('the theme of a brand', () => {
  it('has enough contrast, whatever colours a brand sets', () => {
    fc.assert(
      fc.property(someColours, (brand) => {
        const { scheme, properties, charts } = makeTheme(brand);
        for (const colours of Object.values(charts)) {
          const { card, text } = colours;
          const series = Array.from({ length: 10 }, (_, index) => colourOfSeries(colours, index));
          for (const colour of series) expect(contrast(colour, card)).toBeGreaterThanOrEqual(3);
          expect(contrast(text, card)).toBeGreaterThanOrEqual(4.5);
        }
        if (scheme === undefined) return;
        const of = (name: string) => properties[`--${name}`] as string;
        for (const ground of ['page', 'card', 'hover']) {
          for (const ink of ['text', 'soft', 'accent']) {
            expect(contrast(of(ink), of(ground)), `${ink} on ${ground}`).toBeGreaterThanOrEqual(4.5);
          }
        }
        expect(contrast(of('text'), of('chosen'))).toBeGreaterThanOrEqual(4.5);
        for (const ground of ['page', 'card']) expect(contrast(of('error'), of(ground))).toBeGreaterThanOrEqual(4.5);
        expect(contrast(of('on-accent'), of('accent'))).toBeGreaterThanOrEqual(4.5);
        expect(contrast(of('field'), of('card'))).toBeGreaterThanOrEqual(3);
      }),
      { numRuns: 500 },
    );
  });

  it('has exactly the colours that were set if their contrast is enough', () => {
    fc.assert(
      fc.property(someColours, (brand) => {
        const whole = { ...STANDARD_COLOURS, ...brand };
        fc.pre(contrastProblems(whole).length === 0);
        const { properties } = makeTheme(whole);
        expect([properties['--page'], properties['--text']]).toEqual([whole.background, whole.text_color]);
      }),
    );
  });

  it('follows light and dark mode if it has no background and no text colour of its own', () => {
    const { scheme, properties, charts } = makeTheme({ primary_color: '#063970', chart_palette: ['#063970'] });
    expect(scheme).toBeUndefined();
    const [, light, dark] = /^light-dark\((#\w+),(#\w+)\)$/.exec(properties['--accent'] ?? '') ?? [];
    expect(light).toBe('#063970');
    expect(contrast(dark as string, STANDARD.dark.card)).toBeGreaterThanOrEqual(4.5);
    expect(charts.light.series).toEqual(['#063970']);
    expect(contrast(charts.dark.series[0] as string, STANDARD.dark.card)).toBeGreaterThanOrEqual(3);
    expect(makeTheme({})).toEqual({ properties: {}, charts: STANDARD });
  });

  it('has a colour for each slice of a pie, however few a brand names', () => {
    const { charts } = makeTheme({ chart_palette: ['#7a1fa2', '#b45309', '#0f766e'] });
    expect(new Set(Array.from({ length: 9 }, (_, index) => colourOfSeries(charts.light, index))).size).toBe(9);
  });

  it.each([
    ['#7a1f3d', { background: '#fff8f0', text_color: '#2b1a12' }],
    ['#0f766e', { background: '#fff8f0', text_color: '#2b1a12' }],
    ['#ffd166', { background: '#101820', text_color: '#f4f4f4' }],
    ['#063970', {}],
  ])('varies a colour of the palette that is repeated: %s', (colour, ground) => {
    const { charts } = makeTheme({ ...ground, chart_palette: [colour] });
    for (const colours of Object.values(charts)) {
      const [first, second, third] = [0, 1, 2].map((index) => colourOfSeries(colours, index)) as [
        string,
        string,
        string,
      ];
      expect(contrast(first, second)).toBeGreaterThan(1.5);
      expect(contrast(second, third)).toBeGreaterThan(1.5);
    }
  });

  it('has the dark scheme on a dark background, the light one on a light background', () => {
    expect(makeTheme({ background: '#101820', text_color: '#ffffff' }).scheme).toBe('dark');
    expect(makeTheme({ background: '#fff8f0' }).scheme).toBe('light');
  });
});
