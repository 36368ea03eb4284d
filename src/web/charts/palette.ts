import { chartColours } from '../branding/apply.ts';
import { type ChartColours, colourOfSeries, type Scheme } from '../branding/theme.ts';

/** Different shapes of points, for viewers who cannot tell the colours apart. */
const POINTS = ['circle', 'rect', 'triangle', 'rectRot', 'star', 'crossRot'] as const;

/** The colour scheme of the page: from the address, else from the viewer's system. */
function scheme(): Scheme {
  const { theme } = document.documentElement.dataset;
  if (theme === 'light' || theme === 'dark') return theme;
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}

export const palette = (): ChartColours => chartColours(scheme());

export const seriesColour = (index: number): string => colourOfSeries(palette(), index);

export const pointShape = (index: number): (typeof POINTS)[number] => POINTS[index % POINTS.length] as 'circle';

/** A colour with an opacity of 0 to 1. */
export const withOpacity = (colour: string, opacity: number): string =>
  `${colour}${Math.round(opacity * 255)
    .toString(16)
    .padStart(2, '0')}`;
