import { getChartColours } from '../branding/apply.ts';
import { type ChartColours, chooseSeriesColour, type Scheme } from '../branding/theme.ts';

/** Different shapes of points, for viewers who cannot tell the colours apart. */
const POINT_SHAPES = ['circle', 'rect', 'triangle', 'rectRot', 'star', 'crossRot'] as const;

/** Returns the colour scheme of the page: from the URL, else from the viewer's system. */
function getScheme(): Scheme {
  const { theme } = document.documentElement.dataset;
  if (theme === 'light' || theme === 'dark') return theme;
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}

export const getPalette = (): ChartColours => getChartColours(getScheme());

export const getSeriesColour = (index: number): string => chooseSeriesColour(getPalette(), index);

export const getPointShape = (index: number): (typeof POINT_SHAPES)[number] =>
  POINT_SHAPES[index % POINT_SHAPES.length] as 'circle';

/** Adds an opacity of 0 to 1 to a colour. */
export const addOpacity = (colour: string, opacity: number): string =>
  `${colour}${Math.round(opacity * 255)
    .toString(16)
    .padStart(2, '0')}`;
