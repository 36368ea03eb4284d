import OpenAI from 'openai';
import { z } from 'zod';
import { Failure } from '../kernel/failure.ts';
import { cut, wellFormed } from '../kernel/text.ts';
import { readBounded } from './bounded.ts';

/** How to reach a model: any endpoint that speaks OpenAI's chat completions with JSON schemas. */
export interface AiSettings {
  apiKey: string;
  /** Ends in `/v1`. */
  baseUrl: string;
  model: string;
  /** How long one try may take. Milliseconds. */
  timeoutMs: number;
  /** Pause before the second try; the one before the third is four times as long. Milliseconds. */
  backoffMs: number;
}

/** What a model is asked. */
export interface Question<T> {
  /** Names the schema: letters, digits and `_`. */
  name: string;
  system: string;
  user: string;
  /** The shape that the model is told to answer in. */
  shape: z.ZodType;
  /** Makes something of an answer, which may hold anything; whatever it throws makes the answer a bad one. */
  read(answer: unknown): T;
}

/** What an answer took, all tries together. */
export interface AiUsage {
  requests: number;
  prompt_tokens: number;
  completion_tokens: number;
}

export interface AiAnswer<T> {
  value: T;
  /** The model that answered, as the provider names it. */
  model: string;
}

const TRIES = 3;
/** Longest pause between tries that a provider may ask for. Milliseconds. */
const LONGEST_PAUSE_MS = 30_000;
/** Longest answer, in tokens and in bytes on the wire. */
const MAX_TOKENS = 8192;
const MAX_ANSWER_BYTES = 1024 * 1024;

export const noUsage = (): AiUsage => ({ requests: 0, prompt_tokens: 0, completion_tokens: 0 });

/** How long `askModel` may take. Milliseconds. */
export const longestAskMs = ({ timeoutMs, backoffMs }: AiSettings): number =>
  TRIES * timeoutMs + Math.max(backoffMs, LONGEST_PAUSE_MS) + Math.max(4 * backoffMs, LONGEST_PAUSE_MS);

/**
 * Asks a model, and again when it is slow, broken or answers what is of no use: three times in all. A provider that says
 * when to come again (`Retry-After`) is waited for, up to half a minute.
 * @param usage counts what was used, also by tries that failed
 * @throws Failure `ai.unavailable`, `ai.refused`, `ai.invalid_output`; none of them repeats what the provider said
 */
export async function askModel<T>(settings: AiSettings, question: Question<T>, usage: AiUsage): Promise<AiAnswer<T>> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await tryOnce(settings, question, usage);
    } catch (error) {
      const failure = failureOf(error);
      if (attempt === TRIES || failure.reason === 'ai.refused') throw failure;
      const pause = Math.max(settings.backoffMs * 4 ** (attempt - 1), Math.min(wishOf(error), LONGEST_PAUSE_MS));
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

async function tryOnce<T>(settings: AiSettings, question: Question<T>, usage: AiUsage): Promise<AiAnswer<T>> {
  const { apiKey, baseUrl, model, timeoutMs } = settings;
  // The client's own timeout ends with the headers; the signal covers the body as well.
  const client = new OpenAI({ apiKey, baseURL: baseUrl, maxRetries: 0, timeout: timeoutMs, fetch: boundedFetch });
  usage.requests += 1;
  const completion = await client.chat.completions.create(
    {
      model,
      messages: [
        { role: 'system', content: question.system },
        { role: 'user', content: question.user },
      ],
      response_format: {
        type: 'json_schema',
        json_schema: { name: question.name, strict: true, schema: z.toJSONSchema(question.shape) },
      },
      max_completion_tokens: MAX_TOKENS,
    },
    { signal: AbortSignal.timeout(timeoutMs) },
  );
  usage.prompt_tokens += tokens(completion.usage?.prompt_tokens);
  usage.completion_tokens += tokens(completion.usage?.completion_tokens);
  return { value: question.read(parsed(completion.choices?.[0])), model: nameOf(completion.model) ?? model };
}

/** Providers leave out what they like. */
const tokens = (count: unknown): number =>
  Number.isSafeInteger(count) && (count as number) > 0 ? (count as number) : 0;
const nameOf = (name: unknown): string | undefined =>
  typeof name === 'string' && name !== '' ? cut(name, 200) : undefined;

function parsed(choice: OpenAI.Chat.Completions.ChatCompletion.Choice | undefined): unknown {
  const content = choice?.message?.content;
  if (typeof content !== 'string' || choice?.finish_reason === 'length') throw new BadAnswer();
  // Models break off emoji in the middle.
  return JSON.parse(content, wellFormed);
}

class BadAnswer extends Error {}

const boundedFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, { ...init, redirect: 'manual' });
  const body = await readBounded(response.body, MAX_ANSWER_BYTES);
  if (body === null) throw new BadAnswer('The answer is too large.');
  const headers = new Headers({ 'content-type': response.headers.get('content-type') ?? '' });
  const retryAfter = response.headers.get('retry-after');
  if (retryAfter !== null) headers.set('retry-after', retryAfter);
  return new Response(body.length > 0 ? body : null, { status: response.status, headers });
};

/** How long a provider wants not to be asked: seconds, or a date. Milliseconds; 0 when it does not say. */
function wishOf(error: unknown): number {
  const text = error instanceof OpenAI.APIError ? error.headers?.get('retry-after') : undefined;
  if (!text) return 0;
  const wish =
    /^\s*\d/.test(text) && Number.isFinite(Number(text)) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isFinite(wish) ? Math.max(0, wish) : 0;
}

function failureOf(error: unknown): Failure {
  const failure = isConnection(error)
    ? unreachable()
    : error instanceof OpenAI.APIError
      ? ofStatus(error.status)
      : invalidOutput();
  return Object.assign(failure, { cause: error });
}

const isConnection = (error: unknown): boolean =>
  error instanceof OpenAI.APIConnectionError || error instanceof OpenAI.APIUserAbortError;

function ofStatus(status: number | undefined): Failure {
  const passes = status === undefined || status >= 500 || [408, 409, 429].includes(status);
  return passes
    ? new Failure('unavailable', 'ai.unavailable', {
        message: 'The AI provider is not answering as it should.',
        status,
      })
    : new Failure('unavailable', 'ai.refused', { message: `The AI provider refused the request (${status}).`, status });
}

const unreachable = () =>
  new Failure('unavailable', 'ai.unavailable', { message: 'The AI provider could not be reached in time.' });

const invalidOutput = () =>
  new Failure('unavailable', 'ai.invalid_output', { message: 'The answer of the AI provider was of no use.' });
