import { type Colour, computeContrast, MIN_GRAPHIC_CONTRAST, MIN_TEXT_CONTRAST } from '../kernel/colours.ts';
import type { FieldProblem } from '../kernel/failure.ts';

export const FONTS = ['system', 'serif', 'mono'] as const;

/** The brand of a company's pages and mails; a missing part has the standard look. Fields are named as in the API. */
export interface Branding {
  /** The company's name for outsiders. */
  name?: string;
  /** The colour of links and buttons. */
  primary_color?: Colour;
  background?: Colour;
  text_color?: Colour;
  font?: (typeof FONTS)[number];
  /** The radius of corners, in pixels. */
  radius?: number;
  /** The colours of series, in their order. */
  chart_palette?: Colour[];
}

/** The colours of a page without a brand, in light mode. */
export const STANDARD_COLOURS = { primary_color: '#1d5bd8', background: '#ffffff', text_color: '#172033' } as const;

/** Finds the pairs of given colours that do not have the contrast of WCAG AA. */
export function findContrastProblems({
  background,
  text_color,
  primary_color,
  chart_palette,
}: Branding): FieldProblem[] {
  if (background === undefined) return [];
  const pairs: [field: string, colour: Colour | undefined, least: number][] = [
    ['text_color', text_color, MIN_TEXT_CONTRAST],
    ['primary_color', primary_color, MIN_TEXT_CONTRAST],
    ...(chart_palette ?? []).map((colour, at): [string, Colour, number] => [
      `chart_palette.${at}`,
      colour,
      MIN_GRAPHIC_CONTRAST,
    ]),
  ];
  return pairs.flatMap(([field, colour, least]) => {
    const ratio = colour === undefined ? least : computeContrast(colour, background);
    if (ratio >= least) return [];
    const shownRatio = (Math.floor(ratio * 100) / 100).toFixed(2);
    const message = `${colour} on the background ${background} has a contrast of ${shownRatio}; WCAG AA asks for ${least}`;
    return [{ field, message }];
  });
}
