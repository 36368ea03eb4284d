import { type ColumnType, POSTGRES_TYPES, type TableColumnDefinition } from '../../tenant-sql/columns.ts';
import { quoteIdentifier, quoteQualified } from '../../tenant-sql/identifiers.ts';
import type { Statement } from '../../tenant-sql/rows.ts';

/** Converts a column's values to another type, as SQL over the column's quoted name. */
interface ColumnConversion {
  /** Returns SQL that is true for values that convert without loss. The SQL never raises, whatever the value. */
  makeFitsSql(column: string): string;
  makeConversionSql(column: string): string;
}

const makeUnconditionalConversion = (makeConversionSql: (column: string) => string): ColumnConversion => ({
  makeFitsSql: () => 'true',
  makeConversionSql,
});

/** Makes the conversion from text: the value matches a pattern and Postgres accepts it. Surrounding spaces are ignored. */
const makeTextConversion = (type: ColumnType, pattern: string): ColumnConversion => ({
  makeFitsSql: (c) => `(btrim(${c}) ~ '${pattern}' AND pg_input_is_valid(btrim(${c}), '${POSTGRES_TYPES[type]}'))`,
  makeConversionSql: (c) => `btrim(${c})::${POSTGRES_TYPES[type]}`,
});

const ZERO_OR_ONE_CONVERSION: ColumnConversion = {
  makeFitsSql: (c) => `${c} IN (0, 1)`,
  makeConversionSql: (c) => `${c} = 1`,
};

const makeUtcSql = (column: string): string => `(${column} AT TIME ZONE 'UTC')`;

/** The pattern for the start of a number: 007 is a code, not the number 7, and converting it would lose its leading zeros. */
const NUMBER_START_PATTERN = '^[+-]?(?!0[0-9])';
const DATE_PATTERN = '[0-9]{4}-[0-9]{2}-[0-9]{2}';
/** The pattern for a time of day. Postgres also accepts 24:00 and second 60, which mean another time; rows and files do not. */
const TIME_PATTERN = '([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6}0*)?)?';
const DATETIME_PATTERN = `^${DATE_PATTERN}([Tt ]${TIME_PATTERN}([Zz]|[+-][0-9]{2}(:?[0-9]{2})?)?)?$`;

const TEXT_TO_DATETIME = makeTextConversion('datetime', DATETIME_PATTERN);

/** The conversions between types. Other pairs convert only if every value is null. */
const CONVERSIONS: Partial<Record<`${ColumnType} ${ColumnType}`, ColumnConversion>> = {
  'text integer': makeTextConversion('integer', `${NUMBER_START_PATTERN}[0-9]+$`),
  'text decimal': makeTextConversion(
    'decimal',
    `${NUMBER_START_PATTERN}([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]{1,6})?$`,
  ),
  'text boolean': {
    makeFitsSql: (c) => `lower(btrim(${c})) IN ('true', 'false')`,
    makeConversionSql: (c) => `lower(btrim(${c})) = 'true'`,
  },
  'text date': makeTextConversion('date', `^${DATE_PATTERN}$`),
  'text datetime': {
    // An offset can move a datetime out of the years that the API supports.
    makeFitsSql: (c) => `CASE WHEN ${TEXT_TO_DATETIME.makeFitsSql(c)} THEN
      extract(year FROM ${makeUtcSql(TEXT_TO_DATETIME.makeConversionSql(c))}) BETWEEN 1 AND 9999 ELSE false END`,
    makeConversionSql: TEXT_TO_DATETIME.makeConversionSql,
  },
  'integer text': makeUnconditionalConversion((c) => `${c}::text`),
  'integer decimal': makeUnconditionalConversion((c) => `${c}::numeric`),
  'integer boolean': ZERO_OR_ONE_CONVERSION,
  'decimal text': makeUnconditionalConversion((c) => `${c}::text`),
  'decimal integer': {
    makeFitsSql: (c) => `(${c} = trunc(${c}) AND ${c} BETWEEN -9223372036854775808 AND 9223372036854775807)`,
    makeConversionSql: (c) => `${c}::bigint`,
  },
  'decimal boolean': ZERO_OR_ONE_CONVERSION,
  'boolean text': makeUnconditionalConversion((c) => `${c}::text`),
  'boolean integer': makeUnconditionalConversion((c) => `${c}::int::bigint`),
  'boolean decimal': makeUnconditionalConversion((c) => `${c}::int::numeric`),
  'date text': makeUnconditionalConversion((c) => `to_char(${c}, 'YYYY-MM-DD')`),
  'date datetime': makeUnconditionalConversion((c) => `(${c}::timestamp AT TIME ZONE 'UTC')`),
  'datetime text': makeUnconditionalConversion((c) => `to_char(${makeUtcSql(c)}, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`),
  'datetime date': {
    makeFitsSql: (c) => `${makeUtcSql(c)} = date_trunc('day', ${makeUtcSql(c)})`,
    makeConversionSql: (c) => `${makeUtcSql(c)}::date`,
  },
};

const makeNullConversion = (to: ColumnType): ColumnConversion => ({
  makeFitsSql: () => 'false',
  makeConversionSql: () => `NULL::${POSTGRES_TYPES[to]}`,
});

const findConversion = (from: ColumnType, to: ColumnType): ColumnConversion =>
  CONVERSIONS[`${from} ${to}`] ?? makeNullConversion(to);

/** A condition that no row of a column may meet for a change, as SQL, and the text that shows the first such row. */
export interface Obstacle {
  conditionSql: string;
  valueSql: string;
}

/** Builds the obstacle for a value that `to` cannot hold without loss, shown by at most 100 of its characters. */
export function buildMisfitObstacle(from: TableColumnDefinition, to: ColumnType): Obstacle {
  const column = quoteIdentifier(from.name);
  const fitsSql = findConversion(from.type, to).makeFitsSql(column);
  return { conditionSql: `${column} IS NOT NULL AND NOT (${fitsSql})`, valueSql: `left(${column}::text, 100)` };
}

export const buildNullObstacle = (column: string): Obstacle => ({
  conditionSql: `${quoteIdentifier(column)} IS NULL`,
  valueSql: "''::text",
});

export const buildFilledObstacle = (column: string): Obstacle => ({
  conditionSql: `${quoteIdentifier(column)} IS NOT NULL`,
  valueSql: "''::text",
});

/**
 * Makes a query that looks for obstacles, at most a thousand, in one pass over the table: single queries would take a pass each.
 * Its column `found` has the text that shows each obstacle, or null.
 */
export function makeObstacleQuery(table: string, obstacles: readonly Obstacle[]): Statement {
  const foundColumns = obstacles.map(
    ({ conditionSql, valueSql }) => `any_value(${valueSql}) FILTER (WHERE ${conditionSql})`,
  );
  const from = foundColumns.length > 0 ? ` FROM ${quoteQualified('public', table)}` : '';
  return { text: `SELECT ARRAY[${foundColumns.join(', ')}]::text[] AS found${from}`, values: [] };
}

/** Returns the action of ALTER TABLE that converts a column in place. The session's time zone must be UTC. */
export function makeConvertColumnSql(from: TableColumnDefinition, to: ColumnType): string {
  const column = quoteIdentifier(from.name);
  return `ALTER COLUMN ${column} TYPE ${POSTGRES_TYPES[to]} USING ${findConversion(from.type, to).makeConversionSql(column)}`;
}
