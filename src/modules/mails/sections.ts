import { escapeHtml, shorten } from '../../kernel/text.ts';
import { toOneLine, toOutsiderText } from './user-text.ts';

interface TableColumn {
  name: string;
  isNumber: boolean;
}

/** A result in a mail: large numbers or a table, with notes. */
export interface MailSection {
  title: string;
  numbers?: { label: string; text: string }[];
  table?: { columns: TableColumn[]; rows: string[][] };
  notes: string[];
}

/** Inline styles of the elements: mail programs drop style sheets. The border colour is visible in light and dark mode. */
const BORDER_STYLE = 'border-bottom: 1px solid #8b93a7';
const STYLES = {
  title: 'margin: 28px 0 8px; font-size: 18px; line-height: 1.3',
  label: 'font-size: 13px; padding: 0 24px 0 0',
  number: 'font-size: 28px; font-weight: bold; padding: 0 24px 8px 0',
  scroll: 'overflow-x: auto',
  table: 'border-collapse: collapse; font-size: 14px; line-height: 1.4',
  cell: `padding: 4px 12px 4px 0; ${BORDER_STYLE}; vertical-align: top`,
  note: 'margin: 8px 0 0; font-size: 13px',
};

const escapeLine = (text: string): string => escapeHtml(toOneLine(text));

/** Returns the number of bytes of a section in a mail. */
export const measureSection = (section: MailSection): number =>
  new TextEncoder().encode(formatSectionHtml(section)).length;

export function formatSectionHtml({ title, numbers, table, notes }: MailSection): string {
  return [
    `<h2 style="${STYLES.title}">${escapeLine(title)}</h2>`,
    ...(numbers ? [formatNumbersHtml(numbers)] : []),
    ...(table ? [formatTableHtml(table)] : []),
    ...notes.map((note) => `<p style="${STYLES.note}">${escapeLine(note)}</p>`),
  ].join('\n');
}

/** Returns a section for mails to outsiders: without web addresses, so that users of the company cannot insert links. */
export const toOutsiderSection = ({ title, numbers, table, notes }: MailSection): MailSection => ({
  title: toOutsiderText(title),
  ...(numbers && {
    numbers: numbers.map(({ label, text }) => ({ label: toOutsiderText(label), text: toOutsiderText(text) })),
  }),
  ...(table && {
    table: {
      columns: table.columns.map((column) => ({ ...column, name: toOutsiderText(column.name) })),
      rows: table.rows.map((row) => row.map(toOutsiderText)),
    },
  }),
  notes,
});

const buildRow = (cells: string[]): string => `<tr>${cells.join('')}</tr>`;

/** Formats the numbers as a table, one below the other: phones are narrow. */
function formatNumbersHtml(numbers: NonNullable<MailSection['numbers']>): string {
  const rows = numbers.flatMap(({ label, text }) => [
    ...(label === '' ? [] : [buildRow([`<td style="${STYLES.label}">${escapeLine(label)}</td>`])]),
    buildRow([`<td style="${STYLES.number}">${escapeLine(text)}</td>`]),
  ]);
  return `<table role="presentation" cellpadding="0" cellspacing="0" border="0">${rows.join('')}</table>`;
}

function formatTableHtml({ columns, rows }: NonNullable<MailSection['table']>): string {
  const buildCell = (tag: string, text: string, at: number) => {
    // Lines break where they may: a phone shows the whole width.
    const textAlign = columns[at]?.isNumber ? 'right' : 'left';
    const style = `${STYLES.cell}; text-align: ${textAlign}`;
    return `<${tag} align="${textAlign}" style="${style}">${escapeLine(text)}</${tag.split(' ')[0]}>`;
  };
  const head = columns.map(({ name }, at) => buildCell('th scope="col"', name, at));
  const body = rows.map((row) => buildRow(row.map((cell, at) => buildCell('td', cell, at))));
  return `<div style="${STYLES.scroll}"><table cellpadding="0" cellspacing="0" border="0" style="${STYLES.table}"><thead>${buildRow(head)}</thead><tbody>
${body.join('\n')}
</tbody></table></div>`;
}

/** The width of a narrow table in characters: two columns fit beside each other on a phone. */
const MAX_NARROW_TABLE_CHARACTERS = 30;

export function formatSectionText({ title, numbers, table, notes }: MailSection): string {
  return [
    toOneLine(title).toUpperCase(),
    ...(numbers ?? []).map(({ label, text }) =>
      label === '' ? toOneLine(text) : `${toOneLine(label)}: ${toOneLine(text)}`,
    ),
    ...(table ? formatTableLines(table) : []),
    ...notes.map(toOneLine),
  ].join('\n');
}

/** Returns lines of aligned columns, with numbers at the right. */
function formatTableLines({ columns, rows }: NonNullable<MailSection['table']>): string[] {
  const lines = [columns.map(({ name }) => name), ...rows].map((row) =>
    row.map((cell) => shorten(toOneLine(cell), MAX_NARROW_TABLE_CHARACTERS)),
  );
  const columnWidths = columns.map((_column, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  const buildLine = (line: string[]) =>
    line
      .map((cell, at) =>
        columns[at]?.isNumber ? cell.padStart(columnWidths[at] ?? 0) : cell.padEnd(columnWidths[at] ?? 0),
      )
      .join('  ')
      .trimEnd();
  const [head = [], ...body] = lines;
  return [buildLine(head), columnWidths.map((width) => '-'.repeat(width)).join('  '), ...body.map(buildLine)];
}
