/** Parses the options of COPY in a load plan, as far as they define how text is split. */
function parseCopyOptions(text: string): { delimiter: string; quote: string; escaping: string } {
  const readOption = (name: string): string => {
    const value = new RegExp(`${name} (E'\\\\x0(.)'|'(''|.)')`).exec(text) as RegExpExecArray;
    return value[2] ? String.fromCharCode(Number(value[2])) : value[3] === "''" ? "'" : (value[3] as string);
  };
  return { delimiter: readOption('DELIMITER'), quote: readOption('QUOTE'), escaping: readOption('ESCAPE') };
}

/**
 * Parses COPY's CSV format to rows of values, split as Postgres does it (CopyReadLineText, CopyReadAttributesCSV): a quote opens
 * and closes anywhere in a field, and the escape counts within quotes only. Empty values are null (FORCE_NULL).
 */
export function parseCopyCsv(text: string, copyOptions: string): (string | null)[][] {
  const { delimiter, quote, escaping } = parseCopyOptions(copyOptions);
  const rows: (string | null)[][] = [];
  let row: (string | null)[] = [];
  let value = '';
  let inQuotes = false;
  const endValue = () => {
    row.push(value === '' ? null : value);
    value = '';
  };
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string;
    const next = text[at + 1];
    if (inQuotes) {
      if (character === escaping && (next === quote || next === escaping)) value += text[++at];
      else if (character === quote) inQuotes = false;
      else value += character;
    } else if (character === quote) inQuotes = true;
    else if (character === delimiter) endValue();
    else if (character === '\n' || character === '\r') {
      if (character === '\r' && next === '\n') at++;
      endValue();
      rows.push(row);
      row = [];
    } else value += character;
  }
  if (row.length > 0 || value !== '') {
    endValue();
    rows.push(row);
  }
  return rows;
}
