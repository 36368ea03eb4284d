import { type Dimension, type Item, type Metric, parseDimension, parseMetric } from './definition.ts';
import { ExpressionError, type Table, TextBudget, type ValueType } from './expression.ts';
import { semanticItemUnknown } from './failures.ts';
import { type NoPath, type Path, parseRelations, Relations } from './relations.ts';

/** The maximum number of metrics in a chain of which each builds on the next. */
const MAX_DEPTH = 10;

/** A company's items, as far as a query needs them: each is parsed once. */
export class Model {
  readonly #tables: readonly Table[];
  readonly #relations: Relations;
  readonly #metricNamed: (name: string) => Item | undefined;
  readonly #metrics = new Map<string, Metric>();
  readonly #dimensions = new Map<string, Dimension>();
  readonly #budget: TextBudget;
  /** The ids of the metrics that are being read, which build on one another. */
  readonly #reading: string[] = [];

  /**
   * @param relations the `mapped_relations` of the company's items
   * @param metricNamed finds a metric that another builds on
   * @param most characters of items that are parsed; unlimited where the items of a whole company are read
   */
  constructor(
    tables: readonly Table[],
    relations: readonly string[],
    metricNamed: (name: string) => Item | undefined,
    most = Number.POSITIVE_INFINITY,
  ) {
    this.#budget = new TextBudget(most);
    this.#tables = tables;
    this.#relations = new Relations(parseRelations(relations, tables));
    this.#metricNamed = metricNamed;
  }

  path(from: Table, to: Table): Path | NoPath {
    return this.#relations.path(from, to);
  }

  dimension(item: Item): Dimension {
    const known =
      this.#dimensions.get(item.id) ?? nameItemInError(item, () => parseDimension(this.#toParse(item), this.#tables));
    this.#dimensions.set(item.id, known);
    return known;
  }

  metric(item: Item): Metric {
    const known = this.#metrics.get(item.id);
    if (known) return known;
    return nameItemInError(item, () => {
      if (this.#reading.includes(item.id)) throw new ExpressionError('it builds on itself');
      if (this.#reading.length === MAX_DEPTH)
        throw new ExpressionError(`more than ${MAX_DEPTH} metrics build on one another`);
      this.#reading.push(item.id);
      try {
        const metric = parseMetric(this.#toParse(item), this.#tables, (name) => this.#computeType(name));
        this.#metrics.set(item.id, metric);
        return metric;
      } finally {
        this.#reading.pop();
      }
    });
  }

  #toParse(item: Item): Item {
    this.#budget.spend([item.formula ?? '', ...item.filters].reduce((sum, { length }) => sum + length, 0));
    return item;
  }

  /** Finds a metric that another builds on. */
  metricNamed(name: string): Item {
    const item = this.#metricNamed(name);
    if (!item) throw semanticItemUnknown('metric', name);
    return item;
  }

  #computeType(name: string): ValueType {
    return this.metric(this.metricNamed(name)).formula.type;
  }
}

function nameItemInError<T>(item: Item, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    throw semanticItemUnknown(item.kind === 'metric' ? 'metric' : 'dimension', item.name, error.message);
  }
}
