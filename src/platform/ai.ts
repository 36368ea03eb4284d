import OpenAI from 'openai';
import { z } from 'zod';
import type { Failure } from '../kernel/failure.ts';
import { replaceLoneSurrogates, truncateText } from '../kernel/text.ts';
import { aiInvalidOutput, aiRefused, aiUnavailable } from './ai-failures.ts';
import { readBounded } from './bounded.ts';

/** The URL, key and name of a model: of any provider with OpenAI's chat completions and JSON schemas. */
export interface AiSettings {
  apiKey: string;
  /** The URL of the provider's API, which ends in `/v1`. */
  baseUrl: string;
  model: string;
  /** The longest time for one attempt. */
  timeoutMs: number;
  /** The pause before the second attempt; the pause before the third is four times as long. */
  backoffMs: number;
  /** Called before each attempt. If it throws, the error is passed on, and the model is not asked. */
  beforeCall(): Promise<void>;
}

export interface AiQuestion<T> {
  /** The name of the schema: letters, digits and `_`. */
  name: string;
  systemPrompt: string;
  userPrompt: string;
  /** The schema that the model must answer in. */
  answerSchema: z.ZodType;
  /** Reads an answer, which may hold anything. If it throws, the answer is invalid. */
  readAnswer(answer: unknown): T;
  /** Set if the model is not asked again after an invalid answer. */
  acceptsInvalid?: true;
}

/** The use of a model by a question, all attempts together. */
export interface AiUsage {
  /** The number of requests to the model. */
  requests: number;
  prompt_tokens: number;
  completion_tokens: number;
}

export interface AiAnswer<T> {
  value: T;
  /** The provider's name of the model that answered. */
  model: string;
}

const MAX_ATTEMPTS = 3;
/** The longest pause before a retry that a provider may request. */
const MAX_PAUSE_MS = 30_000;
/** The maximum length of a response in tokens. */
const MAX_ANSWER_TOKENS = 8192;
/** The maximum length of a response in bytes. */
const MAX_ANSWER_BYTES = 1024 * 1024;

export const makeNoUsage = (): AiUsage => ({ requests: 0, prompt_tokens: 0, completion_tokens: 0 });

/** Computes the maximum time for a call of `askModel`. */
export const computeMaxAskMs = ({ timeoutMs, backoffMs }: AiSettings): number =>
  MAX_ATTEMPTS * timeoutMs + Math.max(backoffMs, MAX_PAUSE_MS) + Math.max(4 * backoffMs, MAX_PAUSE_MS);

/**
 * Asks a model, up to three times while it is slow, fails or gives an invalid answer. Before a retry it waits as long as the
 * provider's `Retry-After` says, at most half a minute. No failure repeats the provider's own message. @param usage is increased
 * by every attempt, also failed ones
 */
export async function askModel<T>(settings: AiSettings, question: AiQuestion<T>, usage: AiUsage): Promise<AiAnswer<T>> {
  for (let attempt = 1; ; attempt += 1) {
    await settings.beforeCall();
    try {
      return await askOnce(settings, question, usage);
    } catch (error) {
      const failure = toFailure(error);
      const isInvalidAccepted = question.acceptsInvalid === true && aiInvalidOutput.matches(failure);
      if (attempt === MAX_ATTEMPTS || isInvalidAccepted || aiRefused.matches(failure)) throw failure;
      const pauseMs = Math.max(
        settings.backoffMs * 4 ** (attempt - 1),
        Math.min(readRetryAfterMs(error), MAX_PAUSE_MS),
      );
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

async function askOnce<T>(settings: AiSettings, question: AiQuestion<T>, usage: AiUsage): Promise<AiAnswer<T>> {
  const { apiKey, baseUrl, model, timeoutMs } = settings;
  // The client's own timeout ends with the headers; the signal covers the body as well.
  const client = new OpenAI({ apiKey, baseURL: baseUrl, maxRetries: 0, timeout: timeoutMs, fetch: fetchBounded });
  usage.requests += 1;
  const completion = await client.chat.completions.create(
    {
      model,
      messages: [
        { role: 'system', content: question.systemPrompt },
        { role: 'user', content: question.userPrompt },
      ],
      response_format: {
        type: 'json_schema',
        json_schema: { name: question.name, strict: true, schema: z.toJSONSchema(question.answerSchema) },
      },
      max_completion_tokens: MAX_ANSWER_TOKENS,
    },
    { signal: AbortSignal.timeout(timeoutMs) },
  );
  usage.prompt_tokens += readTokenCount(completion.usage?.prompt_tokens);
  usage.completion_tokens += readTokenCount(completion.usage?.completion_tokens);
  return {
    value: question.readAnswer(parseChoice(completion.choices?.[0])),
    model: readModelName(completion.model) ?? model,
  };
}

/** Reads the number of tokens; 0 where a provider leaves it out. */
const readTokenCount = (count: unknown): number =>
  Number.isSafeInteger(count) && (count as number) > 0 ? (count as number) : 0;
const readModelName = (name: unknown): string | undefined =>
  typeof name === 'string' && name !== '' ? truncateText(name, 200) : undefined;

function parseChoice(choice: OpenAI.Chat.Completions.ChatCompletion.Choice | undefined): unknown {
  const content = choice?.message?.content;
  if (typeof content !== 'string' || choice?.finish_reason === 'length') throw new InvalidAnswerError();
  // Models sometimes cut an emoji in half.
  return JSON.parse(content, replaceLoneSurrogates);
}

class InvalidAnswerError extends Error {}

const fetchBounded: typeof fetch = async (input, init) => {
  const response = await fetch(input, { ...init, redirect: 'manual' });
  const body = await readBounded(response.body, MAX_ANSWER_BYTES);
  if (body === null) throw new InvalidAnswerError('The answer is too large.');
  const headers = new Headers({ 'content-type': response.headers.get('content-type') ?? '' });
  const retryAfter = response.headers.get('retry-after');
  if (retryAfter !== null) headers.set('retry-after', retryAfter);
  return new Response(body.length > 0 ? body : null, { status: response.status, headers });
};

/** Reads the pause that a provider requests, in seconds or as a date; 0 when it requests none. */
function readRetryAfterMs(error: unknown): number {
  const text = error instanceof OpenAI.APIError ? error.headers?.get('retry-after') : undefined;
  if (!text) return 0;
  const pauseMs =
    /^\s*\d/.test(text) && Number.isFinite(Number(text)) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isFinite(pauseMs) ? Math.max(0, pauseMs) : 0;
}

function toFailure(error: unknown): Failure {
  // The client takes whatever its `fetch` throws for a broken connection.
  const isTooLarge = error instanceof OpenAI.APIConnectionError && error.cause instanceof InvalidAnswerError;
  if (isTooLarge || !(error instanceof OpenAI.APIError)) return aiInvalidOutput().addCause(error);
  return (isConnectionError(error) ? aiUnavailable() : toStatusFailure(error.status)).addCause(error);
}

const isConnectionError = (error: unknown): boolean =>
  error instanceof OpenAI.APIConnectionError || error instanceof OpenAI.APIUserAbortError;

function toStatusFailure(status: number | undefined): Failure {
  const isTemporary = status === undefined || status >= 500 || [408, 409, 429].includes(status);
  return isTemporary ? aiUnavailable({ status }) : aiRefused(status);
}
