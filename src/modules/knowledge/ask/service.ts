import type { Context, PrincipalContext } from '../../../context.ts';
import { commit } from '../../../db/client.ts';
import type { Outcome } from '../../../db/schema/knowledge-questions.ts';
import { DAY_MS, MINUTE_MS } from '../../../kernel/clock.ts';
import { invalidInput, isInvalidInput } from '../../../kernel/failure.ts';
import { type AiUsage, makeNoUsage } from '../../../platform/ai.ts';
import { findHiddenItems, namesHiddenItem } from '../metrics/hidden-items.ts';
import { mayReadTables, prepareMetrics } from '../metrics/prepare.ts';
import type { MetricQueryInput } from '../metrics/query.ts';
import { type MetricResult, runMetrics } from '../metrics/service.ts';
import { findHiddenQuestions, makeQuestionKey, parseStoredQuery, toStoredQuery } from '../questions/question.ts';
import { createQuestion, findVerifiedQuestion } from '../questions/service.ts';
import type { QuestionRow } from '../questions/store.ts';
import { requireAi } from '../suggestions/propose.ts';
import { chooseQuery, type QuestionOutcome, toValidQuery } from './answer.ts';
import { askedQuestionNotFound, askedTooOften, nothingToAccept } from './failures.ts';
import { type PromptMaterial, readPromptMaterial } from './prompt-material.ts';
import * as store from './store.ts';

/** The maximum number of questions that are stored for a company. */
const MAX_KEPT_QUESTIONS = 10_000;
/** The time for which a question is stored. */
const QUESTION_RETENTION_MS = 90 * DAY_MS;
const PURGE_BATCH_SIZE = 1000;
/** The maximum number of items that a refusal names as alternatives. */
const MAX_NAMED_ITEMS = 20;
/** The maximum number of verified questions that a refusal names as alternatives. */
const MAX_NAMED_QUESTIONS = 5;

/** Another query, item or verified question that the caller can use instead. */
export interface Alternative {
  kind: 'query' | 'metric' | 'dimension' | 'verified_question';
  /** The id of the item or verified question; null for a query. */
  id: string | null;
  /** The name of the item or verified question; for a query, a description of what the query computes. */
  name: string;
  query: MetricQueryInput | null;
}

/** The answer to a question. */
export interface Answer {
  questionId: string;
  kind: Exclude<Outcome, 'failed'>;
  query: MetricQueryInput | null;
  /** The rows of the result; null where nothing was computed. */
  result: MetricResult | null;
  used: MetricResult['used'];
  verifiedQuestionId: string | null;
  /** An explanation made from the query, never from the words of a model. */
  explanation: string;
  alternatives: Alternative[];
}

const REFUSAL_MESSAGES = {
  nothing_fits: 'No defined metric answers this question. The alternatives list what is defined.',
  not_readable: 'This question can only be answered from tables that you may not read.',
  no_metrics: 'No metric is defined yet.',
  unclear: 'The question can mean several things. The alternatives list what each would compute.',
};

/**
 * Answers a question by a metric query: by that of an equal verified question, or else by one that a model chooses, which is
 * validated as if the caller had sent it. @throws aiNotConfigured, providerFailed, askedTooOften; the failure of a query that
 * could not be run
 */
export async function answerQuestion(
  ctx: PrincipalContext,
  { question, execute }: { question: string; execute: boolean },
): Promise<Answer> {
  if (makeQuestionKey(question) === '')
    throw invalidInput([{ field: 'question', message: 'must hold a letter or a digit' }]);
  const verifiedQuestion = await findVerifiedQuestion(ctx, question);
  const verifiedOutcome = verifiedQuestion && (await judgeVerifiedQuestion(ctx, verifiedQuestion));
  if (verifiedQuestion && verifiedOutcome) {
    const askedQuestionRow = await recordQuestion(ctx, question, null);
    return finishAnswer(ctx, askedQuestionRow, {
      outcome: verifiedOutcome,
      verifiedQuestionId: verifiedQuestion.id,
      execute,
      usage: makeNoUsage(),
    });
  }
  const settings = requireAi(ctx);
  const askedQuestionRow = await recordQuestion(ctx, question, settings.model);
  const usage = makeNoUsage();
  try {
    const promptMaterial = await readPromptMaterial(ctx, question);
    const outcome = promptMaterial.items.some(({ kind }) => kind === 'metric')
      ? await chooseQuery(ctx, settings, { question, promptMaterial, usage })
      : ({ kind: 'refusal', reason: 'no_metrics' } as const);
    return await finishAnswer(ctx, askedQuestionRow, {
      outcome,
      offeredMaterial: promptMaterial,
      verifiedQuestionId: null,
      execute,
      usage,
    });
  } catch (error) {
    await store.updateAskedQuestion(ctx.db, askedQuestionRow, { usage }).run();
    throw error;
  }
}

/** Returns the outcome for a verified question; undefined where its query does not compile at the moment. */
async function judgeVerifiedQuestion(ctx: PrincipalContext, row: QuestionRow): Promise<QuestionOutcome | undefined> {
  const input = parseStoredQuery(row);
  try {
    const prepared = await prepareMetrics(ctx, input);
    return mayReadTables(ctx, prepared.tables)
      ? { kind: 'answer', ...toValidQuery(input, prepared) }
      : { kind: 'refusal', reason: 'not_readable' };
  } catch (error) {
    if (isInvalidInput(error)) return undefined;
    throw error;
  }
}

/** Stores a question before it is answered, so that it counts for the limit whatever its outcome. */
async function recordQuestion(
  ctx: PrincipalContext,
  question: string,
  model: string | null,
): Promise<store.AskedQuestionRow> {
  const { companyId, id: askedBy } = ctx.actor;
  const now = ctx.now();
  const row = {
    id: ctx.newId(),
    companyId,
    question,
    askedBy,
    askedAt: now,
    kind: 'failed' as const,
    query: null,
    explanation: '',
    verifiedQuestionId: null,
    acceptedAs: null,
    model,
    usage: makeNoUsage(),
  };
  const { inserted } = await commit(ctx.db, {
    inserted: store.insertAskedQuestion(ctx.db, row, {
      limit: ctx.config.RATE_LIMIT_QUESTIONS_PER_MINUTE,
      askedSince: now - MINUTE_MS,
    }),
    oldest: store.deleteOldestQuestions(ctx.db, companyId, MAX_KEPT_QUESTIONS),
  });
  const [asked] = inserted;
  if (!asked) throw askedTooOften(MINUTE_MS / 1000);
  return asked;
}

type ExplainedOutcome = QuestionOutcome | { kind: 'refusal'; reason: keyof typeof REFUSAL_MESSAGES };

/** Computes the chosen query, and stores the outcome of the question. */
async function finishAnswer(
  ctx: PrincipalContext,
  askedQuestionRow: store.AskedQuestionRow,
  {
    outcome,
    offeredMaterial,
    verifiedQuestionId,
    execute,
    usage,
  }: {
    outcome: ExplainedOutcome;
    offeredMaterial?: PromptMaterial;
    verifiedQuestionId: string | null;
    execute: boolean;
    usage: AiUsage;
  },
): Promise<Answer> {
  const answer: Answer = {
    questionId: askedQuestionRow.id,
    kind: outcome.kind,
    query: outcome.kind === 'answer' ? outcome.input : null,
    result: outcome.kind === 'answer' && execute ? await runMetrics(ctx, outcome.input, outcome.preparedQuery) : null,
    used: outcome.kind === 'answer' ? outcome.preparedQuery.used : [],
    verifiedQuestionId,
    explanation: buildExplanation(outcome),
    alternatives: await findAlternatives(ctx, askedQuestionRow.question, outcome, offeredMaterial),
  };
  await store
    .updateAskedQuestion(ctx.db, askedQuestionRow, {
      kind: answer.kind,
      query: answer.query && toStoredQuery(answer.query),
      explanation: answer.explanation,
      verifiedQuestionId,
      usage,
    })
    .run();
  return answer;
}

function buildExplanation(outcome: ExplainedOutcome): string {
  if (outcome.kind === 'answer') return outcome.queryText;
  return outcome.kind === 'clarification' ? REFUSAL_MESSAGES.unclear : REFUSAL_MESSAGES[outcome.reason];
}

async function findAlternatives(
  ctx: PrincipalContext,
  question: string,
  outcome: ExplainedOutcome,
  promptMaterial?: PromptMaterial,
): Promise<Alternative[]> {
  if (outcome.kind === 'answer') return [];
  if (outcome.kind === 'clarification')
    return outcome.possibleQueries.map(({ input, queryText }) => ({
      kind: 'query',
      id: null,
      name: queryText,
      query: input,
    }));
  const { items, verifiedQuestions } = promptMaterial ?? (await readPromptMaterial(ctx, question));
  return [
    ...items.slice(0, MAX_NAMED_ITEMS).map(({ id, kind, name }) => ({ kind, id, name, query: null })),
    ...verifiedQuestions.slice(0, MAX_NAMED_QUESTIONS).map((row) => ({
      kind: 'verified_question' as const,
      id: row.id,
      name: row.question,
      query: parseStoredQuery(row),
    })),
  ];
}

/** Returns a page of the company's asked questions, newest first, without those whose answer the caller may not see. */
export async function listAskedQuestions(
  ctx: PrincipalContext,
  { kind }: { kind?: Outcome | undefined },
  page: { page: number; perPage: number },
) {
  const { companyId } = ctx.actor;
  const hiddenQuestions = await findHiddenQuestions(await findHiddenItems(ctx), async () =>
    store.selectAskedQueries(ctx.db, companyId),
  );
  return store.readAskedQuestions(ctx.db, companyId, { kind, denials: hiddenQuestions }, page);
}

/** Verifies an asked question with the query that answered it. */
export async function acceptAskedQuestion(ctx: PrincipalContext, id: string): Promise<QuestionRow> {
  const [asked] = await store.selectAskedQuestion(ctx.db, ctx.actor.companyId, id);
  if (!asked) throw askedQuestionNotFound();
  const { question, query } = asked;
  if (query === null) throw nothingToAccept();
  if (namesHiddenItem(parseStoredQuery({ query }), await findHiddenItems(ctx))) throw askedQuestionNotFound();
  return createQuestion(ctx, { question, query: parseStoredQuery({ query }) }, (verifiedQuestionId) =>
    store.markAccepted(ctx.db, asked, verifiedQuestionId),
  );
}

/** Deletes questions whose retention has ended. For the scheduled run. */
export async function purgeAskedQuestions(ctx: Context): Promise<void> {
  await store.deleteQuestionsBefore(ctx.db, ctx.now() - QUESTION_RETENTION_MS, PURGE_BATCH_SIZE).run();
}
