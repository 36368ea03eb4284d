import { chooseTextColour } from '../../kernel/colours.ts';
import type { InlinePicture } from '../../platform/mail.ts';
import { type Branding, STANDARD_COLOURS } from '../../presentation/branding.ts';

/** The brand of a company as mails show it. */
export interface MailTheme extends Branding {
  logo?: {
    type: 'image/png' | 'image/jpeg' | 'image/webp';
    width: number;
    height: number;
    bytes: Uint8Array<ArrayBuffer>;
  };
}

const FONTS = {
  system: "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
  serif: "Georgia, 'Times New Roman', serif",
  mono: "ui-monospace, Menlo, Consolas, 'Courier New', monospace",
};

/** The largest size of a logo, in pixels. */
const MAX_LOGO_SIZE = { width: 224, height: 48 };

/** Tells whether a brand has colours. Without them, a mail has those of the mail program, in light and dark mode. */
const hasColours = ({ background, text_color }: MailTheme): boolean =>
  background !== undefined || text_color !== undefined;

const chooseColours = (theme: MailTheme) => ({
  background: theme.background ?? STANDARD_COLOURS.background,
  text: theme.text_color ?? STANDARD_COLOURS.text_color,
  primary: theme.primary_color ?? STANDARD_COLOURS.primary_color,
});

/**
 * Formats the background colour as part of an inline style (mail programs drop style sheets); empty for a brand without
 * colours.
 */
export const formatBackgroundStyle = (theme: MailTheme): string =>
  hasColours(theme) ? `; background-color: ${chooseColours(theme).background}` : '';

export const formatTextStyle = (theme: MailTheme): string =>
  `font-family: ${FONTS[theme.font ?? 'system']}; font-size: 16px; line-height: 1.5${hasColours(theme) ? `; color: ${chooseColours(theme).text}` : ''}`;

export function formatButtonStyle(theme: MailTheme): string {
  const { primary } = chooseColours(theme);
  const radius = Math.min(theme.radius ?? 6, 24);
  return `display: inline-block; padding: 10px 20px; border-radius: ${radius}px; background-color: ${primary}; color: ${chooseTextColour(primary)}; text-decoration: none`;
}

/** Builds the header of a mail: the company's logo, or else its name for outsiders. */
export function buildHeader({ logo, name, ...theme }: MailTheme, escapeText: (text: string) => string): string[] {
  const escapedName = name === undefined ? '' : escapeText(name);
  if (logo) {
    const scale = Math.min(1, MAX_LOGO_SIZE.width / logo.width, MAX_LOGO_SIZE.height / logo.height);
    const [width, height] = [logo.width, logo.height].map((side) => Math.max(1, Math.round(side * scale)));
    return [
      `<p style="margin: 0 0 24px"><img src="cid:logo" alt="${escapedName}" width="${width}" height="${height}" style="border: 0"></p>`,
    ];
  }
  if (escapedName === '') return [];
  const colour = hasColours(theme) ? `; color: ${chooseColours(theme).primary}` : '';
  return [`<p style="margin: 0 0 24px; font-size: 20px; font-weight: bold${colour}">${escapedName}</p>`];
}

export const toInlinePicture = ({ type, bytes }: NonNullable<MailTheme['logo']>): InlinePicture => ({
  contentId: 'logo',
  filename: `logo.${type.slice('image/'.length)}`,
  type,
  content: bytes,
});
