import {
  type Colour,
  chooseTextColour,
  computeContrast,
  MIN_GRAPHIC_CONTRAST,
  MIN_TEXT_CONTRAST,
  makeColourReadable,
  mixColours,
} from '../../kernel/colours.ts';
import { type Branding, STANDARD_COLOURS } from '../../presentation/branding.ts';

export type Scheme = 'light' | 'dark';

/** The colours that a chart is drawn with. */
export interface ChartColours {
  text: Colour;
  grid: Colour;
  card: Colour;
  series: readonly Colour[];
}

/** A theme of pages in a brand's colours. */
export interface Theme {
  /** The colour scheme, where the brand has a background or text colour: then the page is the same in light and dark mode. */
  scheme?: Scheme;
  /** The CSS properties of styles/base.css to override. */
  properties: Record<string, string>;
  chartColours: Record<Scheme, ChartColours>;
}

/**
 * The standard colours of charts. Those of series can be told apart with any colour vision, and have a contrast of 3 on a card.
 */
export const STANDARD_CHART_COLOURS: Record<Scheme, ChartColours> = {
  light: {
    text: '#475569',
    grid: '#e2e8f0',
    card: '#ffffff',
    series: [
      '#2563eb',
      '#c2410c',
      '#0f766e',
      '#9333ea',
      '#be123c',
      '#4d7c0f',
      '#0e7490',
      '#a16207',
      '#475569',
      '#db2777',
    ],
  },
  dark: {
    text: '#a8b3c4',
    grid: '#2c3646',
    card: '#171e29',
    series: [
      '#60a5fa',
      '#fb923c',
      '#2dd4bf',
      '#c084fc',
      '#fb7185',
      '#a3e635',
      '#22d3ee',
      '#facc15',
      '#94a3b8',
      '#f472b6',
    ],
  },
};

/** The colours of styles/base.css on which the brand's colours must be readable. */
const BASE_COLOURS: Record<Scheme, { backgrounds: readonly Colour[]; text: Colour; accent: Colour; error: Colour }> = {
  light: { backgrounds: ['#f5f7fa', '#ffffff', '#eef2f8'], text: '#172033', accent: '#1d5bd8', error: '#b42318' },
  dark: { backgrounds: ['#0e131b', '#171e29', '#212b3a'], text: '#e8edf4', accent: '#7fb0ff', error: '#ff9a8d' },
};

/** Makes the theme of a brand. Whatever the brand's colours are, all text is readable. */
export const makeTheme = (brand: Branding): Theme =>
  brand.background === undefined && brand.text_color === undefined ? makeStandardTheme(brand) : makeOwnTheme(brand);

/** Makes the theme of the standard page: the brand's colours are changed as far as light and dark mode need it. */
function makeStandardTheme({ primary_color: primary, chart_palette: series }: Branding): Theme {
  const accents = (['light', 'dark'] as const).map((scheme) => {
    const { backgrounds, text, accent } = BASE_COLOURS[scheme];
    return makeColourReadable(primary ?? accent, backgrounds, MIN_TEXT_CONTRAST, text);
  }) as [Colour, Colour];
  const makeChartColours = (scheme: Scheme): ChartColours => {
    const standardColours = STANDARD_CHART_COLOURS[scheme];
    const makeSeriesColour = (colour: Colour) =>
      makeColourReadable(colour, [standardColours.card], MIN_GRAPHIC_CONTRAST, BASE_COLOURS[scheme].text);
    return { ...standardColours, series: series?.map(makeSeriesColour) ?? standardColours.series };
  };
  return {
    properties:
      primary === undefined
        ? {}
        : {
            '--accent': `light-dark(${accents.join()})`,
            '--on-accent': `light-dark(${accents.map(chooseTextColour).join()})`,
          },
    chartColours: { light: makeChartColours('light'), dark: makeChartColours('dark') },
  };
}

/** Makes the theme of a brand with a background of its own: all other colours follow from the brand's. */
function makeOwnTheme(brand: Branding): Theme {
  const page = brand.background ?? STANDARD_COLOURS.background;
  const scheme = chooseTextColour(page) === '#ffffff' ? 'dark' : 'light';
  const standardColours = BASE_COLOURS[scheme];
  const text = makeColourReadable(
    brand.text_color ?? standardColours.text,
    [page],
    MIN_TEXT_CONTRAST,
    chooseTextColour(page),
  );
  const chooseReadable = (background: Colour, fallbackColour: Colour, ...textColours: Colour[]): Colour =>
    textColours.every((textColour) => computeContrast(textColour, background) >= MIN_TEXT_CONTRAST)
      ? background
      : fallbackColour;
  const card = chooseReadable(mixColours(page, '#ffffff', scheme === 'dark' ? 0.05 : 0.6), page, text);
  const accent = makeColourReadable(
    brand.primary_color ?? standardColours.accent,
    [page, card],
    MIN_TEXT_CONTRAST,
    text,
  );
  const hover = chooseReadable(mixColours(card, text, 0.06), card, text, accent);
  const soft = makeColourReadable(mixColours(text, page, 0.3), [page, card, hover], MIN_TEXT_CONTRAST, text);
  const line = mixColours(card, text, 0.14);
  const series = brand.chart_palette ?? STANDARD_CHART_COLOURS[scheme].series;
  const colours: ChartColours = {
    text: soft,
    grid: line,
    card,
    series: series.map((colour) => makeColourReadable(colour, [card], MIN_GRAPHIC_CONTRAST, text)),
  };
  return {
    scheme,
    properties: {
      '--page': page,
      '--card': card,
      '--line': line,
      '--field': makeColourReadable(mixColours(text, card, 0.5), [page, card], MIN_GRAPHIC_CONTRAST, text),
      '--text': text,
      '--soft': soft,
      '--accent': accent,
      '--on-accent': chooseTextColour(accent),
      '--error': makeColourReadable(standardColours.error, [page, card], MIN_TEXT_CONTRAST, text),
      '--hover': hover,
      '--chosen': chooseReadable(mixColours(card, accent, 0.14), card, text),
    },
    chartColours: { light: colours, dark: colours },
  };
}

/** The variants of the palette's colours: the share of the text's or the card's colour that is mixed in. */
const COLOUR_VARIANTS = [
  { towards: 'text', share: 0.6 },
  { towards: 'card', share: 0.35 },
] as const;

/**
 * Chooses the colour of a series. After the palette its colours are repeated darker and lighter, the more different variant
 * first.
 */
export function chooseSeriesColour({ series, text, card }: ChartColours, index: number): Colour {
  const colour = series[index % series.length] as Colour;
  const round = Math.floor(index / series.length);
  if (round === 0) return colour;
  const variantColours = COLOUR_VARIANTS.map(({ towards, share }) =>
    makeColourReadable(mixColours(colour, { text, card }[towards], share), [card], MIN_GRAPHIC_CONTRAST, text),
  ).sort((a, b) => computeContrast(b, colour) - computeContrast(a, colour));
  return variantColours[(round - 1) % variantColours.length] as Colour;
}
