import type { Locale } from '../../kernel/locales.ts';
import type { Mail } from '../../platform/mail.ts';

/** The content of a mail: paragraphs, and between them a code or a link. */
export interface Content {
  to: string;
  locale: Locale;
  subject: string;
  greeting: string;
  before: string;
  /** A code to type, or a link to open. */
  code?: string;
  link?: { label: string; url: string };
  /** Further paragraphs; the last tells what to do if one did not ask for this. */
  after: string[];
}

/** The mail in plain text and in HTML. */
export function compose({ to, locale, subject, greeting, before, code, link, after }: Content): Mail {
  const text = [greeting, before, ...(code ? [code] : []), ...(link ? [link.url] : []), ...after].map((paragraph) =>
    oneLine(paragraph),
  );
  const html = [
    paragraph(greeting),
    paragraph(before),
    ...(code ? [`<p style="${CODE}">${escapeHtml(code)}</p>`] : []),
    ...(link
      ? [
          `<p><a href="${escapeHtml(link.url)}" style="${BUTTON}">${escapeHtml(oneLine(link.label))}</a></p>`,
          plainLink(link.url),
        ]
      : []),
    ...after.map(paragraph),
  ];
  return {
    to,
    subject: oneLine(subject),
    text: `${text.join('\n\n')}\n`,
    html: `<!doctype html>
<html lang="${locale}">
<head><meta charset="utf-8"><title>${escapeHtml(oneLine(subject))}</title></head>
<body style="${BODY}">
${html.join('\n')}
</body>
</html>
`,
  };
}

const BODY = 'font-family: system-ui, sans-serif; font-size: 16px; line-height: 1.5; max-width: 36em; margin: 2em auto';
const CODE = 'font-family: ui-monospace, monospace; font-size: 28px; letter-spacing: 0.2em; margin: 1em 0';
const BUTTON =
  'display: inline-block; padding: 0.6em 1.2em; border-radius: 6px; background: #1a56db; color: #ffffff; text-decoration: none';

const paragraph = (text: string): string => `<p>${escapeHtml(oneLine(text))}</p>`;

/** For those whose mail program shows no button. */
const plainLink = (url: string): string => `<p style="word-break: break-all; font-size: 14px">${escapeHtml(url)}</p>`;

/** Users choose names: they must not add lines, least of all to a header. */
const oneLine = (text: string): string => text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] as string);
