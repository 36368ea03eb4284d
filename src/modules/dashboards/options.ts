import type { CompanyContext } from '../../context.ts';
import type { Filter, FilterOption } from '../../db/schema/dashboards.ts';
import { Failure } from '../../kernel/failure.ts';
import { optionsRule } from '../../sharing/filters.ts';
import type { ViewerRules } from '../../sharing/rules.ts';
import { allowsNothing } from '../../sharing/values.ts';
import { arrayLiteral, type CompiledSql, usedSlugs } from '../../sql-templates/compiled.ts';
import type { BoundValues } from '../../sql-templates/parameters.ts';
import { getTemplate } from '../../sql-templates/template.ts';
import { isPostgresError, type TenantSql } from '../../tenant-sql/client.ts';
import { type Cell, runUserSql, STANDARD_LIMITS } from '../../tenant-sql/user-sql.ts';
import { openReadonlyDatabase } from '../managed-database/service.ts';
import { compileOrFail } from '../visualizations/service.ts';
import { getOptionsSql } from './inputs.ts';

/** The maximum number of options in an answer. A search finds the others. */
const MAX_OPTIONS = 1000;

/** The options of a filter and where they come from: the dashboard, its SQL, or a policy that leaves only these. */
export interface FilterOptions {
  options: FilterOption[];
  source: 'static' | 'dynamic' | 'policy';
}

/** The options that a request is for. */
interface OptionsRequest {
  /** The options that policies leave; null for all. */
  allowed: readonly string[] | null;
  /** The values of other filters for the options' SQL, by slug; null when it may not run. */
  bound: BoundValues | null;
  /** A literal part of label or value, in any case. */
  search: string;
}

/** A filter by its slug, and a literal part of label or value, in any case. */
export interface OptionsWanted {
  slug: string;
  search: string;
}

/**
 * The options of a filter that somebody may choose under these rules.
 * @param query runs the queries of the database; static options need none
 */
export async function readAllowedOptions(
  ctx: CompanyContext,
  { filters }: { filters: readonly Filter[] },
  rules: ViewerRules,
  { slug, search }: OptionsWanted,
  query: <T>(work: () => Promise<T>) => Promise<T> = (work) => work(),
) {
  const filter = filters.find((each) => each.slug === slug) ?? { options: null };
  const { allowed, bound } = optionsRule(rules, slug, createUsedFilterFinder(filter));
  const find = () => readFilterOptions(ctx, filter, filters, { allowed, bound, search });
  return { filter_slug: slug, ...(await (getOptionsSql(filter.options) === null ? find() : query(find))) };
}

/**
 * Returns a function that finds the slugs of the filters that the SQL of these options uses, for given values; null where the
 * options have no SQL.
 */
function createUsedFilterFinder({ options }: Pick<Filter, 'options'>) {
  const sql = getOptionsSql(options);
  return sql === null ? null : (values: BoundValues) => usedSlugs(getTemplate(sql), values);
}

/**
 * The options of a select or multi_select filter: each value once, without empty values.
 * @param filters all those of the dashboard
 */
export async function readFilterOptions(
  ctx: CompanyContext,
  { options }: Pick<Filter, 'options'>,
  filters: readonly Filter[],
  request: OptionsRequest,
): Promise<FilterOptions> {
  const sql = getOptionsSql(options);
  const known = sql === null ? ((options ?? []) as FilterOption[]) : await queryOptions(ctx, sql, filters, request);
  const left = request.allowed === null ? known : toOptions(request.allowed, known);
  const search = request.search.toLowerCase();
  const found = left.filter(
    ({ label, value }) => value !== '' && [label, value].some((text) => text.toLowerCase().includes(search)),
  );
  const byValue = new Map(found.toReversed().map((option) => [option.value, option]));
  return {
    options: [...byValue.values()].reverse().slice(0, MAX_OPTIONS),
    source: request.allowed !== null ? 'policy' : sql === null ? 'static' : 'dynamic',
  };
}

/** Each allowed value with its label; a value that is no option (any more) is its own label. */
function toOptions(allowed: readonly string[], known: readonly FilterOption[]): FilterOption[] {
  const labels = new Map(known.map(({ label, value }) => [value, label]));
  return allowed.map((value) => ({ value, label: labels.get(value) ?? value }));
}

async function queryOptions(
  ctx: CompanyContext,
  template: string,
  filters: readonly Filter[],
  request: OptionsRequest,
): Promise<FilterOption[]> {
  const { bound } = request;
  // A viewer who may see nothing gets no options, whatever the SQL answers.
  if (bound === null || [...bound.values()].some(allowsNothing)) return [];
  const compiled = compileOrFail({ sql: template, parameters: filters }, bound);
  const sql = await openReadonlyDatabase(ctx);
  try {
    const rows = await readRows(sql, compiled, request);
    return rows.map(([value, label]) => ({ value: String(value), label: String(label ?? value) }));
  } finally {
    ctx.defer(sql.close());
  }
}

/** Values and labels as texts, narrowed in the database, so that a search finds one among millions. */
async function readRows(sql: TenantSql, compiled: CompiledSql, { allowed, search }: OptionsRequest): Promise<Cell[][]> {
  const searched = allowed === null && search !== '' ? search : null;
  const values = [...compiled.values, searched, allowed === null ? null : arrayLiteral(allowed)];
  const [part, among] = [`$${values.length - 1}::text`, `$${values.length}::text[]`];
  const run = async (columns: string, label: string) => {
    const statement = `SELECT value::text, ${label}::text FROM (\n${compiled.text}\n) AS option(${columns})
      WHERE value::text <> ''
        AND (${part} IS NULL OR strpos(lower(value::text), lower(${part})) > 0 OR strpos(lower(${label}::text), lower(${part})) > 0)
        AND (${among} IS NULL OR value::text = ANY (${among}))`;
    const { rows } = await runUserSql(sql, { text: statement, values }, { ...STANDARD_LIMITS, rows: MAX_OPTIONS });
    return rows;
  };
  try {
    return await run('value, label', 'label');
  } catch (error) {
    if (!hasOneColumn(error)) throw error;
    return run('value', 'value');
  }
}

/** Whether Postgres rejected two column names for the SQL of options, because it returns one column: values without labels. */
const hasOneColumn = (error: unknown): boolean =>
  error instanceof Failure && isPostgresError(error.cause) && error.cause.code === '42P10';
