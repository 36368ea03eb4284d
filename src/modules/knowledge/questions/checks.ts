import type { CompanyContext } from '../../../context.ts';
import { commit } from '../../../db/client.ts';
import { truncateText } from '../../../kernel/text.ts';
import { findQueryProblems } from '../metrics/prepare.ts';
import { parseStoredQuery } from './question.ts';
import * as store from './store.ts';

/** The maximum number of checks of questions whose problems change with each check. */
const MAX_CHECKS = 5;
const MAX_REASON_LENGTH = 1000;

/**
 * Compiles questions for the current items and tables and records the problem of each, until two checks in a row agree: so that
 * even with concurrent checks the last recorded problem is current. What is recorded holds for the whole company, so that no item
 * is hidden from the check. @returns the problem of each, or null
 */
export async function recordChecks(
  ctx: CompanyContext,
  rows: readonly store.QuestionRow[],
  knownProblems?: readonly (string | null)[],
): Promise<readonly (string | null)[]> {
  const systemCtx: CompanyContext = { ...ctx, actor: { kind: 'system', companyId: ctx.actor.companyId } };
  let recordedProblems = knownProblems;
  for (let count = 0; count < MAX_CHECKS; count += 1) {
    const foundProblems = await findQueryProblems(systemCtx, rows.map(parseStoredQuery));
    const problems = foundProblems.map((problem) => problem && truncateText(problem, MAX_REASON_LENGTH));
    if (recordedProblems && problems.every((problem, index) => problem === recordedProblems?.[index])) break;
    await commit(ctx.db, {
      checks: rows.map((row, index) => store.recordCheck(ctx.db, row, problems[index] ?? null, ctx.now())),
    });
    recordedProblems = problems;
  }
  return recordedProblems ?? [];
}
