/** Colour as `#rrggbb`, in lower case. */
export type Colour = string;

type Channels = [red: number, green: number, blue: number];

/** Parses a colour of three digits or six; undefined if it is none. */
export function parseColour(text: string): Colour | undefined {
  const [, digits] = /^#([\da-f]{3}|[\da-f]{6})$/i.exec(text) ?? [];
  if (digits === undefined) return undefined;
  const sixDigits = digits.length === 6 ? digits : [...digits].map((digit) => digit + digit).join('');
  return `#${sixDigits.toLowerCase()}`;
}

const toChannels = (colour: Colour): Channels => {
  const number = Number.parseInt(colour.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
};

/** Computes the relative luminance of a colour, from 0 to 1: https://www.w3.org/TR/WCAG22/#dfn-relative-luminance */
function computeLuminance(colour: Colour): number {
  const [red, green, blue] = toChannels(colour).map((channel) => {
    const fraction = channel / 255;
    return fraction <= 0.04045 ? fraction / 12.92 : ((fraction + 0.055) / 1.055) ** 2.4;
  }) as Channels;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Computes the contrast of two colours, from 1 to 21: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio */
export function computeContrast(colour: Colour, otherColour: Colour): number {
  const [darker, lighter] = [computeLuminance(colour), computeLuminance(otherColour)].sort((a, b) => a - b) as [
    number,
    number,
  ];
  return (lighter + 0.05) / (darker + 0.05);
}

/** Minimum contrast of text by WCAG AA. */
export const MIN_TEXT_CONTRAST = 4.5;
/** Minimum contrast of graphics by WCAG AA. */
export const MIN_GRAPHIC_CONTRAST = 3;

/** Mixes a share (0 to 1) of another colour into a colour. */
export function mixColours(colour: Colour, otherColour: Colour, otherFraction: number): Colour {
  const otherChannels = toChannels(otherColour);
  const channels = toChannels(colour).map(
    (channel, at) => channel + ((otherChannels[at] as number) - channel) * otherFraction,
  );
  return `#${channels.map((channel) => Math.round(channel).toString(16).padStart(2, '0')).join('')}`;
}

/** Chooses black or white, whichever is more readable on a colour: always with a contrast of more than 4.5. */
export const chooseTextColour = (colour: Colour): Colour =>
  computeContrast('#ffffff', colour) >= computeContrast('#000000', colour) ? '#ffffff' : '#000000';

const MIX_STEP_COUNT = 20;

/**
 * Changes a colour towards `target` as little as it takes for the minimum contrast to all backgrounds; returns `target` if
 * nothing less suffices.
 */
export function makeColourReadable(
  colour: Colour,
  backgrounds: readonly Colour[],
  minContrast: number,
  target: Colour,
): Colour {
  for (let step = 0; step < MIX_STEP_COUNT; step += 1) {
    const candidate = mixColours(colour, target, step / MIX_STEP_COUNT);
    if (backgrounds.every((background) => computeContrast(candidate, background) >= minContrast)) return candidate;
  }
  return target;
}
