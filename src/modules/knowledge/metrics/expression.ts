import { type ColumnType, POSTGRES_TYPES } from '../../../tenant-sql/columns.ts';

/** The type of a value within an expression. Results have the types that columns have. */
export type ValueType = ColumnType | 'uuid' | 'interval';

export const isTimeType = (type: ValueType): boolean => type === 'date' || type === 'datetime';

/** A column of a table, including the `id` that every table has. */
export interface TableColumn {
  name: string;
  type: ColumnType | 'uuid';
}

/** The parts of a managed table that expressions and relations use. */
export interface Table {
  id: string;
  /** The table's name in SQL. */
  name: string;
  columns: readonly TableColumn[];
  /** The version, increased by changes of the table's name and columns. */
  version: number;
  /** Names of the columns with unique values: `id`, and those with a unique index of their own. */
  uniqueColumns: ReadonlySet<string>;
}

/** A call of an aggregate function, computed over the rows of a fact table. */
export interface Aggregate {
  /** The name of the Postgres function. */
  name: string;
  isDistinct: boolean;
  /** The argument; null for a count of rows. */
  argument: Expression | null;
  /** The `FILTER` condition of the call. */
  filter: Expression | null;
}

/**
 * A parsed expression; every part has a type. Its SQL consists of our own text, numbers, and names of tables and columns; texts
 * are bound.
 */
export type Expression = { type: ValueType } & (
  | { kind: 'column'; table: Table; column: string }
  /** A text in quotes, or a value read from it. */
  | { kind: 'text'; value: string }
  | { kind: 'null' }
  | { kind: 'sql'; parts: readonly (string | Expression)[] }
  | { kind: 'aggregate'; call: Aggregate }
  /** Another metric, by its name. */
  | { kind: 'metric'; name: string }
);

/** A problem with an expression, worded as a sentence about it. */
export class ExpressionError extends Error {}

/**
 * The budget for the SQL generated from expressions. Each part is counted before it is generated, every time it is generated.
 */
export class TextBudget {
  #characters: number;
  #parts = 5_000;
  readonly #maxCharacters: number;

  /** @param characters the maximum length of the text; its parts are values, columns, calls and metrics, 5,000 at most */
  constructor(characters: number) {
    this.#characters = characters;
    this.#maxCharacters = characters;
  }

  /** Spends part of the budget. @throws ExpressionError where it is exceeded */
  spend(characters: number, parts = 0): void {
    this.#characters -= characters;
    this.#parts -= parts;
    if (this.#characters < 0) throw new ExpressionError(`it would be longer than ${this.#maxCharacters} characters`);
    if (this.#parts < 0) throw new ExpressionError('it would have more than 5000 parts');
  }
}

/** Returns the name of a type in Postgres. */
export const formatType = (type: ValueType): string =>
  type === 'uuid' || type === 'interval' ? type : POSTGRES_TYPES[type];

/** Makes an expression of our own text and other expressions, in brackets. */
export const sql =
  (type: ValueType) =>
  (texts: TemplateStringsArray, ...between: (Expression | string)[]): Expression => ({
    kind: 'sql',
    type,
    parts: ['(', ...texts.flatMap((text, index) => [text, ...between.slice(index, index + 1)]), ')'],
  });

/** Makes an expression that calls a Postgres function. */
export const makeCall = (type: ValueType, name: string, values: readonly Expression[]): Expression => ({
  kind: 'sql',
  type,
  parts: [`${name}(`, ...values.flatMap((value, index) => (index === 0 ? [value] : [', ', value])), ')'],
});

/** Returns the direct parts of an expression. */
function listParts(expression: Expression): Expression[] {
  if (expression.kind === 'sql') return expression.parts.filter((part) => typeof part !== 'string');
  if (expression.kind !== 'aggregate') return [];
  const { argument, filter } = expression.call;
  return [argument, filter].filter((part) => part !== null);
}

/** Yields an expression and all its nested parts. */
export function* walkExpression(expression: Expression): Generator<Expression> {
  yield expression;
  for (const child of listParts(expression)) yield* walkExpression(child);
}

/** Returns the tables whose columns occur in expressions, each once. */
export function listTables(expressions: readonly Expression[]): Table[] {
  const tables = new Map<string, Table>();
  for (const expression of expressions) {
    for (const innerExpression of walkExpression(expression))
      if (innerExpression.kind === 'column') tables.set(innerExpression.table.id, innerExpression.table);
  }
  return [...tables.values()];
}

/** Makes the SQL of an aggregate call. @param conditions the conditions of the rows that count; without any, all rows count */
export function makeAggregateSql(
  { name, isDistinct }: Aggregate,
  argument: string,
  conditions: readonly string[],
): string {
  const filter = conditions.length > 0 ? ` FILTER (WHERE ${conditions.join(' AND ')})` : '';
  return `${name}(${isDistinct ? 'DISTINCT ' : ''}${argument})${filter}`;
}

/** The functions that render the columns, aggregates, metrics and bound texts of an expression. */
export interface SqlRenderer {
  budget: TextBudget;
  bindText(value: string): string;
  renderColumn(table: Table, column: string): string;
  renderAggregate(call: Aggregate, type: ValueType): string;
  renderMetric(name: string, type: ValueType): string;
}

/** Returns the length of an expression's SQL without the SQL of its parts. */
export function measureOwnLength(expression: Expression): number {
  switch (expression.kind) {
    case 'column':
      return expression.table.name.length + expression.column.length;
    case 'text':
      return expression.value.length;
    case 'sql':
      return expression.parts.reduce((sum, part) => sum + (typeof part === 'string' ? part.length : 0), 0);
    default:
      return 0;
  }
}

/** Renders the SQL of an expression. @throws ExpressionError where the budget does not suffice */
export function renderSql(expression: Expression, as: SqlRenderer): string {
  as.budget.spend(measureOwnLength(expression), 1);
  switch (expression.kind) {
    case 'column':
      return as.renderColumn(expression.table, expression.column);
    case 'text':
      return `${as.bindText(expression.value)}::${formatType(expression.type)}`;
    case 'null':
      return `NULL::${formatType(expression.type)}`;
    case 'aggregate':
      return as.renderAggregate(expression.call, expression.type);
    case 'metric':
      return as.renderMetric(expression.name, expression.type);
    case 'sql':
      return expression.parts.map((part) => (typeof part === 'string' ? part : renderSql(part, as))).join('');
  }
}
