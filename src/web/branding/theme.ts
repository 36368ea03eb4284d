import {
  type Colour,
  chooseTextColour,
  contrast,
  GRAPHIC_CONTRAST,
  mixed,
  readable,
  TEXT_CONTRAST,
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

/** The theme of pages in a brand's colours. */
export interface Theme {
  /** The colour scheme, where the brand has a background or text colour: the page is the same by day and night. */
  scheme?: Scheme;
  /** Properties of styles/base.css. */
  properties: Record<string, string>;
  charts: Record<Scheme, ChartColours>;
}

/** The standard colours. Of series: people with any colour vision can tell them apart, with a contrast of 3 on a card. */
export const STANDARD: Record<Scheme, ChartColours> = {
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

/** The theme of a brand. Whatever its colours are, all that is written can be read. */
export const makeTheme = (brand: Branding): Theme =>
  brand.background === undefined && brand.text_color === undefined ? themeByScheme(brand) : ownTheme(brand);

/** The theme of the standard page: the brand's colours are changed as far as day and night need it. */
function themeByScheme({ primary_color: primary, chart_palette: series }: Branding): Theme {
  const accents = (['light', 'dark'] as const).map((scheme) => {
    const { backgrounds, text, accent } = BASE_COLOURS[scheme];
    return readable(primary ?? accent, backgrounds, TEXT_CONTRAST, text);
  }) as [Colour, Colour];
  const makeChartColours = (scheme: Scheme): ChartColours => {
    const standard = STANDARD[scheme];
    const drawn = (colour: Colour) => readable(colour, [standard.card], GRAPHIC_CONTRAST, BASE_COLOURS[scheme].text);
    return { ...standard, series: series?.map(drawn) ?? standard.series };
  };
  return {
    properties:
      primary === undefined
        ? {}
        : {
            '--accent': `light-dark(${accents.join()})`,
            '--on-accent': `light-dark(${accents.map(chooseTextColour).join()})`,
          },
    charts: { light: makeChartColours('light'), dark: makeChartColours('dark') },
  };
}

/** The theme of a brand with a background of its own: all other colours follow from the brand's. */
function ownTheme(brand: Branding): Theme {
  const page = brand.background ?? STANDARD_COLOURS.background;
  const scheme = chooseTextColour(page) === '#ffffff' ? 'dark' : 'light';
  const standard = BASE_COLOURS[scheme];
  const text = readable(brand.text_color ?? standard.text, [page], TEXT_CONTRAST, chooseTextColour(page));
  const ifReadable = (ground: Colour, otherwise: Colour, ...inks: Colour[]): Colour =>
    inks.every((ink) => contrast(ink, ground) >= TEXT_CONTRAST) ? ground : otherwise;
  const card = ifReadable(mixed(page, '#ffffff', scheme === 'dark' ? 0.05 : 0.6), page, text);
  const accent = readable(brand.primary_color ?? standard.accent, [page, card], TEXT_CONTRAST, text);
  const hover = ifReadable(mixed(card, text, 0.06), card, text, accent);
  const soft = readable(mixed(text, page, 0.3), [page, card, hover], TEXT_CONTRAST, text);
  const line = mixed(card, text, 0.14);
  const series = brand.chart_palette ?? STANDARD[scheme].series;
  const colours: ChartColours = {
    text: soft,
    grid: line,
    card,
    series: series.map((colour) => readable(colour, [card], GRAPHIC_CONTRAST, text)),
  };
  return {
    scheme,
    properties: {
      '--page': page,
      '--card': card,
      '--line': line,
      '--field': readable(mixed(text, card, 0.5), [page, card], GRAPHIC_CONTRAST, text),
      '--text': text,
      '--soft': soft,
      '--accent': accent,
      '--on-accent': chooseTextColour(accent),
      '--error': readable(standard.error, [page, card], TEXT_CONTRAST, text),
      '--hover': hover,
      '--chosen': ifReadable(mixed(card, accent, 0.14), card, text),
    },
    charts: { light: colours, dark: colours },
  };
}

/** The variants of the palette's colours: how much of the text's or the card's colour they contain. */
const VARIANTS = [
  { towards: 'text', share: 0.6 },
  { towards: 'card', share: 0.35 },
] as const;

/** The colour of a series. After the palette its colours come darker and lighter, the more different first. */
export function colourOfSeries({ series, text, card }: ChartColours, index: number): Colour {
  const colour = series[index % series.length] as Colour;
  const round = Math.floor(index / series.length);
  if (round === 0) return colour;
  const others = VARIANTS.map(({ towards, share }) =>
    readable(mixed(colour, { text, card }[towards], share), [card], GRAPHIC_CONTRAST, text),
  ).sort((a, b) => contrast(b, colour) - contrast(a, colour));
  return others[(round - 1) % others.length] as Colour;
}
