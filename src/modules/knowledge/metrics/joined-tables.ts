import { quoteIdentifier, quoteQualified } from '../../../tenant-sql/identifiers.ts';
import type { BindValue } from '../../../tenant-sql/row-filters.ts';
import type { SemanticItem } from './definition.ts';
import {
  type Expression,
  listTables,
  type SqlRenderer,
  type Table,
  type TextBudget,
  type ValueType,
} from './expression.ts';
import { makeJoinFailure } from './measures.ts';
import type { MetricModel } from './model.ts';
import { isPath, type Path } from './relations.ts';

/** The tables of a statement, by their aliases in it. */
export class JoinedTables {
  readonly #names = new Map<string, string>();
  readonly #joins: string[] = [];
  readonly tables: Table[] = [];
  readonly #root: Table;
  readonly #model: MetricModel;

  constructor(model: MetricModel, root: Table) {
    this.#model = model;
    this.#root = root;
    this.#names.set(root.id, 'f');
    this.tables.push(root);
  }

  /** Joins the tables of expressions. @param items the items of the expressions, named by the failure where there is no path */
  joinTables(items: readonly SemanticItem[], expressions: readonly Expression[]): void {
    const paths = listTables(expressions).map((table) => this.#model.findPath(this.#root, table));
    if (!paths.every(isPath)) throw makeJoinFailure(items, paths);
    for (const path of paths) this.#walk(path);
  }

  #walk(path: Path): void {
    for (const { fromEnd: from, toEnd: to } of path) {
      if (this.#names.has(to.table.id)) continue;
      const name = `j${this.#joins.length + 1}`;
      this.#names.set(to.table.id, name);
      this.tables.push(to.table);
      const [left, right] = [from, to].map(({ table, column }) => this.#makeColumnSql(table, column));
      const castSuffix = findTypeFamily(from) === findTypeFamily(to) ? '' : '::text';
      this.#joins.push(
        `LEFT JOIN ${quoteQualified('public', to.table.name)} AS ${name} ON ${left}${castSuffix} = ${right}${castSuffix}`,
      );
    }
  }

  #makeColumnSql(table: Table, column: string): string {
    return `${this.#names.get(table.id)}.${quoteIdentifier(column)}`;
  }

  /** Creates the renderer of expressions over the rows of the joined tables: they contain no aggregates. */
  createRenderer(budget: TextBudget, bindText: BindValue): SqlRenderer {
    const rejectAggregate = () => {
      throw new Error('an aggregate in an expression over rows');
    };
    const renderColumn = (table: Table, column: string) => this.#makeColumnSql(table, column);
    return { budget, bindText, renderColumn, renderAggregate: rejectAggregate, renderMetric: rejectAggregate };
  }

  get from(): string {
    return [`FROM ${quoteQualified('public', this.#root.name)} AS f`, ...this.#joins].join('\n    ');
  }
}

const TYPE_FAMILIES: Partial<Record<ValueType, string>> = {
  integer: 'number',
  decimal: 'number',
  date: 'time',
  datetime: 'time',
};

/** Finds the family of a column's type: values of one family can be compared. */
function findTypeFamily({ table, column }: { table: Table; column: string }): string | undefined {
  const type = table.columns.find(({ name }) => name === column)?.type;
  return type && (TYPE_FAMILIES[type] ?? type);
}
