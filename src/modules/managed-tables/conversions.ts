import { type Column, type ColumnType, POSTGRES_TYPES } from '../../tenant-sql/columns.ts';
import { qualified, quoted } from '../../tenant-sql/identifiers.ts';
import type { Statement } from '../../tenant-sql/rows.ts';

/** Converts a column's values to another type, as SQL over the column's quoted name. */
interface Conversion {
  /** SQL that is true for values that convert without loss. It never raises, whatever the value. */
  fits(column: string): string;
  using(column: string): string;
}

const makeUnconditionalConversion = (using: (column: string) => string): Conversion => ({ fits: () => 'true', using });

/** The conversion from text: the value matches a regular expression and Postgres accepts it. Spaces around it are ignored. */
const makeTextConversion = (type: ColumnType, shape: string): Conversion => ({
  fits: (c) => `(btrim(${c}) ~ '${shape}' AND pg_input_is_valid(btrim(${c}), '${POSTGRES_TYPES[type]}'))`,
  using: (c) => `btrim(${c})::${POSTGRES_TYPES[type]}`,
});

const ZERO_OR_ONE_CONVERSION: Conversion = { fits: (c) => `${c} IN (0, 1)`, using: (c) => `${c} = 1` };

const utcSql = (column: string): string => `(${column} AT TIME ZONE 'UTC')`;

/** The start of a number: 007 is a code, not the number 7, and the conversion would lose its leading zeros. */
const NUMBER_START_PATTERN = '^[+-]?(?!0[0-9])';
const DATE_PATTERN = '[0-9]{4}-[0-9]{2}-[0-9]{2}';
/** A time of day. Postgres also accepts 24:00 and second 60, which mean another time; rows and files do not. */
const TIME_PATTERN = '([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6}0*)?)?';
const DATETIME_PATTERN = `^${DATE_PATTERN}([Tt ]${TIME_PATTERN}([Zz]|[+-][0-9]{2}(:?[0-9]{2})?)?)?$`;

const TEXT_TO_DATETIME = makeTextConversion('datetime', DATETIME_PATTERN);

/** The conversions between types. Other pairs convert only if every value is null. */
const CONVERSIONS: Partial<Record<`${ColumnType} ${ColumnType}`, Conversion>> = {
  'text integer': makeTextConversion('integer', `${NUMBER_START_PATTERN}[0-9]+$`),
  'text decimal': makeTextConversion(
    'decimal',
    `${NUMBER_START_PATTERN}([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]{1,6})?$`,
  ),
  'text boolean': {
    fits: (c) => `lower(btrim(${c})) IN ('true', 'false')`,
    using: (c) => `lower(btrim(${c})) = 'true'`,
  },
  'text date': makeTextConversion('date', `^${DATE_PATTERN}$`),
  'text datetime': {
    // An offset can move a datetime out of the years that the API supports.
    fits: (c) => `CASE WHEN ${TEXT_TO_DATETIME.fits(c)} THEN
      extract(year FROM ${utcSql(TEXT_TO_DATETIME.using(c))}) BETWEEN 1 AND 9999 ELSE false END`,
    using: TEXT_TO_DATETIME.using,
  },
  'integer text': makeUnconditionalConversion((c) => `${c}::text`),
  'integer decimal': makeUnconditionalConversion((c) => `${c}::numeric`),
  'integer boolean': ZERO_OR_ONE_CONVERSION,
  'decimal text': makeUnconditionalConversion((c) => `${c}::text`),
  'decimal integer': {
    fits: (c) => `(${c} = trunc(${c}) AND ${c} BETWEEN -9223372036854775808 AND 9223372036854775807)`,
    using: (c) => `${c}::bigint`,
  },
  'decimal boolean': ZERO_OR_ONE_CONVERSION,
  'boolean text': makeUnconditionalConversion((c) => `${c}::text`),
  'boolean integer': makeUnconditionalConversion((c) => `${c}::int::bigint`),
  'boolean decimal': makeUnconditionalConversion((c) => `${c}::int::numeric`),
  'date text': makeUnconditionalConversion((c) => `to_char(${c}, 'YYYY-MM-DD')`),
  'date datetime': makeUnconditionalConversion((c) => `(${c}::timestamp AT TIME ZONE 'UTC')`),
  'datetime text': makeUnconditionalConversion((c) => `to_char(${utcSql(c)}, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`),
  'datetime date': {
    fits: (c) => `${utcSql(c)} = date_trunc('day', ${utcSql(c)})`,
    using: (c) => `${utcSql(c)}::date`,
  },
};

const makeNullConversion = (to: ColumnType): Conversion => ({
  fits: () => 'false',
  using: () => `NULL::${POSTGRES_TYPES[to]}`,
});

const findConversion = (from: ColumnType, to: ColumnType): Conversion =>
  CONVERSIONS[`${from} ${to}`] ?? makeNullConversion(to);

/** A condition that a change may not meet in any row of a column, as SQL, and the text that shows the first such row. */
export interface Obstacle {
  conditionSql: string;
  valueSql: string;
}

/** The obstacle of a value that `to` cannot hold without loss, shown by at most 100 of its characters. */
export function buildMisfitObstacle(from: Column, to: ColumnType): Obstacle {
  const column = quoted(from.name);
  const fits = findConversion(from.type, to).fits(column);
  return { conditionSql: `${column} IS NOT NULL AND NOT (${fits})`, valueSql: `left(${column}::text, 100)` };
}

export const buildNullObstacle = (column: string): Obstacle => ({
  conditionSql: `${quoted(column)} IS NULL`,
  valueSql: "''::text",
});

export const buildFilledObstacle = (column: string): Obstacle => ({
  conditionSql: `${quoted(column)} IS NOT NULL`,
  valueSql: "''::text",
});

/**
 * A query that looks for obstacles, at most a thousand, in one pass over the table: single queries would take a pass each.
 * Its column `found` has the text that shows each obstacle, or null.
 */
export function selectObstacles(table: string, obstacles: readonly Obstacle[]): Statement {
  const found = obstacles.map(({ conditionSql, valueSql }) => `any_value(${valueSql}) FILTER (WHERE ${conditionSql})`);
  const from = found.length > 0 ? ` FROM ${qualified('public', table)}` : '';
  return { text: `SELECT ARRAY[${found.join(', ')}]::text[] AS found${from}`, values: [] };
}

/** The action of ALTER TABLE that converts a column in place. The session's time zone must be UTC. */
export function convertColumn(from: Column, to: ColumnType): string {
  const column = quoted(from.name);
  return `ALTER COLUMN ${column} TYPE ${POSTGRES_TYPES[to]} USING ${findConversion(from.type, to).using(column)}`;
}
