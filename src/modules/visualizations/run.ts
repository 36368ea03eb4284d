import type { CompanyContext } from '../../context.ts';
import { Failure, invalid } from '../../kernel/failure.ts';
import { charactersBefore } from '../../kernel/text.ts';
import { pauseBeforeRetry } from '../../platform/concurrency.ts';
import { logError } from '../../platform/log.ts';
import { policyViolation } from '../../sharing/failures.ts';
import { allowsNothing } from '../../sharing/values.ts';
import { type CompiledSql, compileTemplate, placeInTemplate, usedSlugs } from '../../sql-templates/compiled.ts';
import {
  type BoundValue,
  type BoundValues,
  getDefault,
  isChoice,
  type Parameter,
} from '../../sql-templates/parameters.ts';
import { getTemplate, TemplateError } from '../../sql-templates/template.ts';
import type { TenantSql } from '../../tenant-sql/client.ts';
import { databaseUnavailable, queryFailed, queryTimedOut } from '../../tenant-sql/failures.ts';
import {
  type ByteBudget,
  findFailedIndex,
  type LimitedStatement,
  runAllUserSql,
  STANDARD_LIMITS,
  type UserSqlResult,
} from '../../tenant-sql/user-sql.ts';
import { openAnotherReadonlyDatabase, openReadonlyDatabase } from '../managed-database/service.ts';
import { mapKinds } from './definition.ts';
import type { Visualization } from './store.ts';

/** A visualization and the values to run it with. A parameter without one takes its own default. */
export interface Run {
  visualization: Pick<Visualization, 'id' | 'sql' | 'parameters'>;
  values: BoundValues;
  /** Slugs with enforced values: SQL that has such a parameter and does not use it is not run. */
  enforced?: ReadonlySet<string>;
}

/** The outcome of a run: a result or a failure. */
export type Execution = { visualizationId: string; durationMs: number; cached: boolean } & (
  | { result: UserSqlResult }
  | { failure: Failure }
);

/** The number of connections of one request, where others do not wait for them. */
const MAX_CONNECTIONS = 4;
/** The number of statements that are sent to a connection at once: a slow one keeps those that were sent with it waiting. */
const MAX_SENT = 4;
/** A request whose connection failed before any run ended is retried once, unless the failure took longer than this. */
const MAX_FIRST_TRY_MS = 10_000;
/** Limits of one request, however many statements it runs. */
const TOTAL_MILLISECONDS = 30_000;
const TOTAL_BYTES = 20 * 1024 * 1024;

/** The state that the runs of one request share. */
interface RunState {
  /** The runs that are left, each with its index among the results. */
  waiting: [index: number, run: Run][];
  endsAt: number;
  budget: ByteBudget;
  /** The number of connections that have not taken their share. */
  connections: number;
  /** The failure, where there was no connection. */
  unavailable?: Failure;
}

/**
 * Runs visualizations side by side, within a bound, under the company's read-only login. One that fails does not fail the others.
 * @param maxConnections how many connections it may use at once
 * @returns the outcome of each, in order
 */
export async function execute(
  ctx: CompanyContext,
  runs: readonly Run[],
  maxConnections = MAX_CONNECTIONS,
): Promise<Execution[]> {
  const executions: Execution[] = [];
  const startedAt = performance.now();
  const shared: RunState = {
    waiting: [...runs.entries()],
    endsAt: startedAt + TOTAL_MILLISECONDS,
    budget: { left: TOTAL_BYTES },
    connections: 0,
  };
  const gotNowhere = () => shared.unavailable !== undefined && shared.waiting.length === runs.length;
  await runOnConnections(ctx, shared, executions, maxConnections);
  if (gotNowhere() && performance.now() - startedAt < MAX_FIRST_TRY_MS) {
    await pauseBeforeRetry();
    await runOnConnections(ctx, shared, executions, maxConnections);
  }
  // Runs that a lost connection gave back when the others had ended already.
  if (shared.waiting.length > 0 && !gotNowhere()) await runOnConnections(ctx, shared, executions, 1);
  const { waiting, unavailable } = shared;
  if (unavailable && waiting.length === runs.length) throw unavailable;
  if (unavailable && waiting.length > 0)
    logError('database_unavailable', unavailable, { company_id: ctx.actor.companyId });
  for (const [index, { visualization }] of waiting) {
    executions[index] = {
      visualizationId: visualization.id,
      durationMs: 0,
      cached: false,
      failure: unavailable as Failure,
    };
  }
  return executions;
}

/** A run with its index among the results. */
type PendingRun = RunState['waiting'][number];

/** Removes the runs for one connection from the waiting ones: an equal share, at most as many as are sent at once. */
const takeRuns = ({ waiting }: RunState, connections: number): PendingRun[] =>
  waiting.splice(0, Math.min(MAX_SENT, Math.ceil(waiting.length / Math.max(1, connections))));

/** Runs the remaining statements on the first free connection, and on further ones for which nobody is waiting. */
async function runOnConnections(
  ctx: CompanyContext,
  shared: RunState,
  executions: Execution[],
  most: number,
): Promise<void> {
  const wanted = Math.min(most, shared.waiting.length);
  const opened: TenantSql[] = [];
  while (opened.length < wanted) {
    const sql = await (opened.length === 0 ? openedOrUndefined(ctx, shared) : openAnotherReadonlyDatabase(ctx));
    if (!sql) break;
    opened.push(sql);
  }
  shared.connections = opened.length;
  await Promise.all(opened.map((sql) => runOnConnection(ctx, sql, shared, executions)));
}

async function openedOrUndefined(ctx: CompanyContext, shared: RunState): Promise<TenantSql | undefined> {
  try {
    return await openReadonlyDatabase(ctx);
  } catch (error) {
    if (!databaseUnavailable.matches(error)) throw error;
    shared.unavailable = error;
    return undefined;
  }
}

/**
 * Runs the remaining statements on one connection. Runs whose connection is lost are given back; without a connection (a role may
 * have only so many) the others do the work.
 */
async function runOnConnection(
  ctx: CompanyContext,
  first: TenantSql,
  shared: RunState,
  executions: Execution[],
): Promise<void> {
  let sql = first;
  let hasWorked = false;
  try {
    let next = takeRuns(shared, shared.connections);
    shared.connections -= 1;
    for (; next.length > 0; next = takeRuns(shared, MAX_CONNECTIONS)) {
      if (sql.closed) {
        const another = await openedOrUndefined(ctx, shared);
        if (!another) {
          shared.waiting.unshift(...next);
          return;
        }
        sql = another;
        hasWorked = false;
      }
      const lost: PendingRun[] = [];
      for (const [index, execution] of (await executeAll(sql, next, shared)).entries()) {
        const run = next[index] as PendingRun;
        if ('failure' in execution && execution.failure.kind === 'unavailable') {
          lost.push(run);
          shared.unavailable = execution.failure;
        } else {
          executions[run[0]] = execution;
          hasWorked = true;
        }
      }
      if (lost.length === 0) continue;
      shared.waiting.unshift(...lost);
      sql.drop();
      if (!hasWorked) return;
    }
  } finally {
    // The answer need not wait for it.
    ctx.defer(sql.close());
  }
}

/** Runs these on one connection, sent at once. @returns the outcome of each */
async function executeAll(sql: TenantSql, pending: PendingRun[], shared: RunState): Promise<Execution[]> {
  const startedAt = performance.now();
  const prepared = pending.map(([, run]) => prepareOrFailure(run, shared));
  const statements = prepared.filter((each): each is LimitedStatement => !(each instanceof Failure));
  const results = runAllUserSql(sql, statements);
  return Promise.all(
    prepared.map(async (each, index) => {
      const outcome =
        each instanceof Failure ? { failure: each } : await settle(results[statements.indexOf(each)] as Result);
      const durationMs = Math.round(performance.now() - startedAt);
      const { visualization } = (pending[index] as PendingRun)[1];
      return { visualizationId: visualization.id, durationMs, cached: false, ...outcome };
    }),
  );
}

type Result = Promise<UserSqlResult>;

const settle = (result: Result): Promise<{ result: UserSqlResult } | { failure: Failure }> =>
  result.then(
    (result) => ({ result }),
    (failure: unknown) => {
      if (!(failure instanceof Failure)) throw failure;
      return { failure };
    },
  );

function prepareOrFailure(run: Run, shared: RunState): LimitedStatement | Failure {
  try {
    return prepare(run, shared);
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

function prepare({ visualization, values, enforced }: Run, shared: RunState): LimitedStatement {
  const left = Math.floor(shared.endsAt - performance.now());
  if (left <= 0) throw queryTimedOut();
  const own = ownValues(visualization.parameters, values);
  const used = usedSlugs(getTemplate(visualization.sql), own);
  if (visualization.parameters.some(({ slug }) => enforced?.has(slug) && !used.has(slug))) throw policyViolation();
  const seesNothing = [...own.values()].some(allowsNothing);
  return {
    statement: compileOrFail(visualization, own),
    limits: {
      ...STANDARD_LIMITS,
      // A viewer who may see nothing gets no rows, whatever the SQL answers.
      ...(seesNothing && { rows: 0 }),
      milliseconds: Math.min(STANDARD_LIMITS.milliseconds, left),
      endsAt: shared.endsAt,
      budget: shared.budget,
    },
  };
}

/** Compiles the SQL statement of a run, for callers that execute it themselves. */
export const compileStatement = ({ visualization, values }: Run): CompiledSql =>
  compileOrFail(visualization, ownValues(visualization.parameters, values));

/** A value for each of a visualization's parameters. */
function ownValues(parameters: readonly Parameter[], values: BoundValues): BoundValues {
  return new Map(
    parameters.map((parameter): [string, BoundValue] => {
      const { slug, kind, required } = parameter;
      const value = values.has(slug) ? (values.get(slug) as BoundValue) : getDefault(parameter);
      if (value === null && required) throw invalid([{ field: `parameters.${slug}`, message: 'is required' }]);
      if (value !== null && !fits(kind, value)) {
        throw invalid([
          { field: `parameters.${slug}`, message: `must be a ${kind}: the filter with this name is of another kind` },
        ]);
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

/**
 * The 1-based character of a visualization's SQL at which a run of it failed, where that is known. Characters are Unicode's code
 * points, as PostgreSQL counts them.
 */
export function failedCharacter({ visualization: { sql, parameters }, values }: Run, failure: Failure) {
  if (failure.cause instanceof TemplateError) return charactersBefore(sql, failure.cause.position) + 1;
  const [template, kinds, own] = [getTemplate(sql), mapKinds(parameters), ownValues(parameters, values)];
  const index = findFailedIndex(compileTemplate(template, kinds, own), failure);
  return index === undefined ? undefined : charactersBefore(sql, placeInTemplate(template, kinds, own, index)) + 1;
}

/** Compiles SQL for the values of its parameters. @throws queryFailed where it is no template, or they do not fit */
export function compileOrFail(
  { sql, parameters }: { sql: string; parameters: Parameters<typeof mapKinds>[0] },
  values: BoundValues,
): CompiledSql {
  try {
    return compileTemplate(getTemplate(sql), mapKinds(parameters), values);
  } catch (error) {
    throw error instanceof TemplateError ? queryFailed().because(error) : error;
  }
}
