import type { CompanyContext } from '../../../context.ts';
import type { Content } from '../../../db/schema/knowledge-resources.ts';
import { type FieldProblem, invalid } from '../../../kernel/failure.ts';
import type { Definition } from './definition.ts';
import { findResources } from './reading.ts';

/**
 * Checks the rules between members, and that what they name exists in the company. References that were there before may stay.
 * @throws Failure invalid, naming every member at fault
 */
export async function requireSound<C extends Content>(
  ctx: CompanyContext,
  definition: Definition<C>,
  content: C,
  before?: C,
): Promise<void> {
  const problems: FieldProblem[] = definition.problemsOf?.(content) ?? [];
  const references = definition.referencesOf(content);
  const known = before ? new Set(definition.referencesOf(before).map(({ id, field }) => `${field} ${id}`)) : undefined;
  const asked = references.filter(({ id, field }) => !known?.has(`${field} ${id}`));
  const found = new Map(
    (
      await findResources(
        ctx,
        asked.map(({ id }) => id),
      )
    ).map((row) => [row.id, row]),
  );
  for (const { field, id, type, facet } of asked) {
    const row = found.get(id);
    const fits = row?.resourceType === type && (facet === undefined || row.facet === facet);
    if (!fits) problems.push({ field, message: `names no ${facet ?? type.replace('_', ' ')} of this company` });
  }
  if (problems.length > 0) throw invalid(problems);
}

/** The ids that a member holds: one, several, or none. */
export const idsIn = (value: unknown): string[] => {
  const values = Array.isArray(value) ? value : [value];
  return values.filter((id): id is string => typeof id === 'string');
};
