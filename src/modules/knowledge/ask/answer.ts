import type { PrincipalContext } from '../../../context.ts';
import { isInvalid } from '../../../kernel/failure.ts';
import { cut } from '../../../kernel/text.ts';
import { type AiSettings, type AiUsage, askModel } from '../../../platform/ai.ts';
import { aiInvalidOutput, aiRefused, aiUnavailable } from '../../../platform/ai-failures.ts';
import type { MetricQueryInput } from '../metrics/query.ts';
import {
  checkValues,
  mayRead,
  type PreparedQuery,
  prepareMetrics,
  replaceFilterValues,
  toSentence,
} from '../metrics/service.ts';
import { compose, PROMPTS } from '../prompts/compose.ts';
import { CHOICE_SHAPE, readChoice } from './choice.ts';
import { providerFailed } from './failures.ts';
import { buildSections, type PromptMaterial } from './material.ts';
import { describeQuery } from './words.ts';

/** The maximum number of choices a model is asked for: after an invalid one it is asked again, and told its problems. */
const MAX_CHOICES = 2;
/** The maximum number of attempts at a provider that is slow or fails: few, as somebody waits for the answer. */
const PROVIDER_ATTEMPTS = 2;
/** The maximum number of characters of an invalid answer that are sent back to the model; below, those of its problems. */
const MAX_REPEATED_CHARACTERS = 4000;
const MAX_PROBLEMS = 2000;

/** A valid query, with the items' own names. */
export interface ValidQuery {
  input: MetricQueryInput;
  prepared: PreparedQuery;
  words: string;
}

/** The outcome of choosing a query for a question: an answer, several possible readings, or a refusal. */
export type QuestionOutcome =
  | ({ kind: 'answer' } & ValidQuery)
  | { kind: 'clarification'; readings: ValidQuery[] }
  | { kind: 'refusal'; why: 'nothing_fits' | 'not_readable' };

type JudgedAnswer = QuestionOutcome | { kind: 'invalid'; problems: string[] };

/** Has the model choose a query, and validates its choice. @throws providerFailed */
export async function chooseQuery(
  ctx: PrincipalContext,
  settings: AiSettings,
  { question, offered, usage }: { question: string; offered: PromptMaterial; usage: AiUsage },
): Promise<QuestionOutcome> {
  const sections = await buildSections(ctx, question, offered);
  for (let tried = 1; ; tried += 1) {
    const answer = await requestAnswer(settings, compose(PROMPTS.ask, sections), usage);
    const judged = await judgeAnswer(ctx, answer);
    if (judged.kind !== 'invalid') return judged;
    if (tried === MAX_CHOICES) return { kind: 'refusal', why: 'nothing_fits' };
    sections.push(
      { title: 'your answer before', text: cut(JSON.stringify(answer) ?? '', MAX_REPEATED_CHARACTERS) },
      { title: 'what is wrong with it', text: cut(judged.problems.join('\n'), MAX_PROBLEMS) },
    );
  }
}

/** Returns the model's answer as JSON; undefined if it is no JSON. @throws providerFailed */
async function requestAnswer(
  settings: AiSettings,
  prompt: ReturnType<typeof compose>,
  usage: AiUsage,
): Promise<unknown> {
  try {
    const { value } = await askModel(
      settings,
      {
        name: 'metric_query',
        ...prompt,
        shape: CHOICE_SHAPE,
        read: (answer) => answer,
        attempts: PROVIDER_ATTEMPTS,
        takesInvalid: true,
      },
      usage,
    );
    return value;
  } catch (error) {
    if (aiInvalidOutput.matches(error)) return undefined;
    if (aiUnavailable.matches(error) || aiRefused.matches(error)) throw providerFailed().because(error);
    throw error;
  }
}

async function judgeAnswer(ctx: PrincipalContext, answer: unknown): Promise<JudgedAnswer> {
  const choice = readChoice(answer);
  if ('problems' in choice) return { kind: 'invalid', problems: choice.problems };
  switch (choice.kind) {
    case 'refusal':
      return { kind: 'refusal', why: 'nothing_fits' };
    case 'answer': {
      const judged = await validateQuery(ctx, choice.query);
      return 'input' in judged ? { kind: 'answer', ...judged } : judged;
    }
    case 'clarification': {
      const readings = await Promise.all(choice.alternatives.map((query) => validateQuery(ctx, query)));
      const valid = readings.filter((reading) => 'input' in reading);
      if (valid.length > 0) return { kind: 'clarification', readings: valid };
      return readings.find((reading) => !('input' in reading)) as Exclude<JudgedAnswer, ValidQuery>;
    }
  }
}

/** Prepares a query that compiles, over tables that the caller may read, with values that the data has. */
async function validateQuery(
  ctx: PrincipalContext,
  input: MetricQueryInput,
): Promise<ValidQuery | Extract<JudgedAnswer, { kind: 'refusal' | 'invalid' }>> {
  try {
    const prepared = await prepareMetrics(ctx, input);
    if (!mayRead(ctx, prepared.tables)) return { kind: 'refusal', why: 'not_readable' };
    const { values, problems } = await checkValues(ctx, prepared);
    if (problems.length > 0) return { kind: 'invalid', problems };
    return toValidQuery(input, replaceFilterValues(prepared, values));
  } catch (error) {
    if (isInvalid(error)) return { kind: 'invalid', problems: [toSentence(error)] };
    throw error;
  }
}

/** Makes a valid query, with the items' own names and the values that the data has. */
export function toValidQuery(input: MetricQueryInput, prepared: PreparedQuery): ValidQuery {
  const { query, columns, times } = prepared;
  const isText = (index: number) => input.filters[index]?.values.every((value) => typeof value === 'string');
  return {
    input: {
      ...input,
      metrics: query.metrics.map(({ name }) => name),
      dimensions: query.dimensions.map(({ name }) => name),
      filters: query.filters.map(({ dimension, operator, values }, index) => ({
        dimension: dimension.name,
        op: operator,
        values: isText(index) && !times.has(dimension.id) ? [...values] : (input.filters[index]?.values ?? []),
      })),
      order_by: query.orderBy.map(({ column, descending }) => ({ by: columns[column]?.name ?? '', descending })),
    },
    prepared,
    words: describeQuery(prepared),
  };
}
