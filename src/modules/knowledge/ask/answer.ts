import type { PrincipalContext } from '../../../context.ts';
import { isInvalidInput } from '../../../kernel/failure.ts';
import { truncateText } from '../../../kernel/text.ts';
import { type AiSettings, type AiUsage, askModel } from '../../../platform/ai.ts';
import { aiInvalidOutput, aiRefused, aiUnavailable } from '../../../platform/ai-failures.ts';
import { checkValues } from '../metrics/dimension-values.ts';
import {
  joinProblems,
  mayReadTables,
  type PreparedQuery,
  prepareMetrics,
  replaceFilterValues,
} from '../metrics/prepare.ts';
import type { MetricQueryInput } from '../metrics/query.ts';
import { composePrompt, PROMPTS } from '../prompts/compose.ts';
import { CHOICE_SHAPE, readChoice } from './choice.ts';
import { describeQuery } from './describe-query.ts';
import { providerFailed } from './failures.ts';
import { buildSections, type PromptMaterial } from './prompt-material.ts';

/**
 * The maximum number of times that a model is asked to choose a query for one question: after an invalid answer it is told the
 * problems and asked once more.
 */
const MAX_CHOICE_ATTEMPTS = 2;
/** The maximum length of an invalid answer that is sent back to the model, in characters. */
const MAX_REPEATED_CHARACTERS = 4000;
/** The maximum length of the problems of an invalid answer that are sent back to the model, in characters. */
const MAX_PROBLEMS_CHARACTERS = 2000;

/** A valid query, with the items' own names. */
export interface ValidQuery {
  input: MetricQueryInput;
  preparedQuery: PreparedQuery;
  queryText: string;
}

/** The outcome of choosing a query for a question: an answer, several possible readings, or a refusal. */
export type QuestionOutcome =
  | ({ kind: 'answer' } & ValidQuery)
  | { kind: 'clarification'; possibleQueries: ValidQuery[] }
  | { kind: 'refusal'; reason: 'nothing_fits' | 'not_readable' };

type JudgedAnswer = QuestionOutcome | { kind: 'invalid'; problems: string[] };

/** Asks the model for a query, and validates its choice. @throws providerFailed */
export async function chooseQuery(
  ctx: PrincipalContext,
  settings: AiSettings,
  { question, promptMaterial, usage }: { question: string; promptMaterial: PromptMaterial; usage: AiUsage },
): Promise<QuestionOutcome> {
  const sections = await buildSections(ctx, question, promptMaterial);
  for (let attempt = 1; ; attempt += 1) {
    const answer = await requestAnswer(settings, composePrompt(PROMPTS.ask, sections), usage);
    const outcome = await judgeAnswer(ctx, answer);
    if (outcome.kind !== 'invalid') return outcome;
    if (attempt === MAX_CHOICE_ATTEMPTS) return { kind: 'refusal', reason: 'nothing_fits' };
    sections.push(
      { title: 'your answer before', text: truncateText(JSON.stringify(answer) ?? '', MAX_REPEATED_CHARACTERS) },
      { title: 'what is wrong with it', text: truncateText(outcome.problems.join('\n'), MAX_PROBLEMS_CHARACTERS) },
    );
  }
}

/** Returns the model's answer as JSON; undefined if it is not JSON. @throws providerFailed */
async function requestAnswer(
  settings: AiSettings,
  prompt: ReturnType<typeof composePrompt>,
  usage: AiUsage,
): Promise<unknown> {
  try {
    const { value } = await askModel(
      settings,
      {
        name: 'metric_query',
        ...prompt,
        answerSchema: CHOICE_SHAPE,
        readAnswer: (answer) => answer,
        acceptsInvalid: true,
      },
      usage,
    );
    return value;
  } catch (error) {
    if (aiInvalidOutput.matches(error)) return undefined;
    if (aiUnavailable.matches(error) || aiRefused.matches(error)) throw providerFailed().addCause(error);
    throw error;
  }
}

async function judgeAnswer(ctx: PrincipalContext, answer: unknown): Promise<JudgedAnswer> {
  const choice = readChoice(answer);
  if ('problems' in choice) return { kind: 'invalid', problems: choice.problems };
  if (choice.kind === 'refusal') return { kind: 'refusal', reason: 'nothing_fits' };
  if (choice.kind === 'answer') {
    const outcome = await validateQuery(ctx, choice.query);
    return 'input' in outcome ? { kind: 'answer', ...outcome } : outcome;
  }
  const outcomes = await Promise.all(choice.alternatives.map((query) => validateQuery(ctx, query)));
  const validOutcomes = outcomes.filter((reading) => 'input' in reading);
  if (validOutcomes.length > 0) return { kind: 'clarification', possibleQueries: validOutcomes };
  return outcomes[0] as Exclude<JudgedAnswer, ValidQuery>;
}

/** Validates a query: it must compile, over tables that the caller may read, with values that the data has. */
async function validateQuery(
  ctx: PrincipalContext,
  input: MetricQueryInput,
): Promise<ValidQuery | Extract<JudgedAnswer, { kind: 'refusal' | 'invalid' }>> {
  try {
    const prepared = await prepareMetrics(ctx, input);
    if (!mayReadTables(ctx, prepared.tables)) return { kind: 'refusal', reason: 'not_readable' };
    const { values, problems } = await checkValues(ctx, prepared);
    if (problems.length > 0) return { kind: 'invalid', problems };
    return toValidQuery(input, replaceFilterValues(prepared, values));
  } catch (error) {
    if (isInvalidInput(error)) return { kind: 'invalid', problems: [joinProblems(error)] };
    throw error;
  }
}

/** Makes a valid query, with the items' own names and the values that the data has. */
export function toValidQuery(input: MetricQueryInput, prepared: PreparedQuery): ValidQuery {
  const { query, columns, timeDimensionIds } = prepared;
  const isText = (index: number) => input.filters[index]?.values.every((value) => typeof value === 'string');
  return {
    input: {
      ...input,
      metrics: query.metrics.map(({ name }) => name),
      dimensions: query.dimensions.map(({ name }) => name),
      filters: query.filters.map(({ dimension, operator, values }, index) => ({
        dimension: dimension.name,
        op: operator,
        values:
          isText(index) && !timeDimensionIds.has(dimension.id) ? [...values] : (input.filters[index]?.values ?? []),
      })),
      order_by: query.orderBy.map(({ column, descending }) => ({ by: columns[column]?.name ?? '', descending })),
    },
    preparedQuery: prepared,
    queryText: describeQuery(prepared),
  };
}
