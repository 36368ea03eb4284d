import type { CompanyContext } from '../../context.ts';
import { type CompiledSql, compileTemplate, usedSlugs } from '../../kernel/compiled-sql.ts';
import { Failure, invalid } from '../../kernel/failure.ts';
import { type BoundValue, type BoundValues, defaultOf, isChoice, type Parameter } from '../../kernel/parameters.ts';
import { policyViolation } from '../../kernel/sharing-failures.ts';
import { allowsNothing } from '../../kernel/sharing-values.ts';
import { TemplateError, templateOf } from '../../kernel/sql-template.ts';
import { logError } from '../../platform/log.ts';
import type { TenantSql } from '../../tenant-sql/client.ts';
import { queryFailed, queryTimedOut } from '../../tenant-sql/failures.ts';
import { type ByteBudget, runUserSql, STANDARD_LIMITS, type UserSqlResult } from '../../tenant-sql/user-sql.ts';
import { openReadonlyDatabase } from '../managed-database/service.ts';
import { kindsOf } from './definition.ts';
import type { Visualization } from './store.ts';

/** A visualization and the values to run it with. A parameter without one takes its own default. */
export interface Run {
  visualization: Pick<Visualization, 'id' | 'sql' | 'parameters'>;
  values: BoundValues;
  /** Slugs with enforced values: SQL that has such a parameter and does not use it is not run. */
  enforced?: ReadonlySet<string>;
}

/** How a run ended: with a result or a failure. */
export type Execution = { visualizationId: string; durationMs: number; cached: boolean } & (
  | { result: UserSqlResult }
  | { failure: Failure }
);

/** How many statements of one request run at once, each on a connection of its own. */
const MAX_CONNECTIONS = 4;
/** Limits of one request, however many statements it runs. */
const TOTAL_MILLISECONDS = 30_000;
const TOTAL_BYTES = 20 * 1024 * 1024;

/** What the runs of one request share. */
interface Shared {
  /** The runs that are left, each with its place among the results. */
  waiting: [place: number, run: Run][];
  endsAt: number;
  budget: ByteBudget;
  /** Why there was no connection. */
  unavailable?: Failure;
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
  await Promise.all(
    Array.from({ length: Math.min(MAX_CONNECTIONS, runs.length) }, () => runOnConnection(ctx, shared, executions)),
  );
  // Runs that a lost connection gave back when the others had ended already.
  if (shared.waiting.length > 0 && shared.waiting.length < runs.length) await runOnConnection(ctx, shared, executions);
  const { waiting, unavailable } = shared;
  if (unavailable && waiting.length === runs.length) throw unavailable;
  if (unavailable && waiting.length > 0)
    logError('database_unavailable', unavailable, { company_id: ctx.actor.companyId });
  for (const [place, { visualization }] of waiting) {
    executions[place] = {
      visualizationId: visualization.id,
      durationMs: 0,
      cached: false,
      failure: unavailable as Failure,
    };
  }
  return executions;
}

/**
 * Runs what is left on one connection. A run whose connection is lost is given back; without a connection (a role may
 * have only so many) the others do the work.
 */
async function runOnConnection(ctx: CompanyContext, shared: Shared, executions: Execution[]): Promise<void> {
  let sql: TenantSql | undefined;
  let hasWorked = false;
  try {
    for (let next = shared.waiting.shift(); next; next = shared.waiting.shift()) {
      if (sql === undefined || sql.closed) {
        sql = await openReadonlyDatabase(ctx);
        hasWorked = false;
      }
      const [place, run] = next;
      const execution = await executeOne(sql, run, shared);
      if ('failure' in execution && execution.failure.kind === 'unavailable') {
        shared.waiting.unshift(next);
        shared.unavailable = execution.failure;
        sql.drop();
        if (!hasWorked) return;
      } else {
        executions[place] = execution;
        hasWorked = true;
      }
    }
  } finally {
    // The answer need not wait for it.
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

async function resultOf(
  sql: TenantSql,
  { visualization, values, enforced }: Run,
  shared: Shared,
): Promise<UserSqlResult> {
  const left = Math.floor(shared.endsAt - performance.now());
  if (left <= 0) throw queryTimedOut();
  const own = ownValues(visualization.parameters, values);
  const used = usedSlugs(templateOf(visualization.sql), own);
  if (visualization.parameters.some(({ slug }) => enforced?.has(slug) && !used.has(slug))) throw policyViolation();
  const seesNothing = [...own.values()].some(allowsNothing);
  return runUserSql(sql, compiled(visualization, own), {
    ...STANDARD_LIMITS,
    // A viewer who may see nothing gets no rows, whatever the SQL answers.
    ...(seesNothing && { rows: 0 }),
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

/** Whether a parameter of this kind can take a filter's value. */
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
