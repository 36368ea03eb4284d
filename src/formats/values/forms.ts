/** A form is a way to write values, one bit. A column keeps those that all its values share, so rows only narrow it. */

/** An integer within 64 bits. */
export const INTEGER = 1 << 0;
/** `1234.56` */
export const POINT_DECIMAL = 1 << 1;
/** `1234,56` */
export const COMMA_DECIMAL = 1 << 2;
/** `1.234,56` */
export const DOT_GROUPS = 1 << 3;
/** `1,234.56` */
export const COMMA_GROUPS = 1 << 4;
export const DECIMALS = POINT_DECIMAL | COMMA_DECIMAL | DOT_GROUPS | COMMA_GROUPS;
/** The decimal forms by their decimal separator: all forms of one separator give a value the same meaning. */
export const DECIMAL_POINT = POINT_DECIMAL | COMMA_GROUPS;
export const DECIMAL_COMMA = COMMA_DECIMAL | DOT_GROUPS;

export const TRUE_FALSE = 1 << 5;
export const YES_NO = 1 << 6;
export const SIM_NAO = 1 << 7;
export const VERDADEIRO_FALSO = 1 << 8;
export const T_F = 1 << 9;
export const Y_N = 1 << 10;
export const S_N = 1 << 11;
export const V_F = 1 << 12;
export const ONE_ZERO = 1 << 13;
export const WORDS = TRUE_FALSE | YES_NO | SIM_NAO | VERDADEIRO_FALSO;
export const LETTERS = T_F | Y_N | S_N | V_F;
export const BOOLEANS = WORDS | LETTERS | ONE_ZERO;

/** First of 15 date bits: of three orders (ymd; dmy, mdy with four and two year digits) with `-`, `/` or `.`. */
const FIRST_DATE = 14;
/** The bit of an order (0 ymd, 1 dmy, 2 mdy, 3 dmy two digits, 4 mdy two digits) and a separator of `-/.`. */
export const dateForm = (order: number, separator: number): number => 1 << (FIRST_DATE + order * 3 + separator);
export const DATES = ((1 << 15) - 1) << FIRST_DATE;
export const YMD = 7 << FIRST_DATE;
export const DMY = (7 << (FIRST_DATE + 3)) | (7 << (FIRST_DATE + 9));
export const MDY = (7 << (FIRST_DATE + 6)) | (7 << (FIRST_DATE + 12));

/** A plus sign and eight digits or more, as international telephone numbers are written; the value has forms of numbers besides. */
export const TELEPHONE = 1 << 29;

/** All forms: those of a column before its first value. */
export const ALL_FORMS = INTEGER | DECIMALS | BOOLEANS | DATES | TELEPHONE;

/** Not a form: stands for a value that consists of spaces. */
export const BLANK = 1 << 30;

/** Traits: properties of a value besides its forms. */
export const HAS_TIME = 1;
export const HAS_TRUE = 2;
export const HAS_FALSE = 4;
export const HAS_OFFSET = 8;
/** Spaces that Postgres does not skip (no-break space and the like). */
export const HAS_WIDE_SPACE = 16;
/** The value has seconds, or a fraction of a second. Only decides whether the name of the format includes seconds. */
export const HAS_SECONDS = 32;
export const HAS_FRACTION = 64;
/** A time after `T`, or with an offset after a space: Postgres does not read it after every order of the date. */
export const HAS_T = 128;
/** A day of year 1 or 9999, which a time zone may move out of the supported years. */
export const HAS_EDGE = 256;

const DATE_NAMES = ['yyyy-mm-dd', 'd-m-yyyy', 'm-d-yyyy', 'd-m-yy', 'm-d-yy'];
const SEPARATORS = ['-', '/', '.'];

/** Names of the formats by their bit, as `evidence` reports them, in order of preference. */
const NAMES: [number, string][] = [
  [INTEGER, 'integer'],
  [POINT_DECIMAL, '1234.56'],
  [COMMA_DECIMAL, '1234,56'],
  [COMMA_GROUPS, '1,234.56'],
  [DOT_GROUPS, '1.234,56'],
  [TRUE_FALSE, 'true/false'],
  [YES_NO, 'yes/no'],
  [SIM_NAO, 'sim/não'],
  [VERDADEIRO_FALSO, 'verdadeiro/falso'],
  [T_F, 't/f'],
  [Y_N, 'y/n'],
  [S_N, 's/n'],
  [V_F, 'v/f'],
  [ONE_ZERO, '1/0'],
  ...DATE_NAMES.flatMap((name, order): [number, string][] =>
    SEPARATORS.map((separator, index) => [dateForm(order, index), name.replaceAll('-', separator)]),
  ),
];

export const formName = (forms: number): string => NAMES.find(([bit]) => (forms & bit) !== 0)?.[1] ?? 'text';

/** The form that a format's name begins with (a datetime's name has the time after the date); 0 for text. */
export function parseForm(format: string): number {
  const date = format.split(' ')[0];
  return NAMES.find(([, name]) => name === date)?.[0] ?? 0;
}
