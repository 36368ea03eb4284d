import type { CompanyContext } from '../../context.ts';
import { Failure, invalidInput } from '../../kernel/failure.ts';
import { countCharactersBefore } from '../../kernel/text.ts';
import { pauseBeforeRetry } from '../../platform/concurrency.ts';
import { logError } from '../../platform/log.ts';
import { policyViolation } from '../../sharing/failures.ts';
import { allowsNothing } from '../../sharing/values.ts';
import { type CompiledSql, compileTemplate, findTemplateIndex, listUsedSlugs } from '../../sql-templates/compiled.ts';
import {
  type BoundValue,
  type BoundValues,
  getDefault,
  isChoiceKind,
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

/** A visualization and the values to run it with. A parameter without a value takes its own default. */
export interface VisualizationRun {
  visualization: Pick<Visualization, 'id' | 'sql' | 'parameters'>;
  values: BoundValues;
  /** The slugs with enforced values: SQL that has a parameter of such a slug and does not use it is not run. */
  enforced?: ReadonlySet<string>;
}

/** The outcome of a run: a result or a failure. */
export type Execution = { visualizationId: string; durationMs: number; isCached: boolean } & (
  | { result: UserSqlResult }
  | { failure: Failure }
);

/** The maximum number of connections of one request, where no other request waits for them. */
const MAX_CONNECTIONS = 4;
/** The maximum number of statements that are sent to a connection at a time: a slow one delays those that were sent with it. */
const MAX_SENT_STATEMENTS = 4;
/** The maximum duration of a first try that is repeated if its connection failed before any run ended. Milliseconds. */
const MAX_FIRST_TRY_MS = 10_000;
/** The maximum duration of one request, however many statements it runs. */
const MAX_REQUEST_MS = 30_000;
/** The maximum number of bytes that all statements of one request receive from the database. */
const MAX_REQUEST_BYTES = 20 * 1024 * 1024;

/** The state that the runs of one request share. */
interface RunState {
  /** The remaining runs, each with its index among the results. */
  remainingRuns: [index: number, run: VisualizationRun][];
  endsAt: number;
  byteBudget: ByteBudget;
  /** The number of connections that have not yet taken their share of the runs. */
  connectionCount: number;
  /** The failure, where no connection could be opened. */
  connectionFailure?: Failure;
}

/**
 * Runs visualizations concurrently, within a bound, under the company's read-only login. One that fails does not fail the
 * others. @param maxConnections the maximum number of connections used at once @returns the outcome of each run, in the order
 * of `runs`
 */
export async function executeRuns(
  ctx: CompanyContext,
  runs: readonly VisualizationRun[],
  maxConnections = MAX_CONNECTIONS,
): Promise<Execution[]> {
  const executions: Execution[] = [];
  const startedAt = performance.now();
  const runState: RunState = {
    remainingRuns: [...runs.entries()],
    endsAt: startedAt + MAX_REQUEST_MS,
    byteBudget: { remainingBytes: MAX_REQUEST_BYTES },
    connectionCount: 0,
  };
  const hasNoProgress = () => runState.connectionFailure !== undefined && runState.remainingRuns.length === runs.length;
  await runOnConnections(ctx, runState, executions, maxConnections);
  if (hasNoProgress() && performance.now() - startedAt < MAX_FIRST_TRY_MS) {
    await pauseBeforeRetry();
    await runOnConnections(ctx, runState, executions, maxConnections);
  }
  // Runs that a lost connection gave back when the others had ended already.
  if (runState.remainingRuns.length > 0 && !hasNoProgress()) await runOnConnections(ctx, runState, executions, 1);
  const { remainingRuns, connectionFailure } = runState;
  if (connectionFailure && remainingRuns.length === runs.length) throw connectionFailure;
  if (connectionFailure && remainingRuns.length > 0)
    logError('database_unavailable', connectionFailure, { company_id: ctx.actor.companyId });
  for (const [index, { visualization }] of remainingRuns) {
    executions[index] = {
      visualizationId: visualization.id,
      durationMs: 0,
      isCached: false,
      failure: connectionFailure as Failure,
    };
  }
  return executions;
}

/** A run with its index among the results. */
type PendingRun = RunState['remainingRuns'][number];

/** Removes the runs for one connection from the waiting runs: an equal share, at most as many as are sent at a time. */
const takeRuns = ({ remainingRuns }: RunState, connectionCount: number): PendingRun[] =>
  remainingRuns.splice(
    0,
    Math.min(MAX_SENT_STATEMENTS, Math.ceil(remainingRuns.length / Math.max(1, connectionCount))),
  );

/** Runs the remaining statements on the first free connection, and on further connections that no other request waits for. */
async function runOnConnections(
  ctx: CompanyContext,
  runState: RunState,
  executions: Execution[],
  maxConnections: number,
): Promise<void> {
  const wantedConnectionCount = Math.min(maxConnections, runState.remainingRuns.length);
  const openedConnections: TenantSql[] = [];
  while (openedConnections.length < wantedConnectionCount) {
    const sql = await (openedConnections.length === 0
      ? connectOrRecordFailure(ctx, runState)
      : openAnotherReadonlyDatabase(ctx));
    if (!sql) break;
    openedConnections.push(sql);
  }
  runState.connectionCount = openedConnections.length;
  await Promise.all(openedConnections.map((sql) => runOnConnection(ctx, sql, runState, executions)));
}

async function connectOrRecordFailure(ctx: CompanyContext, runState: RunState): Promise<TenantSql | undefined> {
  try {
    return await openReadonlyDatabase(ctx);
  } catch (error) {
    if (!databaseUnavailable.matches(error)) throw error;
    runState.connectionFailure = error;
    return undefined;
  }
}

/**
 * Runs the remaining statements on one connection. Runs whose connection is lost are returned to the waiting ones; without a new
 * connection (a role may have only so many) the other connections do the work.
 */
async function runOnConnection(
  ctx: CompanyContext,
  firstConnection: TenantSql,
  runState: RunState,
  executions: Execution[],
): Promise<void> {
  let sql = firstConnection;
  let hasWorked = false;
  try {
    let nextRuns = takeRuns(runState, runState.connectionCount);
    runState.connectionCount -= 1;
    for (; nextRuns.length > 0; nextRuns = takeRuns(runState, MAX_CONNECTIONS)) {
      if (sql.isClosed) {
        const newConnection = await connectOrRecordFailure(ctx, runState);
        if (!newConnection) {
          runState.remainingRuns.unshift(...nextRuns);
          return;
        }
        sql = newConnection;
        hasWorked = false;
      }
      const lostRuns: PendingRun[] = [];
      for (const [index, execution] of (await executeAll(sql, nextRuns, runState)).entries()) {
        const run = nextRuns[index] as PendingRun;
        if ('failure' in execution && execution.failure.kind === 'unavailable') {
          lostRuns.push(run);
          runState.connectionFailure = execution.failure;
        } else {
          executions[run[0]] = execution;
          hasWorked = true;
        }
      }
      if (lostRuns.length === 0) continue;
      runState.remainingRuns.unshift(...lostRuns);
      sql.drop();
      if (!hasWorked) return;
    }
  } finally {
    // The answer need not wait for it.
    ctx.defer(sql.close());
  }
}

/** Runs the statements of pending runs on one connection, all sent at once. @returns the outcome of each */
async function executeAll(sql: TenantSql, pendingRuns: PendingRun[], runState: RunState): Promise<Execution[]> {
  const startedAt = performance.now();
  const preparedStatements = pendingRuns.map(([, run]) => prepareOrCatchFailure(run, runState));
  const statements = preparedStatements.filter(
    (preparedStatement): preparedStatement is LimitedStatement => !(preparedStatement instanceof Failure),
  );
  const results = runAllUserSql(sql, statements);
  return Promise.all(
    preparedStatements.map(async (preparedStatement, index) => {
      const outcome =
        preparedStatement instanceof Failure
          ? { failure: preparedStatement }
          : await settleResult(results[statements.indexOf(preparedStatement)] as Promise<UserSqlResult>);
      const durationMs = Math.round(performance.now() - startedAt);
      const { visualization } = (pendingRuns[index] as PendingRun)[1];
      return { visualizationId: visualization.id, durationMs, isCached: false, ...outcome };
    }),
  );
}

const settleResult = (result: Promise<UserSqlResult>): Promise<{ result: UserSqlResult } | { failure: Failure }> =>
  result.then(
    (result) => ({ result }),
    (error: unknown) => ({ failure: requireFailure(error) }),
  );

function prepareOrCatchFailure(run: VisualizationRun, runState: RunState): LimitedStatement | Failure {
  try {
    return prepareStatement(run, runState);
  } catch (error) {
    return requireFailure(error);
  }
}

/** Returns a failure that was caught; throws any other error. */
function requireFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  throw error;
}

function prepareStatement({ visualization, values, enforced }: VisualizationRun, runState: RunState): LimitedStatement {
  const remainingMs = Math.floor(runState.endsAt - performance.now());
  if (remainingMs <= 0) throw queryTimedOut();
  const ownParameterValues = chooseParameterValues(visualization.parameters, values);
  const usedParameterSlugs = listUsedSlugs(getTemplate(visualization.sql), ownParameterValues);
  if (visualization.parameters.some(({ slug }) => enforced?.has(slug) && !usedParameterSlugs.has(slug)))
    throw policyViolation();
  const maySeeNothing = [...ownParameterValues.values()].some(allowsNothing);
  return {
    statement: compileOrFail(visualization, ownParameterValues),
    limits: {
      ...STANDARD_LIMITS,
      // A viewer who may see nothing gets no rows, whatever the SQL answers.
      ...(maySeeNothing && { maxRows: 0 }),
      milliseconds: Math.min(STANDARD_LIMITS.milliseconds, remainingMs),
      endsAt: runState.endsAt,
      budget: runState.byteBudget,
    },
  };
}

/** Compiles the SQL statement of a run, for callers that execute it themselves. */
export const compileStatement = ({ visualization, values }: VisualizationRun): CompiledSql =>
  compileOrFail(visualization, chooseParameterValues(visualization.parameters, values));

/** Lists a value for each of a visualization's parameters. */
function chooseParameterValues(parameters: readonly Parameter[], values: BoundValues): BoundValues {
  return new Map(
    parameters.map((parameter): [string, BoundValue] => {
      const { slug, kind, required } = parameter;
      const value = values.has(slug) ? (values.get(slug) as BoundValue) : getDefault(parameter);
      if (value === null && required) throw invalidInput([{ field: `parameters.${slug}`, message: 'is required' }]);
      if (value !== null && !canTakeValue(kind, value)) {
        throw invalidInput([
          { field: `parameters.${slug}`, message: `must be a ${kind}: the filter with this name is of another kind` },
        ]);
      }
      return [slug, value];
    }),
  );
}

/** Tells whether a parameter of this kind can take a filter's value. */
function canTakeValue(kind: Parameter['kind'], value: NonNullable<BoundValue>): boolean {
  if (isChoiceKind(kind) || kind === 'text') return value.type === 'list' || value.type === 'text';
  return value.type === (kind === 'date_range' ? 'range' : kind);
}

/**
 * Finds the 1-based character of a visualization's SQL at which a run of it failed, where that is known. Characters are Unicode's
 * code points, as PostgreSQL counts them.
 */
export function findFailedCharacter(
  { visualization: { sql, parameters }, values }: VisualizationRun,
  failure: Failure,
) {
  if (failure.cause instanceof TemplateError) return countCharactersBefore(sql, failure.cause.position) + 1;
  const [template, kinds, ownValues] = [
    getTemplate(sql),
    mapKinds(parameters),
    chooseParameterValues(parameters, values),
  ];
  const index = findFailedIndex(compileTemplate(template, kinds, ownValues), failure);
  return index === undefined
    ? undefined
    : countCharactersBefore(sql, findTemplateIndex(template, kinds, ownValues, index)) + 1;
}

/**
 * Compiles SQL for the values of its parameters. @throws queryFailed where the SQL is no valid template, or the values do not fit
 */
export function compileOrFail(
  { sql, parameters }: { sql: string; parameters: Parameters<typeof mapKinds>[0] },
  values: BoundValues,
): CompiledSql {
  try {
    return compileTemplate(getTemplate(sql), mapKinds(parameters), values);
  } catch (error) {
    throw error instanceof TemplateError ? queryFailed().addCause(error) : error;
  }
}
