import { expect, it, vi } from 'vitest';
import { contrast } from '../../src/kernel/colours.ts';

/** What a page has of its browser. */
vi.stubGlobal('document', { documentElement: { dataset: { theme: 'light' }, style: { setProperty: () => {} } } });
const { palette, seriesColour } = await import('../../src/web/charts/palette.ts');
const { wear } = await import('../../src/web/branding/wear.ts');

it('draws the slices of a pie in colours of their own, however few a brand has', () => {
  wear({ chart_palette: ['#7a1fa2', '#b45309', '#0f766e'] });
  const colours = Array.from({ length: 9 }, (_, index) => seriesColour(index));
  expect(new Set(colours).size).toBe(9);
  for (const colour of colours) expect(contrast(colour, palette().card)).toBeGreaterThanOrEqual(3);
});
