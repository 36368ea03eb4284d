import { isAllowed } from '../../../access/requirements.ts';
import type { PrincipalContext } from '../../../context.ts';
import { formatPlainJson, makeTextScalar, writeYaml } from '../../../formats/yaml/write.ts';
import { isInvalidInput } from '../../../kernel/failure.ts';
import { quoteIdentifier } from '../../../tenant-sql/identifiers.ts';
import { type AnsiSql, writeAnsiDimension, writeAnsiMetric } from '../metrics/ansi.ts';
import { listTableNames, type SemanticItem } from '../metrics/definition.ts';
import { ExpressionError, isTimeType, type Table, type ValueType } from '../metrics/expression.ts';
import { MetricModel } from '../metrics/model.ts';
import { parseColumnName, parseRelations } from '../metrics/relations.ts';
import { readTables } from '../metrics/tables.ts';
import { normalizeName } from '../resources/definition.ts';
import { compareByCodePoint, type KnowledgeExport } from './export.ts';
import { OSSIE_VERSION, VENDOR_NAME } from './ossie.ts';

const OSSIE_DATA_TYPES: Record<ValueType, string> = {
  text: 'String',
  integer: 'Integer',
  decimal: 'Decimal',
  boolean: 'Boolean',
  date: 'Date',
  datetime: 'DateTimeTz',
  uuid: 'String',
  interval: 'Opaque',
};

const sortByName = <T extends { name: string }>(items: Iterable<T>): T[] =>
  [...items].toSorted((a, b) => compareByCodePoint(a.name, b.name));

/**
 * Builds an Apache Ossie semantic model of the knowledge, in YAML: mapped tables as datasets, dimensions as their fields, and
 * metrics as expressions with the metrics they build on expanded. Tables that do not exist, or not yet, are datasets too, as far
 * as items describe them. An extension contains our whole document, as JSON, so that importing it loses nothing. Without a
 * dataset there is no model: a model must have one.
 */
export async function buildSemanticModel(
  ctx: PrincipalContext,
  { document, resources }: KnowledgeExport,
): Promise<string> {
  const semanticItems = resources.filter(({ resourceType }) => resourceType === 'semantic');
  const toItem = ({ id, content }: KnowledgeExport['resources'][number]) =>
    ({ ...content, id }) as SemanticItem & { description: string };
  const items = semanticItems.filter(({ validationErrors }) => validationErrors.length === 0).map(toItem);
  const texts = items.flatMap((item) => item.mapped_relations);
  const describedItems = semanticItems.map(toItem);
  const describedNames = describedItems.flatMap((item) => listTableNames(item).flat());
  const foundTables = await readTables(ctx, describedNames);
  // Who may not see a table is told neither its columns nor what is computed of it.
  const tables = foundTables.filter(({ id }) => isAllowed(ctx.actor, 'managed-tables:list', id));
  const metrics = new Map(
    items.filter(({ kind }) => kind === 'metric').map((item) => [normalizeName(item.name), item]),
  );
  const model = new MetricModel(tables, texts, (name) => metrics.get(normalizeName(name)));

  const findNamedTables = (idsOrNames: readonly string[]) =>
    tables.filter(({ id, name }) => idsOrNames.includes(id) || idsOrNames.includes(name));
  const mappedTables = new Set(describedItems.flatMap((item) => findNamedTables(listTableNames(item).flat())));
  const fields = Map.groupBy(
    items
      .filter(({ kind }) => kind === 'dimension')
      .flatMap((item) => toNamedSql(item, () => writeAnsiDimension(model, item))),
    ({ tables: [table] }) => table as Table,
  );
  const metricSqls = [...metrics.values()].flatMap((item) => toNamedSql(item, () => writeAnsiMetric(model, item)));
  const semanticModel = {
    name: 'data_console',
    datasets: sortByName([
      ...[...mappedTables].map((table) => toDataset(table, fields.get(table) ?? [])),
      ...buildMissingDatasets(describedItems, foundTables),
    ]),
    relationships: sortByName(parseRelations(texts, tables).map(toRelationship)),
    metrics: sortByName(metricSqls).map(({ name, description, sql, type }) => ({
      name,
      expression: toAnsiExpression(sql),
      description,
      datatype: OSSIE_DATA_TYPES[type],
    })),
    custom_extensions: [{ vendor_name: VENDOR_NAME, data: makeTextScalar(formatPlainJson(document)) }],
  };
  const { datasets } = semanticModel;
  return writeYaml({ version: OSSIE_VERSION, semantic_model: datasets.length > 0 ? [semanticModel] : [] });
}

type NamedSql = AnsiSql & { name: string; description: string };

/** Writes an item as SQL; an empty list for an item that cannot be computed. */
function toNamedSql(
  { name, description }: { name: string; description: string },
  writeSql: () => AnsiSql | null,
): NamedSql[] {
  try {
    const ansiSql = writeSql();
    return ansiSql ? [{ ...ansiSql, name, description }] : [];
  } catch (error) {
    if (error instanceof ExpressionError || isInvalidInput(error)) return [];
    throw error;
  }
}

const toAnsiExpression = (expression: string) => ({ dialects: [{ dialect: 'ANSI_SQL', expression }] });

const toDataset = (table: Table, fields: readonly NamedSql[]) => ({
  name: table.name,
  source: `public.${table.name}`,
  primary_key: ['id'],
  fields: sortByName(fields).map(({ name, description, sql, type }) => ({
    name,
    expression: toAnsiExpression(sql),
    dimension: { is_time: isTimeType(type) },
    description,
    datatype: OSSIE_DATA_TYPES[type],
  })),
});

/** Builds datasets for the tables that items map but that do not exist, with the columns that dimensions map. */
function buildMissingDatasets(items: readonly (SemanticItem & { description: string })[], tables: readonly Table[]) {
  const knownNames = new Set(tables.flatMap(({ id, name }) => [id, name]));
  const names = new Set(items.flatMap((item) => listTableNames(item).flat()).filter((name) => !knownNames.has(name)));
  return [...names].map((name) => ({
    name,
    source: `public.${name}`,
    fields: sortByName(
      items.flatMap((item) => {
        const [text = '', ...others] = item.mapped_columns;
        const mappedColumn = parseColumnName(text);
        const isField = item.kind === 'dimension' && item.formula === null && others.length === 0;
        if (!isField || mappedColumn?.table !== name) return [];
        const expression = toAnsiExpression(`${quoteIdentifier(name)}.${quoteIdentifier(mappedColumn.column)}`);
        return [{ name: item.name, expression, description: item.description }];
      }),
    ),
  }));
}

const toRelationship = ({ manyEnd, oneEnd }: ReturnType<typeof parseRelations>[number]) => ({
  name: `${manyEnd.table.name}.${manyEnd.column} = ${oneEnd.table.name}.${oneEnd.column}`,
  from: manyEnd.table.name,
  to: oneEnd.table.name,
  from_columns: [manyEnd.column],
  to_columns: [oneEnd.column],
});
