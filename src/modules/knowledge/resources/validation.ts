import type { CompanyContext } from '../../../context.ts';
import type { Content } from '../../../db/schema/knowledge-resources.ts';
import { type FieldProblem, invalid } from '../../../kernel/failure.ts';
import type { Definition } from './definition.ts';
import { findResources } from './reading.ts';
import { haveFacets, type WriteCondition } from './store.ts';

/**
 * Checks the rules between fields, and that the resources they refer to exist in the company. References that `before` has
 * are not checked.
 * @returns the conditions that must still hold at the write
 */
export async function validateContent<C extends Content>(
  ctx: CompanyContext,
  definition: Definition<C>,
  content: C,
  before?: C,
): Promise<WriteCondition[]> {
  const problems: FieldProblem[] = definition.findProblems?.(content) ?? [];
  const known = new Set(before ? definition.listReferences(before).map(({ id, field }) => `${field} ${id}`) : []);
  const added = definition.listReferences(content).filter(({ id, field }) => !known.has(`${field} ${id}`));
  const rows = await findResources(
    ctx,
    added.map(({ id }) => id),
  );
  const found = new Map(rows.map((row) => [row.id, row]));
  for (const { field, id, type, facet } of added) {
    const row = found.get(id);
    const fits = row?.resourceType === type && (facet === undefined || row.facet === facet);
    if (!fits)
      problems.push({ field, message: `is not the id of any ${facet ?? type.replace('_', ' ')} of this company` });
  }
  if (problems.length > 0) throw invalid(problems);
  const wanted = added.flatMap(({ id, facet }) => (facet === undefined ? [] : [{ id, facet }]));
  return wanted.length > 0 ? [haveFacets(ctx.actor.companyId, wanted)] : [];
}
