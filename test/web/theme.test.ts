import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { computeContrast } from '../../src/kernel/colours.ts';
import { findContrastProblems, STANDARD_COLOURS } from '../../src/presentation/branding.ts';
import { chooseSeriesColour, makeTheme, STANDARD_CHART_COLOURS } from '../../src/web/branding/theme.ts';

const arbitraryColour = fc
  .integer({ min: 0, max: 0xffffff })
  .map((number) => `#${number.toString(16).padStart(6, '0')}`);
const arbitraryBrand = fc.record(
  {
    background: arbitraryColour,
    text_color: arbitraryColour,
    primary_color: arbitraryColour,
    chart_palette: fc.array(arbitraryColour, { minLength: 1, maxLength: 3 }),
  },
  { requiredKeys: [] },
);

describe('the theme of a brand', () => {
  it('has enough contrast, whatever colours a brand sets', () => {
    fc.assert(
      fc.property(arbitraryBrand, (brand) => {
        const { scheme, properties, chartColours: charts } = makeTheme(brand);
        for (const colours of Object.values(charts)) {
          const { card, text } = colours;
          const series = Array.from({ length: 10 }, (_, index) => chooseSeriesColour(colours, index));
          for (const colour of series) expect(computeContrast(colour, card)).toBeGreaterThanOrEqual(3);
          expect(computeContrast(text, card)).toBeGreaterThanOrEqual(4.5);
        }
        if (scheme === undefined) return;
        const getProperty = (name: string) => properties[`--${name}`] as string;
        for (const backgroundName of ['page', 'card', 'hover']) {
          for (const textColourName of ['text', 'soft', 'accent']) {
            expect(
              computeContrast(getProperty(textColourName), getProperty(backgroundName)),
              `${textColourName} on ${backgroundName}`,
            ).toBeGreaterThanOrEqual(4.5);
          }
        }
        expect(computeContrast(getProperty('text'), getProperty('chosen'))).toBeGreaterThanOrEqual(4.5);
        for (const backgroundName of ['page', 'card'])
          expect(computeContrast(getProperty('error'), getProperty(backgroundName))).toBeGreaterThanOrEqual(4.5);
        expect(computeContrast(getProperty('on-accent'), getProperty('accent'))).toBeGreaterThanOrEqual(4.5);
        expect(computeContrast(getProperty('field'), getProperty('card'))).toBeGreaterThanOrEqual(3);
      }),
      { numRuns: 500 },
    );
  });

  it('has exactly the colours that were set if their contrast is high enough', () => {
    fc.assert(
      fc.property(arbitraryBrand, (brand) => {
        const allColours = { ...STANDARD_COLOURS, ...brand };
        fc.pre(findContrastProblems(allColours).length === 0);
        const { properties } = makeTheme(allColours);
        expect([properties['--page'], properties['--text']]).toEqual([allColours.background, allColours.text_color]);
      }),
    );
  });

  it('follows light and dark mode if it has no background and no text colour of its own', () => {
    const {
      scheme,
      properties,
      chartColours: charts,
    } = makeTheme({ primary_color: '#063970', chart_palette: ['#063970'] });
    expect(scheme).toBeUndefined();
    const [, light, dark] = /^light-dark\((#\w+),(#\w+)\)$/.exec(properties['--accent'] ?? '') ?? [];
    expect(light).toBe('#063970');
    expect(computeContrast(dark as string, STANDARD_CHART_COLOURS.dark.card)).toBeGreaterThanOrEqual(4.5);
    expect(charts.light.series).toEqual(['#063970']);
    expect(computeContrast(charts.dark.series[0] as string, STANDARD_CHART_COLOURS.dark.card)).toBeGreaterThanOrEqual(
      3,
    );
    expect(makeTheme({})).toEqual({ properties: {}, chartColours: STANDARD_CHART_COLOURS });
  });

  it('has a colour for each slice of a pie, however few a brand names', () => {
    const { chartColours: charts } = makeTheme({ chart_palette: ['#7a1fa2', '#b45309', '#0f766e'] });
    expect(new Set(Array.from({ length: 9 }, (_, index) => chooseSeriesColour(charts.light, index))).size).toBe(9);
  });

  it.each([
    ['#7a1f3d', { background: '#fff8f0', text_color: '#2b1a12' }],
    ['#0f766e', { background: '#fff8f0', text_color: '#2b1a12' }],
    ['#ffd166', { background: '#101820', text_color: '#f4f4f4' }],
    ['#063970', {}],
  ])('varies a colour of the palette that is repeated: %s', (colour, background) => {
    const { chartColours: charts } = makeTheme({ ...background, chart_palette: [colour] });
    for (const colours of Object.values(charts)) {
      const [first, second, third] = [0, 1, 2].map((index) => chooseSeriesColour(colours, index)) as [
        string,
        string,
        string,
      ];
      expect(computeContrast(first, second)).toBeGreaterThan(1.5);
      expect(computeContrast(second, third)).toBeGreaterThan(1.5);
    }
  });

  it('has the dark scheme on a dark background, and the light scheme on a light background', () => {
    expect(makeTheme({ background: '#101820', text_color: '#ffffff' }).scheme).toBe('dark');
    expect(makeTheme({ background: '#fff8f0' }).scheme).toBe('light');
  });
});
