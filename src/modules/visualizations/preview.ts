import type { CompanyContext } from '../../context.ts';
import { Failure, invalidInput } from '../../kernel/failure.ts';
import { makeViewerRules } from '../../sharing/rules.ts';
import { computeBoundValues } from '../../sharing/values.ts';
import { getDatabaseMessage } from '../../tenant-sql/failures.ts';
import { findDefinitionProblems, type Preview } from './definition.ts';
import { previewFailed } from './failures.ts';
import { type Execution, executeRuns, findFailedCharacter } from './run.ts';
import { listVisualizationInputs } from './service.ts';

/** The result of a preview's SQL, which did not fail. */
type PreviewResult = Extract<Execution, { result: unknown }>;

/** Runs a visualization that is not saved, like `executeVisualization`. @throws previewFailed for SQL that fails */
export async function previewVisualization(
  ctx: CompanyContext,
  { sql, parameters, values: sentValues }: Preview,
): Promise<PreviewResult> {
  const problems = findDefinitionProblems({ sql, parameters });
  if (problems.length > 0) throw invalidInput(problems);
  const visualization = { id: '', sql, parameters };
  try {
    const values = computeBoundValues(
      makeViewerRules(listVisualizationInputs(visualization), { isInsider: true }),
      sentValues,
    );
    const run = { visualization, values };
    const [execution] = (await executeRuns(ctx, [run])) as [Execution];
    if ('result' in execution) return execution;
    const { failure } = execution;
    if (failure.kind !== 'invalid' || failure.detail.problems) throw failure;
    throw previewFailed(getDatabaseMessage(failure) ?? failure.message, findFailedCharacter(run, failure)).addCause(
      failure,
    );
  } catch (error) {
    throw error instanceof Failure ? nameValuesField(error) : error;
  }
}

/**
 * Renames `parameters` to `values` in the failure's problems: an execution calls its values `parameters`, but in a preview's
 * body that field holds the definitions.
 */
function nameValuesField(failure: Failure): Failure {
  const { problems } = failure.detail;
  if (!problems) return failure;
  const renamedProblems = problems.map(({ field, message }) => ({
    field: field.replace(/^parameters(?=\.|$)/, 'values'),
    message,
  }));
  return invalidInput(renamedProblems).addCause(failure);
}
