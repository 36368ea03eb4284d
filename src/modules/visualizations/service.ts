import { findListDenials } from '../../access/denials.ts';
import type { CompanyContext, PrincipalContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { retryOnConcurrentChange } from '../../db/failures.ts';
import { invalidInput } from '../../kernel/failure.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import { makeSlug } from '../../kernel/text.ts';
import { type Input, listAttributes } from '../../sharing/filter-policy.ts';
import { makeViewerRules } from '../../sharing/rules.ts';
import { computeBoundValues } from '../../sharing/values.ts';
import { acceptsList, getTemplate } from '../../sql-templates/template.ts';
import { requireMayShareAll, requireMayShareIfSeen } from './access.ts';
import {
  type Definition,
  findDefinitionProblems,
  MAX_DASHBOARD_LENGTH,
  measureLength,
  type NewVisualization,
  type VisualizationChanges,
} from './definition.ts';
import { visualizationInUse, visualizationNotFound, visualizationSlugTaken } from './failures.ts';
import { type Execution, executeRuns } from './run.ts';
import {
  deleteVisualization as deleteRow,
  insertVisualization,
  readVisualizations,
  selectMaxOtherLength,
  selectPublication,
  selectVisualization,
  selectVisualizations,
  updateVisualization,
  type Visualization,
} from './store.ts';

export {
  type AccessFailures,
  findAccessFailures,
  requireMayShareAll,
  requireMayShareIfSeen,
  requireNotDenied,
} from './access.ts';
export {
  findParameterProblems,
  findTemplateProblems,
  MAX_DASHBOARD_LENGTH,
  mapKinds,
  measureLength,
  parameterFields,
  templateSqlField,
} from './definition.ts';
export { createResultWriter, type WritingOptions, writeResultFile } from './result-writers.ts';
export { compileOrFail, compileStatement, type Execution, executeRuns } from './run.ts';
export type { Visualization };
export { selectVisualization, selectVisualizations };

const UNIQUE_FAILURES = { 'visualizations.slug': visualizationSlugTaken };

/** Lists a page of the company's visualizations, newest first. */
export function listVisualizations(
  ctx: CompanyContext,
  pageRequest: { page: number; perPage: number; search: string },
) {
  const search = pageRequest.search.toLowerCase();
  const denials = findListDenials(ctx.actor, 'visualization');
  return readVisualizations(ctx.db, ctx.actor.companyId, { ...pageRequest, search, denials });
}

export async function getVisualization(ctx: CompanyContext, id: string): Promise<Visualization> {
  if (!ID_PATTERN.test(id)) throw visualizationNotFound();
  const [visualization] = await selectVisualization(ctx.db, ctx.actor.companyId, id);
  if (!visualization) throw visualizationNotFound();
  return visualization;
}

/** Creates a visualization. Its SQL is not run: the tables may be created later. */
export async function createVisualization(ctx: PrincipalContext, input: NewVisualization): Promise<Visualization> {
  validateDefinition(input);
  const now = ctx.now();
  const record: Visualization = {
    ...input,
    id: ctx.newId(),
    companyId: ctx.actor.companyId,
    slug: input.slug ?? makeSlug(input.name, 'visualization'),
    embeddedUntil: null,
    version: 1,
    createdByUserId: ctx.actor.id,
    createdAt: now,
    updatedAt: now,
  };
  const unit = { inserted: insertVisualization(ctx.db, record, { canChangeSlug: input.slug === undefined }) };
  const [visualization] = (await commit(ctx.db, unit, UNIQUE_FAILURES)).inserted;
  return visualization as Visualization;
}

/**
 * Changes the sent fields. SQL and parameters must fit each other after the change, even if they are changed concurrently. A
 * caller who changes them where others see the result must be allowed to share it.
 */
export function changeVisualization(
  ctx: PrincipalContext,
  id: string,
  changes: VisualizationChanges,
): Promise<Visualization> {
  return retryOnConcurrentChange(async () => {
    const currentVisualization = await getVisualization(ctx, id);
    const newVisualization = { ...currentVisualization, ...changes, updatedAt: ctx.now() };
    validateDefinition(newVisualization);
    if (changes.sql !== undefined || changes.parameters) await requireDashboardsCanHold(ctx, newVisualization);
    const onlyUnpublished = hasFormatParameter(newVisualization);
    if (onlyUnpublished) await requireUnpublished(ctx, id);
    const unseenAt =
      formatShownParts(newVisualization) === formatShownParts(currentVisualization)
        ? undefined
        : await requireMayShareIfSeen(ctx, { type: 'visualization', id }, () => requireMayShareAll(ctx, [id]));
    const unit = { updated: updateVisualization(ctx.db, newVisualization, { onlyUnpublished, unseenAt }) };
    return (await commit(ctx.db, unit, UNIQUE_FAILURES)).updated[0];
  });
}

/** Formats, as one text, the parts of a visualization that decide what it shows. */
const formatShownParts = ({ sql, parameters }: Visualization): string => JSON.stringify([sql, parameters]);

export async function deleteVisualization(ctx: CompanyContext, id: string): Promise<void> {
  const unit = { deleted: deleteRow(ctx.db, ctx.actor.companyId, id) };
  const { deleted } = await commit(ctx.db, unit, { 'FOREIGN KEY': visualizationInUse });
  if (deleted.length === 0) throw visualizationNotFound();
}

/** Lists the inputs of a visualization shown alone: its parameters. */
export function listVisualizationInputs(visualization: Pick<Visualization, 'id' | 'sql' | 'parameters'>): Input[] {
  const { id, sql, parameters } = visualization;
  const template = getTemplate(sql);
  return parameters.map((parameter) => ({
    ...parameter,
    origin: 'filter',
    takesList: acceptsList(template, parameter.slug, parameter.kind),
    appliesTo: [id],
    skippedIds: [],
    viewerAttributes: listAttributes(parameter),
    unboundIds: [],
  }));
}

/** A visualization and the outcome of its execution. */
export interface ExecutedVisualization {
  visualization: Visualization;
  execution: Execution;
}

/** Runs a visualization for a user of the company. If its query fails, the result says so. */
export async function executeVisualization(
  ctx: CompanyContext,
  id: string,
  parameters: Record<string, unknown>,
): Promise<ExecutedVisualization> {
  const visualization = await getVisualization(ctx, id);
  const values = computeBoundValues(
    makeViewerRules(listVisualizationInputs(visualization), { isInsider: true }),
    parameters,
  );
  const [execution] = await executeRuns(ctx, [{ visualization, values }]);
  return { visualization, execution: execution as Execution };
}

/** Tells whether a parameter has the name that the query of the Data API gives to the format of the response. */
export const hasFormatParameter = ({ parameters }: Pick<Visualization, 'parameters'>): boolean =>
  parameters.some(({ slug }) => slug === 'format');

async function requireUnpublished(ctx: CompanyContext, id: string): Promise<void> {
  const publications = await selectPublication(ctx.db, ctx.actor.companyId, id);
  if (publications.length === 0) return;
  const message = 'must not include one named "format" while a Data API endpoint publishes the visualization';
  throw invalidInput([{ field: 'parameters', message }]);
}

/**
 * Throws if a dashboard with the visualization would exceed its maximum length. Concurrent changes may together exceed
 * that length, which only makes each view read more.
 */
async function requireDashboardsCanHold(ctx: CompanyContext, newVisualization: Visualization): Promise<void> {
  const [beside] = await selectMaxOtherLength(ctx.db, newVisualization.companyId, newVisualization.id);
  if ((beside?.length ?? 0) + measureLength(newVisualization) <= MAX_DASHBOARD_LENGTH) return;
  const message = `is too long for a dashboard that it is on: at most ${MAX_DASHBOARD_LENGTH} characters of SQL and parameters together`;
  throw invalidInput([{ field: 'sql', message }]);
}

function validateDefinition(definition: Definition): void {
  const problems = findDefinitionProblems(definition);
  if (problems.length > 0) throw invalidInput(problems);
}
