import type { Schema } from '@cfworker/json-schema';
import { call } from '../../support/api.ts';
import { findMismatches } from '../../support/conformity.ts';

/** What JSON-RPC answers to a call of a tool. */
export interface ToolAnswer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
  body: any;
  /** Of a result: its text, and its data. */
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into data of every shape.
  data: any;
  isError: boolean;
}

export const VERSION = '2025-11-25';

/** Of each tool, as the first listing tells it: it is the same for everybody. */
let outputSchemas: Map<string, Schema> | undefined;

/** Sends messages to `/mcp` with a credential, `Bearer …`. What a tool answers must fit its `outputSchema`. */
export function createAgent(credential: string) {
  const send = (json: unknown, headers: Record<string, string> = {}) =>
    call('POST', '/mcp', {
      headers: { authorization: credential, accept: 'application/json, text/event-stream', ...headers },
      json,
    });
  const ask = (method: string, params: unknown = {}, headers: Record<string, string> = {}) =>
    send({ jsonrpc: '2.0', id: 7, method, params }, headers);
  const tool = async (name: unknown, sent?: unknown): Promise<ToolAnswer> => {
    const { status, headers, body } = await ask('tools/call', { name, arguments: sent });
    const { content = [], structuredContent, isError = false } = Object(body.result);
    if (structuredContent !== undefined) {
      const problems = findMismatches(structuredContent, await outputSchemaOf(name as string));
      if (problems.length > 0) throw new Error(`${name} answered what its outputSchema does not allow: ${problems}`);
    }
    return { status, headers, body, text: content[0]?.text ?? '', data: structuredContent?.data, isError };
  };
  const outputSchemaOf = async (name: string): Promise<Schema> => {
    type Listed = { name: string; outputSchema: Schema }[];
    outputSchemas ??= new Map(
      ((await ask('tools/list')).body.result.tools as Listed).map((each) => [each.name, each.outputSchema]),
    );
    return outputSchemas.get(name) as Schema;
  };
  return { send, ask, tool, outputSchemaOf };
}

export type Agent = ReturnType<typeof createAgent>;

/** The failure that a result tells, in the words of the API. */
export const readFailure = ({ text, isError }: ToolAnswer): { error: string; details: { field: string }[] } => {
  if (!isError) throw new Error(`No failure: ${text}`);
  return JSON.parse(text);
};
