import { Failure } from '../../kernel/failure.ts';
import { getContentType, makeFileName } from '../../kernel/files.ts';
import { shorten } from '../../kernel/text.ts';
import { readBounded } from '../../platform/bounded.ts';
import type { AttachedFile } from '../../platform/mail.ts';
import {
  type CellFormatters,
  createCellFormatters,
  isNumeric,
  parseNumberStyle,
} from '../../presentation/cell-texts.ts';
import type { UserSqlResult } from '../../tenant-sql/user-sql.ts';
import type { Locale } from '../../texts/locales.ts';
import { MAIL_TEXTS } from '../../texts/mails/languages.ts';
import { type MailSection, measureSection } from '../mails/service.ts';
import { listVisualizations, type SharedItem } from '../viewing/service.ts';
import { type Execution, type Visualization, type WritingOptions, writeResultFile } from '../visualizations/service.ts';

/** The maximum number of rows, columns, characters of a cell, and numbers of a result in a mail. */
const SUMMARY_LIMITS = { rows: 10, columns: 6, characters: 120, numbers: 6 };
/** The maximum size of a mail's sections in bytes: mail programs cut off beyond 102 KB, and with it the unsubscribe link. */
const MAX_SECTIONS_BYTES = 85_000;
const MAX_FILES = 50;

/** A widget and its result or failure. */
export interface Widget {
  visualization: Visualization;
  execution: Execution;
}

/** Returns the widgets in the order of the layout. */
export function toWidgets(item: SharedItem, executions: readonly Execution[]): Widget[] {
  const visualizationsById = new Map(
    listVisualizations(item).map((shownVisualization) => [shownVisualization.id, shownVisualization]),
  );
  return executions.flatMap((execution) => {
    const visualization = visualizationsById.get(execution.visualizationId);
    return visualization ? [{ visualization, execution }] : [];
  });
}

/** The content of a mail: results, files, and notes about them. */
export interface ScheduledMailContent {
  sections: MailSection[];
  notes: string[];
  files: AttachedFile[];
  /** A text that names the files left out. */
  tooLargeText?: string;
}

/** Summarizes the numbers and first rows of each widget, within the limits of mail programs. */
export function summarizeWidgets(widgets: readonly Widget[], locale: Locale): ScheduledMailContent {
  const texts = MAIL_TEXTS[locale];
  const cells = createCellFormatters(locale, texts);
  const sections: MailSection[] = [];
  const omittedTitles: string[] = [];
  let length = 0;
  for (const { visualization, execution } of widgets) {
    const section = buildSection(visualization, execution, locale, cells);
    const size = measureSection(section);
    if (length + size > MAX_SECTIONS_BYTES) omittedTitles.push(visualization.name);
    else {
      length += size;
      sections.push(section);
    }
  }
  return {
    sections,
    notes: omittedTitles.length > 0 ? [texts.schedule.leftOut(omittedTitles.join(', '))] : [],
    files: [],
  };
}

function buildSection(
  { name: title, chart }: Visualization,
  execution: Execution,
  locale: Locale,
  { makeColumnFormats, formatNumber }: CellFormatters,
): MailSection {
  const texts = MAIL_TEXTS[locale].schedule;
  if ('failure' in execution) return { title, notes: [formatFailure(execution, locale)] };
  const { columns, rows, truncated } = execution.result;
  if (rows.length === 0) return { title, notes: [texts.empty] };
  const style = parseNumberStyle(chart.options);
  if (chart.type === 'number') {
    const indexes = listNumberColumns(execution.result, chart.y).slice(0, SUMMARY_LIMITS.numbers);
    if (indexes.length > 0) {
      const numbers = indexes.map((at) => {
        const cell = rows[0]?.[at] ?? null;
        const text = isNumeric(cell) ? formatNumber(cell, style) : shortenText(String(cell ?? '–'));
        return { label: indexes.length > 1 ? shortenText(columns[at]?.name ?? '') : '', text };
      });
      return { title, numbers, notes: [] };
    }
  }
  const firstRows = rows.slice(0, SUMMARY_LIMITS.rows);
  const formats = makeColumnFormats({ columns: columns.slice(0, SUMMARY_LIMITS.columns), rows }, chart);
  const [more, wide] = [rows.length - firstRows.length, columns.length - formats.length];
  return {
    title,
    table: {
      columns: columns
        .slice(0, SUMMARY_LIMITS.columns)
        .map(({ name, type }) => ({ name: shortenText(name), isNumber: type === 'integer' || type === 'decimal' })),
      rows: firstRows.map((row) => formats.map((format, at) => shortenText(format(row[at] ?? null)))),
    },
    notes: [
      ...(more > 0 ? [truncated ? texts.atLeastMoreRows(more) : texts.moreRows(more)] : []),
      ...(wide > 0 ? [texts.moreColumns(wide)] : []),
    ],
  };
}

/** Returns the text for a widget without a result. */
function formatFailure(execution: Execution, locale: Locale): string {
  const { notShown, failed } = MAIL_TEXTS[locale].schedule;
  return 'failure' in execution && execution.failure.kind === 'forbidden' ? notShown : failed;
}

/** Returns the columns that a number widget shows: the columns that it names, else all columns of numbers. */
function listNumberColumns({ columns }: UserSqlResult, namedColumns: readonly string[]): number[] {
  const allIndexes = columns.map((_column, at) => at);
  if (namedColumns.length > 0) return allIndexes.filter((at) => namedColumns.includes(columns[at]?.name ?? ''));
  return allIndexes.filter((at) => columns[at]?.type === 'integer' || columns[at]?.type === 'decimal');
}

const shortenText = (text: string): string => shorten(text, SUMMARY_LIMITS.characters);

/** Makes a file of each table, or of each widget if there are no tables; a result beyond the remaining bytes is summarized. */
export async function attachFiles(
  item: SharedItem,
  widgets: readonly Widget[],
  format: 'csv' | 'xlsx',
  { locale, maxBytes }: { locale: Locale; maxBytes: number },
): Promise<ScheduledMailContent> {
  const texts = MAIL_TEXTS[locale].schedule;
  const tables = widgets.filter(({ visualization }) => visualization.chart.type === 'table');
  const chosenWidgets = item.type === 'dashboard' && tables.length > 0 ? tables : widgets;
  const files: AttachedFile[] = [];
  const sections: MailSection[] = [];
  const tooLargeWidgets: Widget[] = [];
  const names = new Set<string>();
  let remainingBytes = maxBytes;
  for (const widget of chosenWidgets.slice(0, MAX_FILES)) {
    const { execution } = widget;
    const { name: title } = widget.visualization;
    const result = 'result' in execution ? execution.result : undefined;
    const content = result
      ? await writeFile({ format, title, escapesFormulas: true }, result, remainingBytes)
      : 'failed';
    if (content === 'failed') sections.push({ title, notes: [formatFailure(execution, locale)] });
    else if (content === null) tooLargeWidgets.push(widget);
    else {
      remainingBytes -= content.length;
      files.push({ filename: chooseFileName(title, format, names), type: getContentType(format), content });
      if (result?.truncated) sections.push({ title, notes: [texts.cut] });
    }
  }
  const mebibytes = Math.floor((maxBytes / 1024 / 1024) * 10) / 10;
  const summary = summarizeWidgets(tooLargeWidgets, locale);
  return {
    sections: [...sections, ...summary.sections],
    files,
    notes: [
      ...(files.length > 0 ? [texts.attached(files.map(({ filename }) => filename).join(', '))] : []),
      ...summary.notes,
    ],
    ...(tooLargeWidgets.length > 0 && {
      tooLargeText: texts.tooLarge(
        tooLargeWidgets.map(({ visualization }) => visualization.name).join(', '),
        mebibytes,
      ),
    }),
  };
}

/** Returns a file name that is not in use: two widgets may have the same name. */
function chooseFileName(title: string, extension: string, usedNames: Set<string>): string {
  let freeName = makeFileName(title, extension);
  for (let count = 2; usedNames.has(freeName.toLowerCase()); count += 1)
    freeName = makeFileName(`${title} ${count}`, extension);
  usedNames.add(freeName.toLowerCase());
  return freeName;
}

/** Writes a result as a file. @returns null where it exceeds `maxBytes`, `failed` where the format cannot hold it */
async function writeFile(options: WritingOptions, result: UserSqlResult, maxBytes: number) {
  try {
    return await readBounded(writeResultFile(options, result), maxBytes);
  } catch (error) {
    if (error instanceof Failure) return 'failed';
    throw error;
  }
}
