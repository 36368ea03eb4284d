import type { CompanyContext } from '../../../context.ts';
import { computePauseSeconds, isDatabaseUnreachable, MAX_PAUSES } from '../resources/checks.ts';
import { recordChecks } from './checks.ts';
import * as store from './store.ts';

/** The maximum number of questions that one message checks. They are read and compiled together. */
const QUESTIONS_PER_MESSAGE = 20;

/** Checks the company's questions again. The next message continues where this one ends. */
export async function recheckQuestions(
  ctx: CompanyContext,
  { after, tries = 0 }: { after: string; tries?: number },
): Promise<void> {
  const { companyId } = ctx.actor;
  const continueAfter = (from: string, attemptCount: number, pauseSeconds?: number) =>
    ctx.jobs.send({ type: 'knowledge.recheck_questions', companyId, after: from, tries: attemptCount }, pauseSeconds);
  const rows = await store.selectQuestionsAfter(ctx.db, companyId, after, QUESTIONS_PER_MESSAGE);
  const lastRow = rows.at(-1);
  if (!lastRow) return;
  try {
    await recordChecks(ctx, rows);
  } catch (error) {
    if (!isDatabaseUnreachable(error) || tries === MAX_PAUSES) throw error;
    return continueAfter(after, tries + 1, computePauseSeconds(tries));
  }
  if (rows.length === QUESTIONS_PER_MESSAGE) await continueAfter(lastRow.id, 0);
}
