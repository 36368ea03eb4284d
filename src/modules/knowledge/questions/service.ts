import { requireAction } from '../../../access/requirements.ts';
import type { CompanyContext, PrincipalContext } from '../../../context.ts';
import { commit, type Statement } from '../../../db/client.ts';
import { retryOnConcurrentChange } from '../../../db/failures.ts';
import { invalid } from '../../../kernel/failure.ts';
import type { Denials } from '../../../permissions/denials.ts';
import type { MetricQueryInput } from '../metrics/query.ts';
import { findHiddenItems, type HiddenItems, namesHidden, prepareForReader } from '../metrics/service.ts';
import { isUnreachable } from '../resources/service.ts';
import { recordChecks } from './checks.ts';
import { questionArchived, questionDuplicate, questionNotFound, tooManyQuestions } from './failures.ts';
import { findHiddenQuestions, makeQuestionKey, parseStoredQuery, toStoredQuery } from './question.ts';
import * as store from './store.ts';

export { findHiddenQuestions, makeQuestionKey, parseStoredQuery, toStoredQuery } from './question.ts';
export { hasQuestions, type QuestionRow } from './store.ts';

/** A question and its query, as people send them. */
export interface QuestionInput {
  question: string;
  query: MetricQueryInput;
}

/** A question, archived or not. One whose query names items that the caller may not see is as if absent. */
export async function getQuestion(ctx: CompanyContext, id: string): Promise<store.QuestionRow> {
  const [row] = await store.selectQuestion(ctx.db, ctx.actor.companyId, id);
  if (!row || namesHidden(parseStoredQuery(row), await findHiddenItems(ctx))) throw questionNotFound();
  return row;
}

/** The questions whose queries name hidden items. */
export const denyHiddenQuestions = (ctx: CompanyContext, hidden: HiddenItems): Promise<Denials> =>
  findHiddenQuestions(hidden, async () => store.selectQueries(ctx.db, ctx.actor.companyId));

/** A page of the company's questions, newest first, without those whose queries name items that the caller may not see. */
export async function listQuestions(
  ctx: CompanyContext,
  { search, ...filter }: store.QuestionFilter,
  page: { page: number; perPage: number },
) {
  const denied = await denyHiddenQuestions(ctx, await findHiddenItems(ctx));
  return store.readQuestions(
    ctx.db,
    ctx.actor.companyId,
    { ...filter, denied, ...(search !== undefined && { search: makeQuestionKey(search) }) },
    page,
  );
}

/** The verified question that equals one, case, accents and punctuation aside. */
export async function findVerified(ctx: CompanyContext, question: string): Promise<store.QuestionRow | undefined> {
  const [row] = await store.selectByKey(ctx.db, ctx.actor.companyId, makeQuestionKey(question));
  return row?.status === 'verified' ? row : undefined;
}

/** Whether the company has a question to check again when items or tables change. */
export async function hasAnyQuestion(ctx: CompanyContext): Promise<boolean> {
  return (await store.selectHasQuestions(ctx.db, ctx.actor.companyId)).length > 0;
}

/**
 * Verifies a question: its query compiles, and a person says that it answers the question.
 * @param after a statement that follows the write
 */
export async function createQuestion(
  ctx: PrincipalContext,
  input: QuestionInput,
  after?: (id: string) => Statement,
): Promise<store.QuestionRow> {
  const columns = await verifiedColumns(ctx, input);
  const row: store.QuestionRow = {
    ...columns,
    id: ctx.newId(),
    companyId: ctx.actor.companyId,
    version: 1,
    createdAt: columns.verifiedAt,
    updatedAt: columns.verifiedAt,
  };
  const insert = store.insertQuestion(ctx.db, row);
  const { inserted } = await commit(
    ctx.db,
    { inserted: insert, after: after ? [after(row.id)] : [] },
    duplicateFailure(row),
  );
  const [question] = inserted;
  if (!question) throw tooManyQuestions(store.MAX_QUESTIONS);
  return recheckWritten(ctx, question);
}

/** The changes to a question. */
export interface QuestionChanges extends Partial<QuestionInput> {
  status?: 'verified' | 'archived';
}

/**
 * Changes the fields that are sent, and verifies the question anew. A change without effect verifies nothing, unless the status
 * says so. An archived question is restored when the status `verified` is sent.
 */
export async function changeQuestion(
  ctx: PrincipalContext,
  id: string,
  { status, ...changes }: QuestionChanges,
): Promise<store.QuestionRow> {
  if (status === 'archived') requireAction(ctx.actor, 'semantic:delete', id);
  return retryOnConcurrentChange(async () => {
    const current = await getQuestion(ctx, id);
    const isArchived = current.status === 'archived';
    if (isArchived && status !== 'verified') throw questionArchived();
    const input = { question: changes.question ?? current.question, query: changes.query ?? parseStoredQuery(current) };
    const isSame =
      input.question === current.question &&
      JSON.stringify(toStoredQuery(input.query)) === JSON.stringify(current.query);
    if (isSame && (status ?? current.status) === current.status) return current;
    const row: store.QuestionRow = {
      ...current,
      ...(status === 'archived' && isSame ? {} : await verifiedColumns(ctx, input)),
      ...(status === 'archived' && { status, staleReason: null }),
      version: current.version + 1,
      updatedAt: ctx.now(),
    };
    return writeReplacement(ctx, row, isArchived);
  });
}

/** Archives a question: it leaves the lists, and can be asked and verified anew. */
export async function archiveQuestion(ctx: PrincipalContext, id: string): Promise<void> {
  await retryOnConcurrentChange(async () => {
    const current = await getQuestion(ctx, id);
    if (current.status === 'archived') throw questionNotFound();
    const version = current.version + 1;
    return writeReplacement(
      ctx,
      { ...current, status: 'archived', staleReason: null, version, updatedAt: ctx.now() },
      false,
    );
  });
}

/** Writes the version after the present one; undefined when that is no longer present. */
async function writeReplacement(
  ctx: PrincipalContext,
  row: store.QuestionRow,
  restores: boolean,
): Promise<store.QuestionRow | undefined> {
  const replace = store.replaceQuestion(ctx.db, row, restores);
  const { question } = await commit(ctx.db, { question: replace }, duplicateFailure(row));
  const [written] = question;
  if (written) return recheckWritten(ctx, written);
  const { version } = await getQuestion(ctx, row.id);
  if (restores && version === row.version - 1) throw tooManyQuestions(store.MAX_QUESTIONS);
  return undefined;
}

/** The columns of a question that is verified. @throws the failure of its query; `invalid` naming the field */
async function verifiedColumns(ctx: PrincipalContext, { question, query }: QuestionInput) {
  const key = makeQuestionKey(question);
  if (key === '') throw invalid([{ field: 'question', message: 'must hold a letter or a digit' }]);
  await prepareForReader(ctx, query);
  const now = ctx.now();
  return {
    question,
    questionKey: key,
    query: toStoredQuery(query),
    status: 'verified' as const,
    staleReason: null,
    verifiedBy: ctx.actor.id,
    verifiedAt: now,
    lastCheckedAt: now,
  };
}

/** A question that was just written, checked again: an item or a table may have changed since it was compiled. */
async function recheckWritten(ctx: PrincipalContext, row: store.QuestionRow): Promise<store.QuestionRow> {
  if (row.status === 'archived') return row;
  const [problem] = await recordChecks(ctx, [row], [null]).catch((error: unknown) => {
    // It compiled a moment ago, and is written.
    if (!isUnreachable(error)) throw error;
    return [null];
  });
  return problem ? { ...row, status: 'stale', staleReason: problem } : row;
}

const duplicateFailure = ({ question }: store.QuestionRow) => ({
  'knowledge_verified_questions.question_key': () => questionDuplicate(question),
});
