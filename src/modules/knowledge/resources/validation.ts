import type { CompanyContext } from '../../../context.ts';
import type { Content } from '../../../db/schema/knowledge-resources.ts';
import { type FieldProblem, invalidInput } from '../../../kernel/failure.ts';
import type { Reference, ResourceDefinition } from './definition.ts';
import { findResources } from './reading.ts';
import { haveRequiredFacets, type WriteCondition } from './store.ts';

/** Returns the same text for references of one field to one resource, wherever they stand in a list. */
const describeReference = ({ field, id }: Reference): string => `${field.replace(/\.\d+$/, '')} ${id}`;

/**
 * Checks the rules between fields, and that the referenced resources exist in the company. References that `previousContent` has
 * are not checked. @returns the conditions that must still hold at the write
 */
export async function validateContent<C extends Content>(
  ctx: CompanyContext,
  definition: ResourceDefinition<C>,
  content: C,
  previousContent?: C,
): Promise<WriteCondition[]> {
  const problems: FieldProblem[] = definition.findProblems?.(content) ?? [];
  const knownReferences = new Set(
    previousContent ? definition.listReferences(previousContent).map(describeReference) : [],
  );
  const newReferences = definition
    .listReferences(content)
    .filter((reference) => !knownReferences.has(describeReference(reference)));
  const rows = await findResources(
    ctx,
    newReferences.map(({ id }) => id),
  );
  const foundRows = new Map(rows.map((row) => [row.id, row]));
  for (const { field, id, type, facet } of newReferences) {
    const row = foundRows.get(id);
    const isMatching = row?.resourceType === type && (facet === undefined || row.facet === facet);
    if (!isMatching)
      problems.push({ field, message: `is not the id of any ${facet ?? type.replace('_', ' ')} of this company` });
  }
  if (problems.length > 0) throw invalidInput(problems);
  const requiredFacets = newReferences.flatMap(({ id, facet }) => (facet === undefined ? [] : [{ id, facet }]));
  return requiredFacets.length > 0 ? [haveRequiredFacets(ctx.actor.companyId, requiredFacets)] : [];
}
