/** Number format of a cell, reduced to what makes the number display as something else. */
export type NumberFormat =
  /** `time` is a time of day, `span` may be more than a day. */
  | { kind: 'number' | 'date' | 'datetime' | 'time' | 'span' }
  /** A code with leading zeros: `00000-000`, with `#` for each digit. */
  | { kind: 'code'; pattern: string; digitCount: number };

export const NUMBER_FORMAT: NumberFormat = { kind: 'number' };
const DATE_FORMAT: NumberFormat = { kind: 'date' };
const DATETIME_FORMAT: NumberFormat = { kind: 'datetime' };
const TIME_FORMAT: NumberFormat = { kind: 'time' };
const DURATION_FORMAT: NumberFormat = { kind: 'span' };

/** Finds a format that every workbook has without defining it (ECMA-376 part 1, 18.8.30), East Asia's included. */
export function findBuiltinFormat(id: number): NumberFormat {
  if ((id >= 14 && id <= 17) || (id >= 27 && id <= 31) || (id >= 50 && id <= 58) || id === 36) return DATE_FORMAT;
  if ((id >= 18 && id <= 21) || (id >= 32 && id <= 35)) return TIME_FORMAT;
  if (id === 22) return DATETIME_FORMAT;
  if (id === 45 || id === 47) return TIME_FORMAT;
  return id === 46 ? DURATION_FORMAT : NUMBER_FORMAT;
}

/** Maximum number of digits of a code: a number has no more. */
const MAX_DIGITS = 30;

/** Parses a format that the workbook defines, as it applies to positive numbers. */
export function parseCustomFormat(code: string): NumberFormat {
  const section = readFirstSection(code);
  const letters = section.toLowerCase();
  if (/\[(?:h+|m+|s+)\]/.test(letters)) return DURATION_FORMAT;
  // Conditions, colours and currencies stand in brackets.
  const plainLetters = letters.replace(/\[[^[\]]*\]/g, '');
  if (!/general|[0#?]/.test(plainLetters.replace(/(?:s|ss)[.,]0+/g, 's'))) {
    const hasDay = /[yd]/.test(plainLetters) || /(?:^|[^hs:])m{3,}/.test(plainLetters) || isMonthOnly(plainLetters);
    const hasTime = /[hs]/.test(plainLetters);
    if (hasDay) return hasTime ? DATETIME_FORMAT : DATE_FORMAT;
    if (hasTime) return TIME_FORMAT;
  }
  const pattern = section.replace(/\[[^[\]]*\]/g, '');
  const digits = pattern.split('0').length - 1;
  const isCode =
    /^[0\-./ ()]+$/.test(pattern) &&
    /^0/.test(pattern) &&
    digits > 1 &&
    digits <= MAX_DIGITS &&
    !/^0+\.0*$/.test(pattern);
  return isCode ? { kind: 'code', pattern: pattern.replaceAll('0', '#'), digitCount: digits } : NUMBER_FORMAT;
}

const isMonthOnly = (letters: string): boolean => /m/.test(letters) && !/[hs]/.test(letters);

/** Returns the part before the first `;` outside literals, without the literals' quotes and backslashes. */
function readFirstSection(code: string): string {
  let section = '';
  for (let at = 0; at < code.length; at++) {
    const character = code[at] as string;
    if (character === ';') break;
    if (character === '"') {
      const end = code.indexOf('"', at + 1);
      if (end < 0) break;
      // A literal has no meaning: it becomes blanks, except for a code's separators.
      section += code.slice(at + 1, end).replace(/[^\-./ ()]/g, ' ');
      at = end;
    } else if (character === '\\' || character === '!') section += (code[++at] ?? '').replace(/[^\-./ ()]/g, ' ');
    else if (character === '_' || character === '*') at++;
    else section += character;
  }
  return section.trim();
}
