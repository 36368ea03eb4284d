/** The display of a number by its cell's format, reduced to what makes it something else than a number. */
export type NumberFormat =
  | { kind: 'number' }
  | { kind: 'date' }
  | { kind: 'datetime' }
  /** A time of day, or a span of more than a day. */
  | { kind: 'time' }
  | { kind: 'span' }
  /** A code with leading zeros: `00000-000`, with `#` for each digit. */
  | { kind: 'code'; pattern: string; digits: number };

export const NUMBER: NumberFormat = { kind: 'number' };
const DATE: NumberFormat = { kind: 'date' };
const DATETIME: NumberFormat = { kind: 'datetime' };
const TIME: NumberFormat = { kind: 'time' };
const SPAN: NumberFormat = { kind: 'span' };

/** Formats that every workbook has without defining them (ECMA-376 part 1, 18.8.30), those of East Asia included. */
export function builtinFormat(id: number): NumberFormat {
  if ((id >= 14 && id <= 17) || (id >= 27 && id <= 31) || (id >= 50 && id <= 58) || id === 36) return DATE;
  if ((id >= 18 && id <= 21) || (id >= 32 && id <= 35)) return TIME;
  if (id === 22) return DATETIME;
  if (id === 45 || id === 47) return TIME;
  return id === 46 ? SPAN : NUMBER;
}

/** A format with more digits than a number has is not a code. */
const MAX_DIGITS = 30;

/** Parses a format that the workbook defines, as it applies to positive numbers. */
export function customFormat(code: string): NumberFormat {
  const section = firstSection(code);
  const letters = section.toLowerCase();
  if (/\[(?:h+|m+|s+)\]/.test(letters)) return SPAN;
  // Conditions, colours and currencies stand in brackets.
  const plain = letters.replace(/\[[^[\]]*\]/g, '');
  if (!/general|[0#?]/.test(plain.replace(/(?:s|ss)[.,]0+/g, 's'))) {
    const day = /[yd]/.test(plain) || /(?:^|[^hs:])m{3,}/.test(plain) || isMonthAlone(plain);
    const time = /[hs]/.test(plain);
    if (day) return time ? DATETIME : DATE;
    if (time) return TIME;
  }
  const pattern = section.replace(/\[[^[\]]*\]/g, '');
  const digits = pattern.split('0').length - 1;
  const isCode =
    /^[0\-./ ()]+$/.test(pattern) &&
    /^0/.test(pattern) &&
    digits > 1 &&
    digits <= MAX_DIGITS &&
    !/^0+\.0*$/.test(pattern);
  return isCode ? { kind: 'code', pattern: pattern.replaceAll('0', '#'), digits } : NUMBER;
}

const isMonthAlone = (plain: string): boolean => /m/.test(plain) && !/[hs]/.test(plain);

/** The part before the first `;` outside literals, without the literals' quotes and backslashes. */
function firstSection(code: string): string {
  let section = '';
  for (let at = 0; at < code.length; at++) {
    const sign = code[at] as string;
    if (sign === ';') break;
    if (sign === '"') {
      const end = code.indexOf('"', at + 1);
      if (end < 0) break;
      // A literal has no meaning: it becomes blanks, except for a code's separators.
      section += code.slice(at + 1, end).replace(/[^\-./ ()]/g, ' ');
      at = end;
    } else if (sign === '\\' || sign === '!') section += (code[++at] ?? '').replace(/[^\-./ ()]/g, ' ');
    else if (sign === '_' || sign === '*') at++;
    else section += sign;
  }
  return section.trim();
}
