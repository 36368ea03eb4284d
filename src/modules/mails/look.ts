import { type Branding, STANDARD_COLOURS } from '../../kernel/branding.ts';
import { inkOn } from '../../kernel/colours.ts';
import type { InlinePicture } from '../../platform/mail.ts';

/** What mails have of a company's brand. */
export interface MailLook extends Branding {
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

/** Of a logo, in pixels. */
const LARGEST = { width: 224, height: 48 };

/** Without colours of its own a mail has those of the program that shows it, by day and by night. */
const hasGround = ({ background, text_color }: MailLook): boolean =>
  background !== undefined || text_color !== undefined;

const coloursOf = (look: MailLook) => ({
  background: look.background ?? STANDARD_COLOURS.background,
  text: look.text_color ?? STANDARD_COLOURS.text_color,
  primary: look.primary_color ?? STANDARD_COLOURS.primary_color,
});

/** Styles stand in the elements: mail programs drop all others. */
export const groundStyle = (look: MailLook): string =>
  hasGround(look) ? `; background-color: ${coloursOf(look).background}` : '';

export const textStyle = (look: MailLook): string =>
  `font-family: ${FONTS[look.font ?? 'system']}; font-size: 16px; line-height: 1.5${hasGround(look) ? `; color: ${coloursOf(look).text}` : ''}`;

export function buttonStyle(look: MailLook): string {
  const { primary } = coloursOf(look);
  const radius = Math.min(look.radius ?? 6, 24);
  return `display: inline-block; padding: 10px 20px; border-radius: ${radius}px; background-color: ${primary}; color: ${inkOn(primary)}; text-decoration: none`;
}

/** The company's logo, else the name it gave itself. */
export function headOf({ logo, name, ...look }: MailLook, escaped: (text: string) => string): string[] {
  const shown = name === undefined ? '' : escaped(name);
  if (logo) {
    const scale = Math.min(1, LARGEST.width / logo.width, LARGEST.height / logo.height);
    const [width, height] = [logo.width, logo.height].map((side) => Math.max(1, Math.round(side * scale)));
    return [
      `<p style="margin: 0 0 24px"><img src="cid:logo" alt="${shown}" width="${width}" height="${height}" style="border: 0"></p>`,
    ];
  }
  if (shown === '') return [];
  const colour = hasGround(look) ? `; color: ${coloursOf(look).primary}` : '';
  return [`<p style="margin: 0 0 24px; font-size: 20px; font-weight: bold${colour}">${shown}</p>`];
}

export const pictureOf = ({ type, bytes }: NonNullable<MailLook['logo']>): InlinePicture => ({
  contentId: 'logo',
  filename: `logo.${type.slice('image/'.length)}`,
  type,
  content: bytes,
});
