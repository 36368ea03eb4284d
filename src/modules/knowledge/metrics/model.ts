import { type Dimension, type Metric, parseDimension, parseMetric, type SemanticItem } from './definition.ts';
import { ExpressionError, type Table, TextBudget, type ValueType } from './expression.ts';
import { semanticItemUnknown } from './failures.ts';
import { isPath, type MissingPath, type Path, parseRelations, Relations } from './relations.ts';

/** The maximum length of a chain of metrics in which each builds on the next. */
const MAX_DEPTH = 10;

/** The items of a company that a query needs: each is parsed once. */
export class MetricModel {
  readonly #tables: readonly Table[];
  readonly #relations: Relations;
  readonly #findMetric: (name: string) => SemanticItem | undefined;
  readonly #metrics = new Map<string, Metric>();
  readonly #dimensions = new Map<string, Dimension>();
  readonly #budget: TextBudget;
  /** The ids of the metrics that are being parsed, which build on one another. */
  readonly #parsingIds: string[] = [];

  /**
   * @param relations the `mapped_relations` of the company's items @param findMetric finds a metric that another builds on
   * @param maxCharacters the maximum total length of the formulas and filters that are parsed; unlimited where the items of a
   * whole company are read
   */
  constructor(
    tables: readonly Table[],
    relations: readonly string[],
    findMetric: (name: string) => SemanticItem | undefined,
    maxCharacters = Number.POSITIVE_INFINITY,
  ) {
    this.#budget = new TextBudget(maxCharacters);
    this.#tables = tables;
    this.#relations = new Relations(parseRelations(relations, tables));
    this.#findMetric = findMetric;
  }

  findPath(from: Table, to: Table): Path | MissingPath {
    return this.#relations.findPath(from, to);
  }

  /** Finds the table whose rows each match at most one row of every other of these tables; undefined if there is none. */
  findRoot(tables: readonly Table[]): Table | undefined {
    return tables.find((table) => tables.every((otherTable) => isPath(this.findPath(table, otherTable))));
  }

  getDimension(item: SemanticItem): Dimension {
    const parsedDimension =
      this.#dimensions.get(item.id) ?? nameItemInError(item, () => parseDimension(this.#toParse(item), this.#tables));
    this.#dimensions.set(item.id, parsedDimension);
    return parsedDimension;
  }

  getMetric(item: SemanticItem): Metric {
    const parsedMetric = this.#metrics.get(item.id);
    if (parsedMetric) return parsedMetric;
    return nameItemInError(item, () => {
      if (this.#parsingIds.includes(item.id)) throw new ExpressionError('it builds on itself');
      if (this.#parsingIds.length === MAX_DEPTH)
        throw new ExpressionError(`more than ${MAX_DEPTH} metrics build on one another`);
      this.#parsingIds.push(item.id);
      try {
        const metric = parseMetric(this.#toParse(item), this.#tables, (name) => this.#computeType(name));
        this.#metrics.set(item.id, metric);
        return metric;
      } finally {
        this.#parsingIds.pop();
      }
    });
  }

  #toParse(item: SemanticItem): SemanticItem {
    this.#budget.spend([item.formula ?? '', ...item.filters].reduce((sum, { length }) => sum + length, 0));
    return item;
  }

  /** Finds the metric of a name that another metric builds on. */
  requireMetric(name: string): SemanticItem {
    const item = this.#findMetric(name);
    if (!item) throw semanticItemUnknown('metric', name);
    return item;
  }

  #computeType(name: string): ValueType {
    return this.getMetric(this.requireMetric(name)).formula.type;
  }
}

function nameItemInError<T>(item: SemanticItem, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    throw semanticItemUnknown(item.kind === 'metric' ? 'metric' : 'dimension', item.name, error.message);
  }
}
