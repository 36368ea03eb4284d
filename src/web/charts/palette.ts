import { GRAPHIC_CONTRAST, mixed, readable } from '../../kernel/colours.ts';
import type { ChartColours, Scheme } from '../branding/look.ts';
import { chartColours } from '../branding/wear.ts';

/** Different shapes of points, for viewers who cannot tell the colours apart. */
const POINTS = ['circle', 'rect', 'triangle', 'rectRot', 'star', 'crossRot'] as const;

/** The colour scheme of the page: from the address, else from the viewer's system. */
function scheme(): Scheme {
  const { theme } = document.documentElement.dataset;
  if (theme === 'light' || theme === 'dark') return theme;
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}

export const palette = (): ChartColours => chartColours(scheme());

/** How much of the text's colour, or of the card's, a colour has that comes again. */
const AGAIN = [
  { towards: 'text', share: 0.4 },
  { towards: 'card', share: 0.35 },
] as const;

/** Beyond the palette, which a brand may make short, its colours come again, darker and lighter: they can be told apart. */
export function seriesColour(index: number): string {
  const { series, text, card } = palette();
  const colour = series[index % series.length] as string;
  const round = Math.floor(index / series.length);
  const change = round > 0 && AGAIN[(round - 1) % AGAIN.length];
  if (!change) return colour;
  return readable(mixed(colour, { text, card }[change.towards], change.share), [card], GRAPHIC_CONTRAST, text);
}

export const pointShape = (index: number): (typeof POINTS)[number] => POINTS[index % POINTS.length] as 'circle';

/** A colour with an opacity of 0 to 1. */
export const faded = (colour: string, opacity: number): string =>
  `${colour}${Math.round(opacity * 255)
    .toString(16)
    .padStart(2, '0')}`;
