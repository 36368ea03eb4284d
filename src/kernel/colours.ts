/** A colour as `#rrggbb`, in lower case. */
export type Colour = string;

type Channels = [red: number, green: number, blue: number];

/** The colour that is written so, with three digits or six; undefined if it is none. */
export function parseColour(text: string): Colour | undefined {
  const [, digits] = /^#([\da-f]{3}|[\da-f]{6})$/i.exec(text) ?? [];
  if (digits === undefined) return undefined;
  const six = digits.length === 6 ? digits : [...digits].map((digit) => digit + digit).join('');
  return `#${six.toLowerCase()}`;
}

const toChannels = (colour: Colour): Channels => {
  const number = Number.parseInt(colour.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
};

/** The relative luminance of a colour, from 0 to 1: https://www.w3.org/TR/WCAG22/#dfn-relative-luminance */
function luminance(colour: Colour): number {
  const [red, green, blue] = toChannels(colour).map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as Channels;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** The contrast of two colours, from 1 to 21: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio */
export function contrast(one: Colour, other: Colour): number {
  const [darker, lighter] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (lighter + 0.05) / (darker + 0.05);
}

/** The contrast that WCAG AA requires of text, and of graphics. */
export const TEXT_CONTRAST = 4.5;
export const GRAPHIC_CONTRAST = 3;

/** A colour with that share (0 to 1) of another in it. */
export function mixed(colour: Colour, other: Colour, share: number): Colour {
  const others = toChannels(other);
  const channels = toChannels(colour).map((channel, at) => channel + ((others[at] as number) - channel) * share);
  return `#${channels.map((channel) => Math.round(channel).toString(16).padStart(2, '0')).join('')}`;
}

/** Black or white, whichever is read better on a colour: always with a contrast of more than 4.5. */
export const chooseTextColour = (colour: Colour): Colour =>
  contrast('#ffffff', colour) >= contrast('#000000', colour) ? '#ffffff' : '#000000';

const STEPS = 20;

/** A colour, changed as little towards another as it takes to have a contrast on all of these grounds. */
export function readable(colour: Colour, grounds: readonly Colour[], least: number, towards: Colour): Colour {
  for (let step = 0; step < STEPS; step += 1) {
    const candidate = mixed(colour, towards, step / STEPS);
    if (grounds.every((ground) => contrast(candidate, ground) >= least)) return candidate;
  }
  return towards;
}
