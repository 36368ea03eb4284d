import { escapeHtml } from '../../kernel/text.ts';
import type { Mail } from '../../platform/mail.ts';
import type { Locale } from '../../texts/locales.ts';
import { formatSectionHtml, formatSectionText, type MailSection } from './sections.ts';
import {
  buildHeader,
  formatBackgroundStyle,
  formatButtonStyle,
  formatTextStyle,
  type MailTheme,
  toInlinePicture,
} from './theme.ts';
import { toOneLine } from './user-text.ts';

/** A paragraph that ends with a link. */
interface LinkParagraph {
  text: string;
  link: { label: string; url: string };
}

/** The content of a mail: paragraphs, and between them a code or a link. */
export interface MailContent {
  to: string;
  locale: Locale;
  theme?: MailTheme;
  subject: string;
  greeting: string;
  introduction: string;
  /** A code to type. */
  code?: string;
  /** A link to open. */
  link?: { label: string; url: string };
  /** Sections with results. */
  sections?: MailSection[];
  /** Further paragraphs; the last says what to do if the recipient did not ask for the mail. */
  closingParagraphs: (string | LinkParagraph)[];
  /** Text in small type: why the recipient gets the mail, and how to stop it. */
  footer?: LinkParagraph;
}

/** Composes the mail in plain text and in HTML. */
export function composeMail(content: MailContent): Mail {
  const { to, locale, subject, greeting, introduction, code, link, closingParagraphs, footer } = content;
  const { theme = {}, sections = [] } = content;
  const lines = [greeting, introduction, ...(code ? [code] : []), ...(link ? [link.url] : [])].map(toOneLine);
  const text = [
    ...lines,
    ...sections.map(formatSectionText),
    ...closingParagraphs.map((paragraph) =>
      typeof paragraph === 'string' ? toOneLine(paragraph) : formatLinkText(paragraph),
    ),
    ...(footer ? [formatLinkText(footer)] : []),
  ];
  const html = [
    formatParagraph(greeting),
    formatParagraph(introduction),
    ...(code ? [`<p style="${CODE_STYLE}">${escapeHtml(code)}</p>`] : []),
    ...(link
      ? [
          `<p><a href="${escapeHtml(link.url)}" style="${formatButtonStyle(theme)}">${escapeHtml(toOneLine(link.label))}</a></p>`,
          formatPlainLink(link.url),
        ]
      : []),
    ...sections.map(formatSectionHtml),
    ...closingParagraphs.map((paragraph) =>
      typeof paragraph === 'string' ? formatParagraph(paragraph) : `<p>${formatLinkHtml(paragraph)}</p>`,
    ),
    ...(footer ? [`<p style="margin: 32px 0 0; font-size: 13px">${formatLinkHtml(footer)}</p>`] : []),
  ];
  return {
    to,
    subject: toOneLine(subject),
    text: `${text.join('\n\n')}\n`,
    ...(theme.logo && { pictures: [toInlinePicture(theme.logo)] }),
    html: `<!doctype html>
<html lang="${locale}">
<head><meta charset="utf-8"><title>${escapeHtml(toOneLine(subject))}</title></head>
<body style="margin: 0; padding: 0${formatBackgroundStyle(theme)}">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="${WIDTH_STYLE}${formatBackgroundStyle(theme)}"><tr><td align="center" style="padding: 24px 16px">
<table role="presentation" cellpadding="0" cellspacing="0" border="0" style="${WIDTH_STYLE}; max-width: 576px"><tr><td align="left" style="${formatTextStyle(theme)}">
${[...buildHeader(theme, escapeHtml), ...html].join('\n')}
</td></tr></table>
</td></tr></table>
</body>
</html>
`,
  };
}

/** The style of a table that keeps the mail's width whatever its content: content wider than a phone scrolls on its own. */
const WIDTH_STYLE = 'width: 100%; table-layout: fixed';

const CODE_STYLE = 'font-family: ui-monospace, monospace; font-size: 28px; letter-spacing: 0.2em; margin: 1em 0';

const formatParagraph = (text: string): string => `<p>${escapeHtml(toOneLine(text))}</p>`;

const formatLinkText = ({ text, link }: LinkParagraph): string =>
  `${toOneLine(text)}\n${toOneLine(link.label)}: ${link.url}`;

const formatLinkHtml = ({ text, link }: LinkParagraph): string =>
  `${escapeHtml(toOneLine(text))} <a href="${escapeHtml(link.url)}" style="color: inherit">${escapeHtml(toOneLine(link.label))}</a>`;

/** Formats the URL as text, for recipients whose mail program shows no button. */
const formatPlainLink = (url: string): string =>
  `<p style="word-break: break-all; font-size: 14px">${escapeHtml(url)}</p>`;
