/** Form: a notation of values, one bit. A column keeps the forms that all its values share, so rows only narrow them. */

/** Form of an integer within 64 bits. */
export const INTEGER = 1 << 0;
/** Form of a decimal such as `1234.56`. */
export const POINT_DECIMAL = 1 << 1;
/** Form of a decimal such as `1234,56`. */
export const COMMA_DECIMAL = 1 << 2;
/** Form of a decimal such as `1.234,56`. */
export const DOT_GROUPS = 1 << 3;
/** Form of a decimal such as `1,234.56`. */
export const COMMA_GROUPS = 1 << 4;
export const DECIMALS = POINT_DECIMAL | COMMA_DECIMAL | DOT_GROUPS | COMMA_GROUPS;
/** The decimal forms with a decimal point: a value means the same in all of them. */
export const DECIMAL_POINT = POINT_DECIMAL | COMMA_GROUPS;
/** The decimal forms with a decimal comma: a value means the same in all of them. */
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
export const WORD_BOOLEANS = TRUE_FALSE | YES_NO | SIM_NAO | VERDADEIRO_FALSO;
export const LETTER_BOOLEANS = T_F | Y_N | S_N | V_F;
export const BOOLEANS = WORD_BOOLEANS | LETTER_BOOLEANS | ONE_ZERO;

/** Index of the first of 15 date bits: three orders (ymd; dmy, mdy with four and two year digits) with `-`, `/` or `.`. */
const FIRST_DATE_BIT = 14;
/** Returns the bit of an order (0 ymd, 1 dmy, 2 mdy, 3 dmy two digits, 4 mdy two digits) and a separator of `-/.`. */
export const makeDateForm = (order: number, separator: number): number => 1 << (FIRST_DATE_BIT + order * 3 + separator);
export const DATES = ((1 << 15) - 1) << FIRST_DATE_BIT;
export const YMD_DATES = 7 << FIRST_DATE_BIT;
export const DMY_DATES = (7 << (FIRST_DATE_BIT + 3)) | (7 << (FIRST_DATE_BIT + 9));
export const MDY_DATES = (7 << (FIRST_DATE_BIT + 6)) | (7 << (FIRST_DATE_BIT + 12));

/**
 * Form of a plus sign and at least eight digits, as international telephone numbers are written; such a value also has number
 * forms.
 */
export const TELEPHONE = 1 << 29;

/** All forms: the forms of a column before its first value. */
export const ALL_FORMS = INTEGER | DECIMALS | BOOLEANS | DATES | TELEPHONE;

/** Marker of a value that consists of spaces; it is not a form. */
export const BLANK_FORM = 1 << 30;

/** Trait of a value with a time. A trait is a property of a value that is not a form. */
export const HAS_TIME = 1;
export const HAS_TRUE = 2;
export const HAS_FALSE = 4;
export const HAS_OFFSET = 8;
/** Trait of spaces that Postgres does not skip (no-break space and the like). */
export const HAS_WIDE_SPACE = 16;
/** Trait of a time with seconds. Only decides whether the name of the format includes seconds. */
export const HAS_SECONDS = 32;
/** Trait of a time with a fraction of a second. Only decides whether the name of the format includes seconds. */
export const HAS_FRACTION = 64;
/**
 * Trait of a time after `T`, or with an offset after a space: Postgres does not read such a time after every order of
 * the date.
 */
export const HAS_STRICT_TIME = 128;
/** Trait of a day of year 1 or 9999, which a time zone may move out of the supported years. */
export const HAS_EDGE_YEAR = 256;

const DATE_FORMAT_NAMES = ['yyyy-mm-dd', 'd-m-yyyy', 'm-d-yyyy', 'd-m-yy', 'm-d-yy'];
const SEPARATORS = ['-', '/', '.'];

/** Names of the formats by their bit, as `evidence` reports them, in order of preference. */
const FORM_NAMES: [number, string][] = [
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
  ...DATE_FORMAT_NAMES.flatMap((name, order): [number, string][] =>
    SEPARATORS.map((separator, index) => [makeDateForm(order, index), name.replaceAll('-', separator)]),
  ),
];

export const findFormName = (formMask: number): string =>
  FORM_NAMES.find(([bit]) => (formMask & bit) !== 0)?.[1] ?? 'text';

/** Finds the form that a format's name begins with (a datetime's name has the time after the date); 0 for text. */
export function parseForm(format: string): number {
  const date = format.split(' ')[0];
  return FORM_NAMES.find(([, name]) => name === date)?.[0] ?? 0;
}
