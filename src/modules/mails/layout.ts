import { escapeHtml } from '../../kernel/text.ts';
import type { Mail } from '../../platform/mail.ts';
import type { Locale } from '../../texts/locales.ts';
import { type Section, sectionHtml, sectionText } from './sections.ts';
import { backgroundStyle, buildHeader, buttonStyle, type MailTheme, textStyle, toInlinePicture } from './theme.ts';
import { oneLine } from './user-text.ts';

/** A paragraph that ends with a link. */
interface Linked {
  text: string;
  link: { label: string; url: string };
}

/** The content of a mail: paragraphs, and between them a code or a link. */
export interface Content {
  to: string;
  locale: Locale;
  theme?: MailTheme;
  subject: string;
  greeting: string;
  before: string;
  /** A code to type, or a link to open. */
  code?: string;
  link?: { label: string; url: string };
  /** Results. */
  sections?: Section[];
  /** Further paragraphs; the last tells what to do if one did not ask for this. */
  after: (string | Linked)[];
  /** Text in small type: why one gets the mail, and how not to. */
  footer?: Linked;
}

/** The mail in plain text and in HTML. */
export function compose(content: Content): Mail {
  const { to, locale, theme = {}, subject, greeting, before, code, link, sections = [], after, footer } = content;
  const lines = [greeting, before, ...(code ? [code] : []), ...(link ? [link.url] : [])].map(oneLine);
  const text = [
    ...lines,
    ...sections.map(sectionText),
    ...after.map((each) => (typeof each === 'string' ? oneLine(each) : linkedText(each))),
    ...(footer ? [linkedText(footer)] : []),
  ];
  const html = [
    paragraph(greeting),
    paragraph(before),
    ...(code ? [`<p style="${CODE}">${escapeHtml(code)}</p>`] : []),
    ...(link
      ? [
          `<p><a href="${escapeHtml(link.url)}" style="${buttonStyle(theme)}">${escapeHtml(oneLine(link.label))}</a></p>`,
          plainLink(link.url),
        ]
      : []),
    ...sections.map(sectionHtml),
    ...after.map((each) => (typeof each === 'string' ? paragraph(each) : `<p>${linkedHtml(each)}</p>`)),
    ...(footer ? [`<p style="margin: 32px 0 0; font-size: 13px">${linkedHtml(footer)}</p>`] : []),
  ];
  return {
    to,
    subject: oneLine(subject),
    text: `${text.join('\n\n')}\n`,
    ...(theme.logo && { pictures: [toInlinePicture(theme.logo)] }),
    html: `<!doctype html>
<html lang="${locale}">
<head><meta charset="utf-8"><title>${escapeHtml(oneLine(subject))}</title></head>
<body style="margin: 0; padding: 0${backgroundStyle(theme)}">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="${WIDTH}${backgroundStyle(theme)}"><tr><td align="center" style="padding: 24px 16px">
<table role="presentation" cellpadding="0" cellspacing="0" border="0" style="${WIDTH}; max-width: 576px"><tr><td align="left" style="${textStyle(theme)}">
${[...buildHeader(theme, escapeHtml), ...html].join('\n')}
</td></tr></table>
</td></tr></table>
</body>
</html>
`,
  };
}

/** The style of a table that keeps the mail's width whatever its content: content wider than a phone scrolls by itself. */
const WIDTH = 'width: 100%; table-layout: fixed';

const CODE = 'font-family: ui-monospace, monospace; font-size: 28px; letter-spacing: 0.2em; margin: 1em 0';

const paragraph = (text: string): string => `<p>${escapeHtml(oneLine(text))}</p>`;

const linkedText = ({ text, link }: Linked): string => `${oneLine(text)}\n${oneLine(link.label)}: ${link.url}`;

const linkedHtml = ({ text, link }: Linked): string =>
  `${escapeHtml(oneLine(text))} <a href="${escapeHtml(link.url)}" style="color: inherit">${escapeHtml(oneLine(link.label))}</a>`;

/** The address as text, for those whose mail program shows no button. */
const plainLink = (url: string): string => `<p style="word-break: break-all; font-size: 14px">${escapeHtml(url)}</p>`;
