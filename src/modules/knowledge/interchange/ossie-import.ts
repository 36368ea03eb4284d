import type { z } from 'zod';
import { findTableNames } from '../metrics/tokens.ts';
import {
  dataset,
  field,
  findAnsiExpression,
  metric,
  OSSIE_VERSION,
  relationship,
  semanticModel,
  VENDOR_NAME,
} from './ossie.ts';
import { readJson } from './read-json.ts';
import {
  type ImportProblem,
  type LocatedValue,
  MAX_ENTRIES,
  MAX_ERRORS,
  makeTooManyEntriesFailure,
  type ParsedDocument,
  readKnowledge,
  type UncheckedEntry,
} from './read-knowledge.ts';

export const isSemanticModel = (value: unknown): value is { version?: unknown; semantic_model: unknown } =>
  typeof value === 'object' && value !== null && 'semantic_model' in value;

/**
 * Reads an Ossie document. A document of ours contains our own format; of any other, its semantic model is read: entities from
 * datasets, dimensions from fields, metrics, and the joins between datasets. Each gets a concept, which items must belong to.
 */
export function readSemanticModel(locatedValue: LocatedValue): ParsedDocument {
  const { version, semantic_model: models } = locatedValue.value as { version?: unknown; semantic_model: unknown };
  const reader = new OssieReader(locatedValue);
  if (version !== OSSIE_VERSION) reader.addError(['version'], 'version', `must be exactly ${OSSIE_VERSION}`);
  else if (!Array.isArray(models)) reader.addError(['semantic_model'], 'semantic_model', 'must be a list');
  else for (const [index, model] of models.entries()) reader.importModel(model, ['semantic_model', index]);
  return { source: 'a semantic model', foundEntries: reader.foundEntries, errors: reader.errors };
}

type ValuePath = (string | number)[];

class OssieReader {
  readonly foundEntries: UncheckedEntry[] = [];
  readonly errors: ImportProblem[] = [];
  readonly #findLine: LocatedValue['findLine'];

  constructor({ findLine }: LocatedValue) {
    this.#findLine = findLine;
  }

  addError(path: ValuePath, name: string, problem: string): void {
    if (this.errors.length < MAX_ERRORS) this.errors.push({ line: this.#findLine(...path), place: [name], problem });
  }

  importModel(value: unknown, path: ValuePath): void {
    const model = this.#read(semanticModel, value, path);
    if (!model) return;
    const ownExtensionIndex = model.custom_extensions.findIndex(({ vendor_name: vendor }) => vendor === VENDOR_NAME);
    if (ownExtensionIndex >= 0) {
      const extensionPath = [...path, 'custom_extensions', ownExtensionIndex, 'data'];
      this.#importExtension(model.custom_extensions[ownExtensionIndex]?.data ?? '', extensionPath);
      return;
    }

    const tables = new Map<string, string>();
    for (const [index, dataset] of model.datasets.entries())
      this.#importDataset(dataset, [...path, 'datasets', index], tables);
    const relations = model.relationships.flatMap((relationship, index) =>
      this.#importRelation(relationship, [...path, 'relationships', index], tables),
    );
    if (relations.length > 0) {
      this.#add('semantic', [...path, 'relationships'], {
        kind: 'mapping',
        name: model.name,
        description: model.description ?? model.name,
        mapped_relations: relations,
      });
    }
    for (const [index, metric] of model.metrics.entries())
      this.#importMetric(metric, [...path, 'metrics', index], [...tables.values()]);
  }

  /** Reads our own document, which stands on one line: all its entries and errors have that line. */
  #importExtension(data: string, path: ValuePath): void {
    const line = this.#findLine(...path);
    const { value } = readJson(data);
    const { foundEntries, errors } = readKnowledge({ value, findLine: () => line });
    this.foundEntries.push(...foundEntries);
    this.errors.push(...errors);
  }

  #importDataset(value: unknown, path: ValuePath, tables: Map<string, string>): void {
    const parsedDataset = this.#read(dataset, value, path);
    if (!parsedDataset) return;
    // `database.schema.table`.
    const table = parsedDataset.source.split('.').at(-1) as string;
    tables.set(parsedDataset.name, table);
    this.#withConcept('entity_hint', path, parsedDataset);
    const sharedFields = { source_concepts: [parsedDataset.name], mapped_tables: [table] };
    this.#add('semantic', path, { kind: 'entity', ...this.#said(parsedDataset), ...sharedFields });
    for (const [index, each] of parsedDataset.fields.entries()) {
      const at = [...path, 'fields', index];
      const parsedField = this.#read(field, each, at);
      if (!parsedField?.dimension) continue;
      const formula = findAnsiExpression(parsedField.expression);
      if (formula === undefined) this.addError(at, parsedField.name, 'has no expression in ANSI_SQL');
      else this.#add('semantic', at, { kind: 'dimension', ...this.#said(parsedField), formula, ...sharedFields });
    }
  }

  #importRelation(value: unknown, path: ValuePath, tables: ReadonlyMap<string, string>): string[] {
    const parsedRelationship = this.#read(relationship, value, path);
    if (!parsedRelationship) return [];
    const [from, to] = [tables.get(parsedRelationship.from), tables.get(parsedRelationship.to)];
    const isSingleColumn = parsedRelationship.from_columns.length === 1 && parsedRelationship.to_columns.length === 1;
    if (from === undefined || to === undefined)
      this.addError(path, parsedRelationship.name, 'names a dataset that does not exist');
    else if (!isSingleColumn)
      this.addError(path, parsedRelationship.name, 'joins by several columns, but a relation can have only one');
    else return [`${from}.${parsedRelationship.from_columns[0]} = ${to}.${parsedRelationship.to_columns[0]}`];
    return [];
  }

  #importMetric(value: unknown, path: ValuePath, tables: readonly string[]): void {
    const parsedMetric = this.#read(metric, value, path);
    if (!parsedMetric) return;
    const formula = findAnsiExpression(parsedMetric.expression);
    if (formula === undefined) {
      this.addError(path, parsedMetric.name, 'has no expression in ANSI_SQL');
      return;
    }
    this.#withConcept('metric_hint', path, parsedMetric);
    const { words, quotedNames } = findTableNames(formula);
    const namedTables = tables.filter((table) => words.has(table.toLowerCase()) || quotedNames.has(table));
    this.#add('semantic', path, {
      kind: 'metric',
      ...this.#said(parsedMetric),
      formula,
      source_concepts: [parsedMetric.name],
      mapped_tables: namedTables.length > 0 ? namedTables : tables.length === 1 ? tables : [],
    });
  }

  #said({ name, description }: { name: string; description?: string | undefined }) {
    return { name, description: description || name };
  }

  #withConcept(type: string, path: ValuePath, item: z.output<typeof dataset> | z.output<typeof metric>): void {
    const aliases = typeof item.ai_context === 'object' ? item.ai_context.synonyms : [];
    this.#add('concepts', path, { ...this.#said(item), type, ...(aliases.length > 0 && { aliases }) });
  }

  #add(list: UncheckedEntry['listName'], path: ValuePath, value: unknown): void {
    if (this.foundEntries.length > MAX_ENTRIES) throw makeTooManyEntriesFailure();
    this.foundEntries.push({ listName: list, value, line: this.#findLine(...path) });
  }

  #read<S extends z.ZodType>(schema: S, value: unknown, path: ValuePath): z.output<S> | undefined {
    const { data, error } = schema.safeParse(value);
    for (const issue of error?.issues.slice(0, 20) ?? []) {
      this.addError([...path, ...(issue.path as ValuePath)], issue.path.join('.') || 'it', issue.message);
    }
    return data;
  }
}
