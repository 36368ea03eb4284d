import { requireAction } from '../../../access/requirements.ts';
import type { CompanyContext, PrincipalContext } from '../../../context.ts';
import { commit, type Statement } from '../../../db/client.ts';
import { retryOnConcurrentChange } from '../../../db/failures.ts';
import { invalidInput } from '../../../kernel/failure.ts';
import type { Denials } from '../../../permissions/denials.ts';
import { findHiddenItems, type HiddenItems, namesHiddenItem } from '../metrics/hidden-items.ts';
import { prepareForReader } from '../metrics/prepare.ts';
import type { MetricQueryInput } from '../metrics/query.ts';
import { isDatabaseUnreachable } from '../resources/checks.ts';
import { recordChecks } from './checks.ts';
import { questionArchived, questionDuplicate, questionNotFound, tooManyQuestions } from './failures.ts';
import { findHiddenQuestions, makeQuestionKey, parseStoredQuery, toStoredQuery } from './question.ts';
import * as store from './store.ts';

/** A question and its query, as people send them. */
export interface QuestionInput {
  question: string;
  query: MetricQueryInput;
}

/** Returns a question, archived or not. A question whose query names items hidden from the caller counts as absent. */
export async function getQuestion(ctx: CompanyContext, id: string): Promise<store.QuestionRow> {
  const [row] = await store.selectQuestion(ctx.db, ctx.actor.companyId, id);
  if (!row || namesHiddenItem(parseStoredQuery(row), await findHiddenItems(ctx))) throw questionNotFound();
  return row;
}

/** Returns the denial of the questions whose queries name hidden items. */
export const denyHiddenQuestions = (ctx: CompanyContext, hiddenItems: HiddenItems): Promise<Denials> =>
  findHiddenQuestions(hiddenItems, async () => store.selectQuestionQueries(ctx.db, ctx.actor.companyId));

/** Returns a page of the company's questions, newest first, without those whose queries name items hidden from the caller. */
export async function listQuestions(
  ctx: CompanyContext,
  { search, ...filter }: store.QuestionFilter,
  page: { page: number; perPage: number },
) {
  const deniedQuestions = await denyHiddenQuestions(ctx, await findHiddenItems(ctx));
  return store.readQuestions(
    ctx.db,
    ctx.actor.companyId,
    { ...filter, denials: deniedQuestions, ...(search !== undefined && { search: makeQuestionKey(search) }) },
    page,
  );
}

/** Returns the verified question that equals a question, ignoring case, accents and punctuation. */
export async function findVerifiedQuestion(
  ctx: CompanyContext,
  question: string,
): Promise<store.QuestionRow | undefined> {
  const [row] = await store.selectQuestionByKey(ctx.db, ctx.actor.companyId, makeQuestionKey(question));
  return row?.status === 'verified' ? row : undefined;
}

/**
 * Verifies a question: its query compiles, and a person says that it answers the question. @param makeNextStatement makes a
 * statement that follows the write
 */
export async function createQuestion(
  ctx: PrincipalContext,
  input: QuestionInput,
  makeNextStatement?: (id: string) => Statement,
): Promise<store.QuestionRow> {
  const columns = await makeVerifiedColumns(ctx, input);
  const row: store.QuestionRow = {
    ...columns,
    id: ctx.newId(),
    companyId: ctx.actor.companyId,
    version: 1,
    createdAt: columns.verifiedAt,
    updatedAt: columns.verifiedAt,
  };
  const insertStatement = store.insertQuestion(ctx.db, row);
  const { inserted } = await commit(
    ctx.db,
    { inserted: insertStatement, after: makeNextStatement ? [makeNextStatement(row.id)] : [] },
    makeDuplicateFailure(row),
  );
  const [question] = inserted;
  if (!question) throw tooManyQuestions(store.MAX_QUESTIONS);
  return recheckWrittenQuestion(ctx, question);
}

/** The changes of a question. */
export interface QuestionChanges extends Partial<QuestionInput> {
  status?: 'verified' | 'archived';
}

/**
 * Changes the fields that are sent, and verifies the question again. A change without effect verifies nothing, unless a status is
 * sent. An archived question is restored when the status `verified` is sent.
 */
export async function changeQuestion(
  ctx: PrincipalContext,
  id: string,
  { status, ...changes }: QuestionChanges,
): Promise<store.QuestionRow> {
  if (status === 'archived') requireAction(ctx.actor, 'semantic:delete', id);
  return retryOnConcurrentChange(async () => {
    const storedQuestion = await getQuestion(ctx, id);
    const isArchived = storedQuestion.status === 'archived';
    if (isArchived && status !== 'verified') throw questionArchived();
    const input = {
      question: changes.question ?? storedQuestion.question,
      query: changes.query ?? parseStoredQuery(storedQuestion),
    };
    const isUnchanged =
      input.question === storedQuestion.question &&
      JSON.stringify(toStoredQuery(input.query)) === JSON.stringify(storedQuestion.query);
    if (isUnchanged && (status ?? storedQuestion.status) === storedQuestion.status) return storedQuestion;
    const row: store.QuestionRow = {
      ...storedQuestion,
      ...(status === 'archived' && isUnchanged ? {} : await makeVerifiedColumns(ctx, input)),
      ...(status === 'archived' && { status, staleReason: null }),
      version: storedQuestion.version + 1,
      updatedAt: ctx.now(),
    };
    return writeReplacement(ctx, row, isArchived);
  });
}

/** Archives a question: it leaves the lists, and the same question can be verified again. */
export async function archiveQuestion(ctx: PrincipalContext, id: string): Promise<void> {
  await retryOnConcurrentChange(async () => {
    const storedQuestion = await getQuestion(ctx, id);
    if (storedQuestion.status === 'archived') throw questionNotFound();
    const version = storedQuestion.version + 1;
    return writeReplacement(
      ctx,
      { ...storedQuestion, status: 'archived', staleReason: null, version, updatedAt: ctx.now() },
      false,
    );
  });
}

/** Writes the version after the current one; undefined when another version was written meanwhile. */
async function writeReplacement(
  ctx: PrincipalContext,
  row: store.QuestionRow,
  isRestored: boolean,
): Promise<store.QuestionRow | undefined> {
  const replaceStatement = store.replaceQuestion(ctx.db, row, isRestored);
  const { question } = await commit(ctx.db, { question: replaceStatement }, makeDuplicateFailure(row));
  const [written] = question;
  if (written) return recheckWrittenQuestion(ctx, written);
  const { version } = await getQuestion(ctx, row.id);
  if (isRestored && version === row.version - 1) throw tooManyQuestions(store.MAX_QUESTIONS);
  return undefined;
}

/**
 * Makes the columns of the row that stores a question as verified now.
 * @throws the failure of its query; `invalidInput` naming the field
 */
async function makeVerifiedColumns(ctx: PrincipalContext, { question, query }: QuestionInput) {
  const key = makeQuestionKey(question);
  if (key === '') throw invalidInput([{ field: 'question', message: 'must hold a letter or a digit' }]);
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

/** Checks a question that was just written again: an item or a table may have changed since it was compiled. */
async function recheckWrittenQuestion(ctx: PrincipalContext, row: store.QuestionRow): Promise<store.QuestionRow> {
  if (row.status === 'archived') return row;
  const [problem] = await recordChecks(ctx, [row], [null]).catch((error: unknown) => {
    // It compiled a moment ago, and is written.
    if (!isDatabaseUnreachable(error)) throw error;
    return [null];
  });
  return problem ? { ...row, status: 'stale', staleReason: problem } : row;
}

const makeDuplicateFailure = ({ question }: store.QuestionRow) => ({
  'knowledge_verified_questions.question_key': () => questionDuplicate(question),
});
