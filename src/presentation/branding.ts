import { type Colour, contrast, GRAPHIC_CONTRAST, TEXT_CONTRAST } from '../kernel/colours.ts';
import type { FieldProblem } from '../kernel/failure.ts';

export const FONTS = ['system', 'serif', 'mono'] as const;

/** The look of a company's pages and mails; a part that is left out is as without a brand. Fields as they travel. */
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

/** The colours of a page without a brand, in daylight. */
export const STANDARD_COLOURS = { primary_color: '#1d5bd8', background: '#ffffff', text_color: '#172033' } as const;

/** The pairs of colours that are given and do not have the contrast of WCAG AA. */
export function contrastProblems({ background, text_color, primary_color, chart_palette }: Branding): FieldProblem[] {
  if (background === undefined) return [];
  const pairs: [field: string, colour: Colour | undefined, least: number][] = [
    ['text_color', text_color, TEXT_CONTRAST],
    ['primary_color', primary_color, TEXT_CONTRAST],
    ...(chart_palette ?? []).map((colour, at): [string, Colour, number] => [
      `chart_palette.${at}`,
      colour,
      GRAPHIC_CONTRAST,
    ]),
  ];
  return pairs.flatMap(([field, colour, least]) => {
    const ratio = colour === undefined ? least : contrast(colour, background);
    if (ratio >= least) return [];
    const shown = (Math.floor(ratio * 100) / 100).toFixed(2);
    const message = `${colour} on the background ${background} has a contrast of ${shown}; WCAG AA asks for ${least}`;
    return [{ field, message }];
  });
}
