import type { Schema } from '@cfworker/json-schema';
import { callApi } from '../../support/api.ts';
import { findMismatches } from '../../support/conformity.ts';

/** The JSON-RPC answer to a call of a tool. */
export interface ToolAnswer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
  body: any;
  /** The text and the data of the result. */
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into data of every shape.
  data: any;
  isError: boolean;
}

export const PROTOCOL_VERSION = '2025-11-25';

/** The output schema of each tool, from the first listing; it is the same for every caller. */
let outputSchemas: Map<string, Schema> | undefined;

/** Creates an agent that sends messages to `/mcp` with a credential, `Bearer …`. Results must fit their tool's `outputSchema`. */
export function createAgent(credential: string) {
  const sendMessage = (json: unknown, headers: Record<string, string> = {}) =>
    callApi('POST', '/mcp', {
      headers: { authorization: credential, accept: 'application/json, text/event-stream', ...headers },
      json,
    });
  const sendMethod = (method: string, params: unknown = {}, headers: Record<string, string> = {}) =>
    sendMessage({ jsonrpc: '2.0', id: 7, method, params }, headers);
  const callTool = async (name: unknown, toolArguments?: unknown): Promise<ToolAnswer> => {
    const { status, headers, body } = await sendMethod('tools/call', { name, arguments: toolArguments });
    const { content = [], structuredContent, isError = false } = Object(body.result);
    if (structuredContent !== undefined) {
      const problems = findMismatches(structuredContent, await readOutputSchema(name as string));
      if (problems.length > 0) throw new Error(`${name} answered what its outputSchema does not allow: ${problems}`);
    }
    return { status, headers, body, text: content[0]?.text ?? '', data: structuredContent?.data, isError };
  };
  const readOutputSchema = async (name: string): Promise<Schema> => {
    type ListedTools = { name: string; outputSchema: Schema }[];
    outputSchemas ??= new Map(
      ((await sendMethod('tools/list')).body.result.tools as ListedTools).map((tool) => [tool.name, tool.outputSchema]),
    );
    return outputSchemas.get(name) as Schema;
  };
  return { send: sendMessage, ask: sendMethod, tool: callTool, outputSchemaOf: readOutputSchema };
}

export type Agent = ReturnType<typeof createAgent>;

/** Reads the failure in a result, in the API's error format. */
export const readFailure = ({ text, isError }: ToolAnswer): { error: string; details: { field: string }[] } => {
  if (!isError) throw new Error(`No failure: ${text}`);
  return JSON.parse(text);
};
