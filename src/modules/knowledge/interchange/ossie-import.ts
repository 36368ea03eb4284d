import type { z } from 'zod';
import {
  dataset,
  field,
  findAnsi,
  listSynonyms,
  metric,
  OSSIE_VERSION,
  relationship,
  semanticModel,
  VENDOR,
} from './ossie.ts';
import { readJson } from './read-json.ts';
import {
  type FoundEntry,
  type ImportError,
  type LocatedValue,
  MAX_ENTRIES,
  MAX_ERRORS,
  type ReadDocument,
  readKnowledge,
  tooManyEntries,
} from './read-knowledge.ts';

export const isSemanticModel = (value: unknown): value is { version?: unknown; semantic_model: unknown } =>
  typeof value === 'object' && value !== null && 'semantic_model' in value;

/**
 * Reads an Ossie document. One of ours holds our own document; of any other, its semantic model is read: entities from
 * datasets, dimensions from fields, metrics, and the joins between datasets. Each gets a concept, which items must belong to.
 */
export function readSemanticModel(located: LocatedValue): ReadDocument {
  const { version, semantic_model: models } = located.value as { version?: unknown; semantic_model: unknown };
  const reading = new OssieReader(located);
  if (version !== OSSIE_VERSION) reading.error(['version'], `version: must be ${OSSIE_VERSION}`);
  else if (!Array.isArray(models)) reading.error(['semantic_model'], 'semantic_model: must be a list');
  else for (const [index, model] of models.entries()) reading.model(model, ['semantic_model', index]);
  return { source: 'a semantic model', found: reading.found, errors: reading.errors };
}

type Path = (string | number)[];

class OssieReader {
  readonly found: FoundEntry[] = [];
  readonly errors: ImportError[] = [];
  readonly #findLine: LocatedValue['findLine'];

  constructor({ findLine }: LocatedValue) {
    this.#findLine = findLine;
  }

  error(path: Path, message: string): void {
    if (this.errors.length < MAX_ERRORS) this.errors.push({ line: this.#findLine(...path), message });
  }

  model(value: unknown, path: Path): void {
    const model = this.#read(semanticModel, value, path);
    if (!model) return;
    const ours = model.custom_extensions.findIndex(({ vendor_name: vendor }) => vendor === VENDOR);
    if (ours >= 0) {
      this.#ours(model.custom_extensions[ours]?.data ?? '', [...path, 'custom_extensions', ours, 'data']);
      return;
    }

    const tables = new Map<string, string>();
    for (const [index, each] of model.datasets.entries()) this.#dataset(each, [...path, 'datasets', index], tables);
    const relations = model.relationships.flatMap((each, index) =>
      this.#relation(each, [...path, 'relationships', index], tables),
    );
    if (relations.length > 0) {
      this.#add('semantic', [...path, 'relationships'], {
        kind: 'mapping',
        name: model.name,
        description: model.description ?? model.name,
        mapped_relations: relations,
      });
    }
    for (const [index, each] of model.metrics.entries())
      this.#metric(each, [...path, 'metrics', index], [...tables.values()]);
  }

  /** Reads our own document, which stands on one line: all its entries and errors have that line. */
  #ours(data: string, path: Path): void {
    const line = this.#findLine(...path);
    const { value } = readJson(data);
    const { found, errors } = readKnowledge({ value, findLine: () => line });
    this.found.push(...found);
    this.errors.push(...errors);
  }

  #dataset(value: unknown, path: Path, tables: Map<string, string>): void {
    const found = this.#read(dataset, value, path);
    if (!found) return;
    // `database.schema.table`.
    const table = found.source.split('.').at(-1) as string;
    tables.set(found.name, table);
    this.#withConcept('entity_hint', path, found.name, found.description, listSynonyms(found.ai_context));
    const about = { source_concepts: [found.name], mapped_tables: [table] };
    this.#add('semantic', path, { kind: 'entity', ...this.#said(found), ...about });
    for (const [index, each] of found.fields.entries()) {
      const at = [...path, 'fields', index];
      const read = this.#read(field, each, at);
      if (!read?.dimension) continue;
      const formula = findAnsi(read.expression);
      if (formula === undefined) this.error(at, `${read.name}: has no expression in ANSI_SQL`);
      else this.#add('semantic', at, { kind: 'dimension', ...this.#said(read), formula, ...about });
    }
  }

  #relation(value: unknown, path: Path, tables: ReadonlyMap<string, string>): string[] {
    const read = this.#read(relationship, value, path);
    if (!read) return [];
    const [from, to] = [tables.get(read.from), tables.get(read.to)];
    const isSingle = read.from_columns.length === 1 && read.to_columns.length === 1;
    if (from === undefined || to === undefined) this.error(path, `${read.name}: names a dataset that does not exist`);
    else if (!isSingle) this.error(path, `${read.name}: joins by several columns, but a relation can have only one`);
    else return [`${from}.${read.from_columns[0]} = ${to}.${read.to_columns[0]}`];
    return [];
  }

  #metric(value: unknown, path: Path, tables: readonly string[]): void {
    const read = this.#read(metric, value, path);
    if (!read) return;
    const formula = findAnsi(read.expression);
    if (formula === undefined) {
      this.error(path, `${read.name}: has no expression in ANSI_SQL`);
      return;
    }
    this.#withConcept('metric_hint', path, read.name, read.description, listSynonyms(read.ai_context));
    const named = tables.filter((table) => formula.includes(table));
    const mapped = named.length > 0 ? named : tables.length === 1 ? tables : [];
    this.#add('semantic', path, {
      kind: 'metric',
      ...this.#said(read),
      formula,
      source_concepts: [read.name],
      mapped_tables: mapped,
    });
  }

  #said({ name, description }: { name: string; description?: string | undefined }) {
    return { name, description: description || name };
  }

  #withConcept(type: string, path: Path, name: string, description: string | undefined, aliases: string[]): void {
    this.#add('concepts', path, { ...this.#said({ name, description }), type, ...(aliases.length > 0 && { aliases }) });
  }

  #add(list: FoundEntry['list'], path: Path, value: unknown): void {
    if (this.found.length > MAX_ENTRIES) throw tooManyEntries();
    this.found.push({ list, value, line: this.#findLine(...path) });
  }

  #read<S extends z.ZodType>(schema: S, value: unknown, path: Path): z.output<S> | undefined {
    const { data, error } = schema.safeParse(value);
    for (const issue of error?.issues.slice(0, 20) ?? []) {
      this.error([...path, ...(issue.path as Path)], `${issue.path.join('.') || 'it'}: ${issue.message}`);
    }
    return data;
  }
}
