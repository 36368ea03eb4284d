import type { CompanyContext } from '../../context.ts';
import { Failure, invalid } from '../../kernel/failure.ts';
import { viewerRules } from '../../sharing/rules.ts';
import { boundValues } from '../../sharing/values.ts';
import { databaseMessage } from '../../tenant-sql/failures.ts';
import { definitionProblems, type Preview } from './definition.ts';
import { previewFailed } from './failures.ts';
import { type Execution, execute, failedCharacter } from './run.ts';
import { visualizationInputs } from './service.ts';

/** The result of a preview's SQL, which did not fail. */
type Previewed = Extract<Execution, { result: unknown }>;

/** Runs a visualization that is not saved, as `executeVisualization` runs one that is. @throws previewFailed for SQL that fails */
export async function previewVisualization(
  ctx: CompanyContext,
  { sql, parameters, values: sent }: Preview,
): Promise<Previewed> {
  const problems = definitionProblems({ sql, parameters });
  if (problems.length > 0) throw invalid(problems);
  const visualization = { id: '', sql, parameters };
  try {
    const values = boundValues(viewerRules(visualizationInputs(visualization), { isInsider: true }), sent);
    const run = { visualization, values };
    const [execution] = (await execute(ctx, [run])) as [Execution];
    if ('result' in execution) return execution;
    const { failure } = execution;
    if (failure.kind !== 'invalid' || failure.detail.problems) throw failure;
    throw previewFailed(databaseMessage(failure) ?? failure.message, failedCharacter(run, failure)).because(failure);
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
  const renamed = problems.map(({ field, message }) => ({
    field: field.replace(/^parameters(?=\.|$)/, 'values'),
    message,
  }));
  return invalid(renamed).because(failure);
}
