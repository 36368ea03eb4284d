/** Colours that people with any colour vision can tell apart, with a contrast of at least 3:1 on a card. */
const SERIES = {
  light: ['#2563eb', '#c2410c', '#0f766e', '#9333ea', '#be123c', '#4d7c0f', '#0e7490', '#a16207', '#475569', '#db2777'],
  dark: ['#60a5fa', '#fb923c', '#2dd4bf', '#c084fc', '#fb7185', '#a3e635', '#22d3ee', '#facc15', '#94a3b8', '#f472b6'],
};

/** Different shapes of points, for viewers who cannot tell the colours apart. */
const POINTS = ['circle', 'rect', 'triangle', 'rectRot', 'star', 'crossRot'] as const;

export interface Palette {
  text: string;
  grid: string;
  card: string;
}

const COLOURS: Record<'light' | 'dark', Palette> = {
  light: { text: '#475569', grid: '#e2e8f0', card: '#ffffff' },
  dark: { text: '#a8b3c4', grid: '#2c3646', card: '#171e29' },
};

/** The colour scheme of the page: from the address, else from the viewer's system. */
export function scheme(): 'light' | 'dark' {
  const { theme } = document.documentElement.dataset;
  if (theme === 'light' || theme === 'dark') return theme;
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}

export const palette = (): Palette => COLOURS[scheme()];

export function seriesColour(index: number): string {
  const colours = SERIES[scheme()];
  return colours[index % colours.length] as string;
}

export const pointShape = (index: number): (typeof POINTS)[number] => POINTS[index % POINTS.length] as 'circle';

/** A colour with an opacity of 0 to 1. */
export const faded = (colour: string, opacity: number): string =>
  `${colour}${Math.round(opacity * 255)
    .toString(16)
    .padStart(2, '0')}`;
