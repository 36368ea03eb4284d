import type { CompanyContext } from '../../context.ts';
import { Failure, invalid } from '../../kernel/failure.ts';
import { type BoundValue, type BoundValues, defaultOf, isChoice, type Parameter } from '../../kernel/parameters.ts';
import { isNothing, policyViolation } from '../../kernel/sharing-rules.ts';
import { type CompiledSql, compileTemplate, TemplateError, templateOf, usedSlugs } from '../../kernel/sql-template.ts';
import { logError } from '../../platform/log.ts';
import type { TenantSql } from '../../tenant-sql/client.ts';
import { queryFailed, queryTimedOut } from '../../tenant-sql/failures.ts';
import { type ByteBudget, runUserSql, STANDARD_LIMITS, type UserSqlResult } from '../../tenant-sql/user-sql.ts';
import { openReadonlyDatabase } from '../managed-database/service.ts';
import { kindsOf } from './definition.ts';
import type { Visualization } from './store.ts';

/** A visualization with the values that it runs with. A parameter that has none there takes its own default. */
export interface Run {
  visualization: Pick<Visualization, 'id' | 'sql' | 'parameters'>;
  values: BoundValues;
  /** Slugs that a viewer is held to: SQL that has a parameter of that name, and leaves it out, is not run. */
  held?: ReadonlySet<string>;
}

/** How a run ended: with a result, or with the failure that kept it from one. */
export type Execution = { visualizationId: string; durationMs: number; cached: boolean } & (
  | { result: UserSqlResult }
  | { failure: Failure }
);

/** How many statements of one request run side by side, each on a connection of its own. */
const LANES = 4;
/** What one request may take altogether, however many statements it runs. */
const TOTAL_MILLISECONDS = 30_000;
const TOTAL_BYTES = 20 * 1024 * 1024;

/** What the runs of one request share. */
interface Shared {
  /** What is still to run, with its place among the results. */
  waiting: [place: number, run: Run][];
  endsAt: number;
  budget: ByteBudget;
  /** Why a connection could not be had. */
  down?: Failure;
}

/**
 * Runs visualizations side by side, within a bound, under the company's read-only login. One that fails does not fail the
 * others.
 * @returns how each ended, in order
 */
export async function execute(ctx: CompanyContext, runs: readonly Run[]): Promise<Execution[]> {
  const executions: Execution[] = [];
  const shared: Shared = {
    waiting: [...runs.entries()],
    endsAt: performance.now() + TOTAL_MILLISECONDS,
    budget: { left: TOTAL_BYTES },
  };
  await Promise.all(Array.from({ length: Math.min(LANES, runs.length) }, () => lane(ctx, shared, executions)));
  // What came back when the other lanes had ended already.
  if (shared.waiting.length > 0 && shared.waiting.length < runs.length) await lane(ctx, shared, executions);
  const { waiting, down } = shared;
  if (down && waiting.length === runs.length) throw down;
  if (down && waiting.length > 0) logError('database_unavailable', down, { company_id: ctx.actor.companyId });
  for (const [place, { visualization }] of waiting) {
    executions[place] = { visualizationId: visualization.id, durationMs: 0, cached: false, failure: down as Failure };
  }
  return executions;
}

/**
 * Runs what waits until nothing is left. What a lost connection was running waits for another one; a lane that gets none
 * (a role may have only so many) leaves the work to the others.
 */
async function lane(ctx: CompanyContext, shared: Shared, executions: Execution[]): Promise<void> {
  let sql: TenantSql | undefined;
  let proven = false;
  try {
    for (let next = shared.waiting.shift(); next; next = shared.waiting.shift()) {
      if (sql === undefined || sql.closed) {
        sql = await openReadonlyDatabase(ctx);
        proven = false;
      }
      const [place, run] = next;
      const execution = await executeOne(sql, run, shared);
      if ('failure' in execution && execution.failure.kind === 'unavailable') {
        shared.waiting.unshift(next);
        shared.down = execution.failure;
        sql.drop();
        if (!proven) return;
      } else {
        executions[place] = execution;
        proven = true;
      }
    }
  } finally {
    // The answer need not wait until the goodbye is said.
    if (sql) ctx.defer(sql.close());
  }
}

async function executeOne(sql: TenantSql, run: Run, shared: Shared): Promise<Execution> {
  const startedAt = performance.now();
  const outcome = await resultOf(sql, run, shared).then(
    (result) => ({ result }),
    (error: unknown) => {
      if (!(error instanceof Failure)) throw error;
      return { failure: error };
    },
  );
  const durationMs = Math.round(performance.now() - startedAt);
  return { visualizationId: run.visualization.id, durationMs, cached: false, ...outcome };
}

async function resultOf(sql: TenantSql, { visualization, values, held }: Run, shared: Shared): Promise<UserSqlResult> {
  const left = Math.floor(shared.endsAt - performance.now());
  if (left <= 0) throw queryTimedOut();
  const own = ownValues(visualization.parameters, values);
  const used = usedSlugs(templateOf(visualization.sql), own);
  if (visualization.parameters.some(({ slug }) => held?.has(slug) && !used.has(slug))) throw policyViolation();
  const nothing = [...own.values()].some(isNothing);
  return runUserSql(sql, compiled(visualization, own), {
    ...STANDARD_LIMITS,
    // Where a viewer may see nothing, no SQL could say otherwise.
    ...(nothing && { rows: 0 }),
    milliseconds: Math.min(STANDARD_LIMITS.milliseconds, left),
    budget: shared.budget,
  });
}

/** A value for each of a visualization's parameters. */
function ownValues(parameters: readonly Parameter[], values: BoundValues): BoundValues {
  return new Map(
    parameters.map((parameter): [string, BoundValue] => {
      const { slug, kind, required } = parameter;
      const value = values.has(slug) ? (values.get(slug) as BoundValue) : defaultOf(parameter);
      if (value === null && required) throw invalid([{ field: `parameters.${slug}`, message: 'is required' }]);
      if (value !== null && !fits(kind, value)) {
        throw invalid([{ field: `parameters.${slug}`, message: `is a ${kind} here, unlike the filter of this name` }]);
      }
      return [slug, value];
    }),
  );
}

/** Whether a filter's value can stand for a parameter of this kind. */
function fits(kind: Parameter['kind'], value: NonNullable<BoundValue>): boolean {
  if (isChoice(kind) || kind === 'text') return value.type === 'list' || value.type === 'text';
  return value.type === (kind === 'date_range' ? 'range' : kind);
}

function compiled({ sql, parameters }: Run['visualization'], values: BoundValues): CompiledSql {
  try {
    return compileTemplate(templateOf(sql), kindsOf(parameters), values);
  } catch (error) {
    throw error instanceof TemplateError ? queryFailed().because(error) : error;
  }
}
