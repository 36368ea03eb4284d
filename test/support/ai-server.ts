import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The base URL of an OpenAI-compatible provider that follows a test's script: see `createModel`. */
    aiServerUrl: string;
  }
}

/** The only key that the provider accepts. */
export const AI_KEY = 'key-of-the-tests';

/** The provider's reaction to one request. The last step of a script is repeated. */
export type ScriptStep =
  /** Answers this, as JSON, after `afterMs`. */
  | { answer: unknown; afterMs?: number; model?: string }
  /** Answers a content that is this text. */
  | { text: string; finishReason?: string }
  /** Answers this body, whatever it is, with status 200. */
  | { body: string }
  /** Answers an error as the provider words it. */
  | { status: number; retryAfter?: string }
  /** Begins an answer and then says nothing more, without hanging up. */
  | { stall: true }
  /** Breaks off in the middle of an answer. */
  | { half: true }
  /** Says nothing and hangs up. */
  | { hangUp: true };

/** A request as the provider received it. */
export interface ReceivedRequest {
  model: string;
  messages: { role: string; content: string }[];
  response_format: { type: string; json_schema: { name: string; strict: boolean; schema: Schema } };
  max_completion_tokens: number;
  /** When the request arrived, in milliseconds since the epoch. */
  at: number;
}

interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean;
  items?: Schema;
  anyOf?: Schema[];
}

/**
 * Starts the provider on a socket of this machine, for the whole run. `/{script}/v1/chat/completions` follows the script of that
 * name.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = createServer(createProvider());
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  project.provide('aiServerUrl', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
}

function createProvider(): RequestListener {
  const scripts = new Map<string, { steps: ScriptStep[]; receivedRequests: ReceivedRequest[] }>();
  return async (request, response) => {
    const [, name = '', ...rest] = (request.url ?? '').split('/');
    const path = rest.join('/');
    if (path === '_script') {
      scripts.set(name, {
        steps: JSON.parse(await readText(request)),
        receivedRequests: scripts.get(name)?.receivedRequests ?? [],
      });
      return sendJson(response, 200, {});
    }
    const script = scripts.get(name);
    if (!script) return sendJson(response, 404, { error: { message: 'no script of this name' } });
    if (path === '_asked') return sendJson(response, 200, script.receivedRequests);
    if (path !== 'v1/chat/completions') return sendJson(response, 404, { error: { message: 'unknown route' } });

    const body = JSON.parse(await readText(request)) as ReceivedRequest;
    const refusal = findRefusal(request, body);
    if (refusal) return sendJson(response, refusal.status, { error: { message: refusal.message } });
    script.receivedRequests.push({ ...body, at: Date.now() });
    const step = script.steps.length > 1 ? (script.steps.shift() as ScriptStep) : script.steps[0];
    await performStep(step as ScriptStep, body, response);
  };
}

async function performStep(
  step: ScriptStep,
  receivedRequest: ReceivedRequest,
  response: ServerResponse,
): Promise<void> {
  if ('hangUp' in step) return void response.destroy();
  if ('status' in step) {
    // Providers like to repeat the key they were sent.
    if (step.retryAfter !== undefined) response.setHeader('retry-after', step.retryAfter);
    return sendJson(response, step.status, { error: { message: `refused for ${AI_KEY}`, type: 'server_error' } });
  }
  if ('body' in step) return void response.writeHead(200, { 'content-type': 'application/json' }).end(step.body);
  if ('half' in step || 'stall' in step) {
    const wholeAnswer = JSON.stringify(toCompletion(receivedRequest, JSON.stringify({ payload: {} })));
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': wholeAnswer.length });
    response.write(wholeAnswer.slice(0, wholeAnswer.length / 2));
    return 'half' in step ? void setTimeout(() => response.destroy(), 50) : undefined;
  }
  if ('text' in step) return sendJson(response, 200, toCompletion(receivedRequest, step.text, step.finishReason));
  if (step.afterMs) await new Promise((resolve) => setTimeout(resolve, step.afterMs));
  sendJson(response, 200, {
    ...toCompletion(receivedRequest, JSON.stringify(step.answer)),
    ...(step.model && { model: step.model }),
  });
}

const toCompletion = (receivedRequest: ReceivedRequest, content: string, finishReason = 'stop') => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: receivedRequest.model,
  choices: [{ index: 0, finish_reason: finishReason, message: { role: 'assistant', content, refusal: null } }],
  usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
});

/** Returns the error with which OpenAI itself would refuse a request, if it would. */
function findRefusal(
  request: IncomingMessage,
  receivedRequest: ReceivedRequest,
): { status: number; message: string } | undefined {
  if (request.headers.authorization !== `Bearer ${AI_KEY}`) return { status: 401, message: 'Incorrect API key' };
  const format = receivedRequest.response_format;
  if (format?.type !== 'json_schema' || !format.json_schema.strict) return { status: 400, message: 'no strict schema' };
  if (!/^[\w-]{1,64}$/.test(format.json_schema.name)) return { status: 400, message: 'name of the schema' };
  const problem = findSchemaProblem(format.json_schema.schema);
  return problem ? { status: 400, message: problem } : undefined;
}

/** Returns the problem of a schema in strict mode, which requires every object to be closed and every member to be required. */
function findSchemaProblem(schema: Schema): string | undefined {
  for (const part of schema.anyOf ?? []) {
    const problem = findSchemaProblem(part);
    if (problem) return problem;
  }
  if (schema.items) return findSchemaProblem(schema.items);
  if (schema.type !== 'object') return undefined;
  const members = Object.keys(schema.properties ?? {});
  if (schema.additionalProperties !== false) return 'additionalProperties must be false';
  const missingMembers = members.filter((member) => !schema.required?.includes(member));
  if (missingMembers.length > 0) return `not required: ${missingMembers}`;
  return members.map((member) => findSchemaProblem(schema.properties?.[member] ?? {})).find((problem) => problem);
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks).toString();
}

const sendJson = (response: ServerResponse, status: number, body: unknown): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
