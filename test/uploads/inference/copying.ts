/** The options of COPY that a plan gives, as far as they say how to split text. */
function parseCopyOptions(text: string): { delimiter: string; quote: string; escaping: string } {
  const option = (name: string): string => {
    const value = new RegExp(`${name} (E'\\\\x0(.)'|'(''|.)')`).exec(text) as RegExpExecArray;
    return value[2] ? String.fromCharCode(Number(value[2])) : value[3] === "''" ? "'" : (value[3] as string);
  };
  return { delimiter: option('DELIMITER'), quote: option('QUOTE'), escaping: option('ESCAPE') };
}

/**
 * COPY's CSV form as rows of values, split as Postgres does it (CopyReadLineText, CopyReadAttributesCSV): a quote opens
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
    const sign = text[at] as string;
    const next = text[at + 1];
    if (inQuotes) {
      if (sign === escaping && (next === quote || next === escaping)) value += text[++at];
      else if (sign === quote) inQuotes = false;
      else value += sign;
    } else if (sign === quote) inQuotes = true;
    else if (sign === delimiter) endValue();
    else if (sign === '\n' || sign === '\r') {
      if (sign === '\r' && next === '\n') at++;
      endValue();
      rows.push(row);
      row = [];
    } else value += sign;
  }
  if (row.length > 0 || value !== '') {
    endValue();
    rows.push(row);
  }
  return rows;
}
