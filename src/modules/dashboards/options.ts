import type { CompanyContext } from '../../context.ts';
import { Failure } from '../../kernel/failure.ts';
import { arrayLiteral, compileTemplate, parseTemplate } from '../../kernel/sql-template.ts';
import { isPostgresError, type TenantSql } from '../../tenant-sql/client.ts';
import { type Cell, runPeopleSql, STANDARD_LIMITS } from '../../tenant-sql/people-sql.ts';
import { openReadonlyDatabase } from '../managed-database/service.ts';
import type { Filter, FilterOption } from './definition.ts';

/** How many options an answer holds; a search finds the others. */
export const MAX_OPTIONS = 1000;

/** The options of a filter and where they come from: the dashboard, its SQL, or a policy that leaves only these. */
export interface FilterOptions {
  options: FilterOption[];
  source: 'static' | 'dynamic' | 'policy';
}

/** Which options: those that policies leave (null for all), and a literal part of label or value in any case. */
export interface OptionsWanted {
  allowed: readonly string[] | null;
  search: string;
}

/**
 * The options of a select or multi_select filter, each value once.
 * @throws Failure `people_sql.*` when the SQL of the options fails, `managed_database.not_provisioned`
 */
export async function filterOptions(
  ctx: CompanyContext,
  { options }: Pick<Filter, 'options'>,
  wanted: OptionsWanted,
): Promise<FilterOptions> {
  const isDynamic = options !== null && !Array.isArray(options);
  const known = isDynamic ? await queried(ctx, options.sql, wanted) : (options ?? []);
  const left = wanted.allowed === null ? known : labelled(wanted.allowed, known);
  const search = wanted.search.toLowerCase();
  const found = left.filter(({ label, value }) => [label, value].some((text) => text.toLowerCase().includes(search)));
  const byValue = new Map(found.toReversed().map((option) => [option.value, option]));
  return {
    options: [...byValue.values()].reverse().slice(0, MAX_OPTIONS),
    source: wanted.allowed !== null ? 'policy' : isDynamic ? 'dynamic' : 'static',
  };
}

/** Each allowed value with its label; one that the options do not know (any more) is its own. */
function labelled(allowed: readonly string[], known: readonly FilterOption[]): FilterOption[] {
  const labels = new Map(known.map(({ label, value }) => [value, label]));
  return allowed.map((value) => ({ value, label: labels.get(value) ?? value }));
}

async function queried(ctx: CompanyContext, template: string, wanted: OptionsWanted): Promise<FilterOption[]> {
  const { text } = compileTemplate(parseTemplate(template), new Map(), new Map());
  const sql = await openReadonlyDatabase(ctx);
  try {
    const rows = await rowsOf(sql, text, wanted);
    return rows.flatMap(([value, label]) =>
      value === null ? [] : [{ value: String(value), label: String(label ?? value) }],
    );
  } finally {
    ctx.defer(sql.close());
  }
}

/** Values and labels as texts, narrowed in the database, so that a search finds one among millions. */
async function rowsOf(sql: TenantSql, text: string, { allowed, search }: OptionsWanted): Promise<Cell[][]> {
  const values = [allowed === null && search !== '' ? search : null, allowed === null ? null : arrayLiteral(allowed)];
  const run = async (columns: string, label: string) => {
    const statement = `SELECT value::text, ${label}::text FROM (\n${text}\n) AS option(${columns})
      WHERE value IS NOT NULL
        AND ($1::text IS NULL OR strpos(lower(value::text), lower($1)) > 0 OR strpos(lower(${label}::text), lower($1)) > 0)
        AND ($2::text[] IS NULL OR value::text = ANY ($2))`;
    const { rows } = await runPeopleSql(sql, { text: statement, values }, { ...STANDARD_LIMITS, rows: MAX_OPTIONS });
    return rows;
  };
  try {
    return await run('value, label', 'label');
  } catch (error) {
    if (!hasOneColumn(error)) throw error;
    return run('value', 'value');
  }
}

/** More names than columns: the SQL gives values alone. */
const hasOneColumn = (error: unknown): boolean =>
  error instanceof Failure && isPostgresError(error.cause) && error.cause.code === '42P10';
