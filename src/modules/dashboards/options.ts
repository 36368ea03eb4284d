import type { CompanyContext } from '../../context.ts';
import type { Filter, FilterOption } from '../../db/schema/dashboards.ts';
import { Failure } from '../../kernel/failure.ts';
import { toComparedText } from '../../kernel/text.ts';
import { makeOptionsRule, type OptionsRule } from '../../sharing/filters.ts';
import type { ViewerRules } from '../../sharing/rules.ts';
import { allowsNothing } from '../../sharing/values.ts';
import { type CompiledSql, formatArrayLiteral, listUsedSlugs } from '../../sql-templates/compiled.ts';
import type { BoundValues } from '../../sql-templates/parameters.ts';
import { getTemplate } from '../../sql-templates/template.ts';
import { isPostgresError, type TenantSql } from '../../tenant-sql/client.ts';
import { queryTimedOut } from '../../tenant-sql/failures.ts';
import { makeContainsSql } from '../../tenant-sql/row-filters.ts';
import { type Cell, runUserSql, STANDARD_LIMITS } from '../../tenant-sql/user-sql.ts';
import { openReadonlyDatabase } from '../managed-database/service.ts';
import { compileOrFail } from '../visualizations/service.ts';
import { getOptionsSql } from './inputs.ts';

/** The maximum number of options in a response. A search finds the others. */
const MAX_OPTIONS = 1000;

/** The options of a filter and their source: the dashboard, its SQL, or a policy that allows only these. */
export interface FilterOptions {
  options: FilterOption[];
  /** The origin of the options: the filter itself, its SQL, or the values that policies allow. */
  source: 'static' | 'dynamic' | 'policy';
}

/** A filter by its slug, and a literal part of label or value, in any case. */
export interface OptionsQuery {
  slug: string;
  search: string;
}

/** The options that a request reads: those of a rule that match the search. */
type OptionsRequest = OptionsRule & Pick<OptionsQuery, 'search'>;

/**
 * Reads the options of a filter that a viewer may choose under these rules. @param query runs the database queries; static
 * options need none
 */
export async function readAllowedOptions(
  ctx: CompanyContext,
  { filters }: { filters: readonly Filter[] },
  rules: ViewerRules,
  { slug, search }: OptionsQuery,
  query: <T>(runQueries: () => Promise<T>) => Promise<T> = (work) => work(),
) {
  const filter = filters.find((candidate) => candidate.slug === slug) ?? { options: null };
  const sql = getOptionsSql(filter.options);
  const findUsedSlugs = sql === null ? null : (values: BoundValues) => listUsedSlugs(getTemplate(sql), values);
  const rule = makeOptionsRule(rules, slug, findUsedSlugs);
  const findOptions = () => readFilterOptions(ctx, filter, filters, { ...rule, search });
  return { filter_slug: slug, ...(await (sql === null ? findOptions() : query(findOptions))) };
}

/**
 * Reads the options of a select or multi_select filter: each value once, without empty values. @param filters all filters of the
 * dashboard
 */
export async function readFilterOptions(
  ctx: CompanyContext,
  { options }: Pick<Filter, 'options'>,
  filters: readonly Filter[],
  request: OptionsRequest,
): Promise<FilterOptions> {
  const sql = getOptionsSql(options);
  const allOptions =
    sql === null ? ((options ?? []) as FilterOption[]) : await queryOptions(ctx, sql, filters, request);
  const labels = new Map(allOptions.map(({ label, value }) => [value, label]));
  // A value that is not (or no longer) an option is its own label.
  const allowedOptions =
    request.allowedValues?.map((value) => ({ value, label: labels.get(value) ?? value })) ?? allOptions;
  const search = toComparedText(request.search);
  const matchingOptions = allowedOptions.filter(
    ({ label, value }) => value !== '' && [label, value].some((text) => toComparedText(text).includes(search)),
  );
  const optionsByValue = new Map(matchingOptions.toReversed().map((option) => [option.value, option]));
  return {
    options: [...optionsByValue.values()].reverse().slice(0, MAX_OPTIONS),
    source: request.allowedValues !== null ? 'policy' : sql === null ? 'static' : 'dynamic',
  };
}

async function queryOptions(
  ctx: CompanyContext,
  template: string,
  filters: readonly Filter[],
  request: OptionsRequest,
): Promise<FilterOption[]> {
  const { boundValues } = request;
  // A viewer who may see nothing gets no options, whatever the SQL answers.
  if (boundValues === null || [...boundValues.values()].some(allowsNothing)) return [];
  const compiledSql = compileOrFail({ sql: template, parameters: filters }, boundValues);
  const sql = await openReadonlyDatabase(ctx);
  try {
    const rows = await readRows(sql, compiledSql, request);
    return rows.map(([value, label]) => ({ value: String(value), label: String(label ?? value) }));
  } finally {
    ctx.defer(sql.close());
  }
}

/**
 * Reads values and labels as texts, filtered in the database, so that a search finds one among millions. Where equal values
 * leave too few among the first rows, the database reads all rows and returns each value once, in the order of the first ones.
 */
async function readRows(
  sql: TenantSql,
  compiledSql: CompiledSql,
  { allowedValues, search }: OptionsRequest,
): Promise<Cell[][]> {
  const searchText = allowedValues === null && search !== '' ? search : null;
  const values = [...compiledSql.values, searchText, allowedValues === null ? null : formatArrayLiteral(allowedValues)];
  const placeholder = `$${values.length - 1}::text`;
  const allowedValuesSql = `$${values.length}::text[]`;
  const runQuery = async (columns: string, label: string) => {
    const statement = `SELECT value::text, ${label}::text FROM (\n${compiledSql.text}\n) AS option(${columns})
      WHERE value::text <> ''
        AND (${placeholder} IS NULL OR ${makeContainsSql('value::text', placeholder)} OR ${makeContainsSql(`${label}::text`, placeholder)})
        AND (${allowedValuesSql} IS NULL OR value::text = ANY (${allowedValuesSql}))`;
    const runText = (text: string) => runUserSql(sql, { text, values }, { ...STANDARD_LIMITS, maxRows: MAX_OPTIONS });
    const { rows, truncated } = await runText(statement);
    if (!truncated || new Set(rows.map(([value]) => value)).size === rows.length) return rows;
    // Where that takes too long, the first ones are better than none.
    const distinctRows = await runText(`SELECT value, label FROM (
      SELECT DISTINCT ON (value COLLATE "C") value, label, place FROM (
        SELECT row_number() OVER () AS place, * FROM (\n${statement}\n) AS option(value, label)
      ) AS placed ORDER BY value COLLATE "C", place
    ) AS first_of_value ORDER BY place`).catch((error) => {
      if (queryTimedOut.matches(error)) return { rows };
      throw error;
    });
    return distinctRows.rows;
  };
  try {
    return await runQuery('value, label', 'label');
  } catch (error) {
    if (!hasOneColumn(error)) throw error;
    return runQuery('value', 'value');
  }
}

/** Tells whether Postgres rejected two column names for the options' SQL because it returns only one column. */
const hasOneColumn = (error: unknown): boolean =>
  error instanceof Failure && isPostgresError(error.cause) && error.cause.code === '42P10';
