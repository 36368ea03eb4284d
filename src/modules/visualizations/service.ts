import { findDeniedInLists } from '../../access/denials.ts';
import type { CompanyContext, PrincipalContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { retryOnConcurrentChange } from '../../db/failures.ts';
import { invalid } from '../../kernel/failure.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import { slugFrom } from '../../kernel/text.ts';
import { viewerRules } from '../../sharing/rules.ts';
import { type Input, listAttributes } from '../../sharing/terms.ts';
import { boundValues } from '../../sharing/values.ts';
import { getTemplate, takesList } from '../../sql-templates/template.ts';
import { requireSharingAll, requireSharingIfSeen } from './access.ts';
import {
  definitionProblems,
  MAX_DASHBOARD_LENGTH,
  measureLength,
  type NewVisualization,
  type VisualizationChanges,
} from './definition.ts';
import { visualizationInUse, visualizationNotFound, visualizationSlugTaken } from './failures.ts';
import { type Execution, execute } from './run.ts';
import {
  deleteVisualization as deleteRow,
  insertVisualization,
  readVisualizations,
  selectLongestBeside,
  selectPublication,
  selectVisualization,
  selectVisualizations,
  updateVisualization,
  type Visualization,
} from './store.ts';

export {
  type AccessFailures,
  findAccessFailures,
  requireNotDenied,
  requireSharingAll,
  requireSharingIfSeen,
} from './access.ts';
export {
  MAX_DASHBOARD_LENGTH,
  mapKinds,
  measureLength,
  parameterFields,
  parameterProblems,
  templateProblems,
  templateSql,
} from './definition.ts';
export { visualizationNotFound } from './failures.ts';
export { resultFile, resultWriter, type WritingOptions } from './result-writers.ts';
export {
  buildFile,
  buildTruncationHeader,
  executionSchema,
  fileMediaTypes,
  requireFormat,
  translateErrors,
  viewExecution,
  widgetQuery,
} from './results.ts';
export { compileOrFail, compileStatement, type Execution, execute } from './run.ts';
export type { Visualization };
export { selectVisualization, selectVisualizations };

const SLUG_IS_UNIQUE = { 'visualizations.slug': visualizationSlugTaken };

/** A page of the company's visualizations, newest first. */
export function listVisualizations(ctx: CompanyContext, part: { page: number; perPage: number; search: string }) {
  const denied = findDeniedInLists(ctx.actor, 'visualization');
  return readVisualizations(ctx.db, ctx.actor.companyId, { ...part, search: part.search.toLowerCase(), denied });
}

export async function getVisualization(ctx: CompanyContext, id: string): Promise<Visualization> {
  if (!ID_PATTERN.test(id)) throw visualizationNotFound();
  const [visualization] = await selectVisualization(ctx.db, ctx.actor.companyId, id);
  if (!visualization) throw visualizationNotFound();
  return visualization;
}

/** Creates a visualization. Its SQL is not run: the tables may come later. */
export async function createVisualization(ctx: PrincipalContext, input: NewVisualization): Promise<Visualization> {
  validateDefinition(input);
  const now = ctx.now();
  const record: Visualization = {
    ...input,
    id: ctx.newId(),
    companyId: ctx.actor.companyId,
    slug: input.slug ?? slugFrom(input.name, 'visualization'),
    embeddedUntil: null,
    version: 1,
    createdByUserId: ctx.actor.id,
    createdAt: now,
    updatedAt: now,
  };
  const unit = { inserted: insertVisualization(ctx.db, record, { canChangeSlug: input.slug === undefined }) };
  const [visualization] = (await commit(ctx.db, unit, SLUG_IS_UNIQUE)).inserted;
  return visualization as Visualization;
}

/**
 * Changes the fields that are sent. SQL and parameters must fit each other after the change, whoever else changes them meanwhile.
 * Who changes them where others see the result must be allowed to share it.
 */
export function changeVisualization(
  ctx: PrincipalContext,
  id: string,
  changes: VisualizationChanges,
): Promise<Visualization> {
  return retryOnConcurrentChange(async () => {
    const present = await getVisualization(ctx, id);
    const next = { ...present, ...changes, updatedAt: ctx.now() };
    validateDefinition(next);
    if (changes.sql !== undefined || changes.parameters) await requireRoom(ctx, next);
    const unpublished = namesFormat(next);
    if (unpublished) await requireUnpublished(ctx, id);
    const unseen =
      getShownParts(next) === getShownParts(present)
        ? undefined
        : await requireSharingIfSeen(ctx, { type: 'visualization', id }, () => requireSharingAll(ctx, [id]));
    const unit = { updated: updateVisualization(ctx.db, next, { unpublished, unseen }) };
    return (await commit(ctx.db, unit, SLUG_IS_UNIQUE)).updated[0];
  });
}

/** The parts of a visualization that decide what it shows, as text. */
const getShownParts = ({ sql, parameters }: Visualization): string => JSON.stringify([sql, parameters]);

export async function deleteVisualization(ctx: CompanyContext, id: string): Promise<void> {
  const unit = { deleted: deleteRow(ctx.db, ctx.actor.companyId, id) };
  const { deleted } = await commit(ctx.db, unit, { 'FOREIGN KEY': visualizationInUse });
  if (deleted.length === 0) throw visualizationNotFound();
}

/** The inputs of a visualization shown alone: its parameters. */
export function visualizationInputs({
  id,
  sql,
  parameters,
}: Pick<Visualization, 'id' | 'sql' | 'parameters'>): Input[] {
  const template = getTemplate(sql);
  return parameters.map((parameter) => ({
    ...parameter,
    origin: 'filter',
    takesList: takesList(template, parameter.slug, parameter.kind),
    appliesTo: [id],
    skips: [],
    viewerAttributes: listAttributes(parameter),
    unbound: [],
  }));
}

/** A visualization and how its execution ended. */
export interface Executed {
  visualization: Visualization;
  execution: Execution;
}

/** Runs a visualization for a member of the company. A query that fails says so in the result. */
export async function executeVisualization(
  ctx: CompanyContext,
  id: string,
  parameters: Record<string, unknown>,
): Promise<Executed> {
  const visualization = await getVisualization(ctx, id);
  const values = boundValues(viewerRules(visualizationInputs(visualization), { isInsider: true }), parameters);
  const [execution] = await execute(ctx, [{ visualization, values }]);
  return { visualization, execution: execution as Execution };
}

/** Whether a parameter has the name that the query of the Data API gives to the form of the answer. */
export const namesFormat = ({ parameters }: Pick<Visualization, 'parameters'>): boolean =>
  parameters.some(({ slug }) => slug === 'format');

async function requireUnpublished(ctx: CompanyContext, id: string): Promise<void> {
  const published = await selectPublication(ctx.db, ctx.actor.companyId, id);
  if (published.length === 0) return;
  const message = 'must not include one named "format" while a Data API endpoint publishes the visualization';
  throw invalid([{ field: 'parameters', message }]);
}

/**
 * The dashboards with the visualization must have room for it. Changes at the same moment may go over that together, which only
 * makes each view read more.
 */
async function requireRoom(ctx: CompanyContext, next: Visualization): Promise<void> {
  const [beside] = await selectLongestBeside(ctx.db, next.companyId, next.id);
  if ((beside?.length ?? 0) + measureLength(next) <= MAX_DASHBOARD_LENGTH) return;
  const message = `is too long for a dashboard that it is on: at most ${MAX_DASHBOARD_LENGTH} characters of SQL and parameters together`;
  throw invalid([{ field: 'sql', message }]);
}

function validateDefinition(definition: Parameters<typeof definitionProblems>[0]): void {
  const problems = definitionProblems(definition);
  if (problems.length > 0) throw invalid(problems);
}
