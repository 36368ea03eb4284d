import type { CompanyContext } from '../../../context.ts';
import { computePauseSeconds, isUnreachable, MAX_TRIES } from '../resources/service.ts';
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
  const continueAfter = (from: string, tried: number, pause?: number) =>
    ctx.jobs.send({ type: 'knowledge.recheck_questions', companyId, after: from, tries: tried }, pause);
  const rows = await store.selectAfter(ctx.db, companyId, after, QUESTIONS_PER_MESSAGE);
  const last = rows.at(-1);
  if (!last) return;
  try {
    await recordChecks(ctx, rows);
  } catch (error) {
    if (!isUnreachable(error) || tries === MAX_TRIES) throw error;
    return continueAfter(after, tries + 1, computePauseSeconds(tries));
  }
  if (rows.length === QUESTIONS_PER_MESSAGE) await continueAfter(last.id, 0);
}
