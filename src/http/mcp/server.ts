import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  InitializeRequestSchema,
  JSONRPCRequestSchema,
  LATEST_PROTOCOL_VERSION,
  ListToolsRequestSchema,
  McpError,
  PingRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { shorten } from '../../kernel/text.ts';
import { PROTOCOL_VERSIONS } from './protocol.ts';
import type { ToolResult } from './results.ts';

/** A tool as clients list it. */
export interface ListedTool {
  name: string;
  title: string;
  description: string;
  inputSchema: { type: 'object'; [more: string]: unknown };
}

export interface Tools {
  version: string;
  /** For a model: which tool to call when. */
  instructions: string;
  list(): ListedTool[];
  /** @returns undefined for a tool that does not exist */
  call(name: string, sent: Record<string, unknown>): Promise<ToolResult | undefined>;
}

/** Elicitation alone validates by JSON Schema, and no tool elicits: so the SDK needs none of its validators, which `eval`. */
const NO_VALIDATOR = {
  getValidator(): never {
    throw new Error('Nothing is validated by JSON Schema.');
  },
};

const CAPABILITIES = { tools: {} };

/** Answers one message. There are no sessions: each request brings its own credential, and nothing is remembered between them. */
export async function answerMessage(request: Request, message: unknown, tools: Tools): Promise<Response> {
  const serverInfo = { name: 'data-console', title: 'Data Console', version: tools.version };
  const server = new Server(serverInfo, { capabilities: CAPABILITIES, jsonSchemaValidator: NO_VALIDATOR });
  server.setRequestHandler(InitializeRequestSchema, ({ params: { protocolVersion: asked } }) => ({
    protocolVersion: PROTOCOL_VERSIONS.includes(asked) ? asked : LATEST_PROTOCOL_VERSION,
    capabilities: CAPABILITIES,
    serverInfo,
    instructions: tools.instructions,
  }));
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: tools.list().map((tool) => ({
      ...tool,
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    })),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: sent = {} } }) => {
    const result = await tools.call(name, sent);
    if (!result) throw new McpError(ErrorCode.InvalidParams, `Unknown tool: ${shorten(name, 80).toWellFormed()}`);
    return result;
  });

  const refusal = refusedParameters(message);
  if (refusal) return refusal;
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  try {
    return await transport.handleRequest(plain(request), { parsedBody: message });
  } finally {
    await server.close();
  }
}

const REQUESTS = [InitializeRequestSchema, PingRequestSchema, ListToolsRequestSchema, CallToolRequestSchema];

/** An error for invalid parameters, which the SDK would answer as an internal error. */
function refusedParameters(message: unknown): Response | undefined {
  const request = JSONRPCRequestSchema.safeParse(message);
  const schema = REQUESTS.find(({ shape }) => shape.method.value === request.data?.method);
  const [issue] = schema?.safeParse(message).error?.issues ?? [];
  if (!request.success || !issue) return undefined;
  const error = { code: ErrorCode.InvalidParams, message: shorten(`${issue.path.join('.')}: ${issue.message}`, 200) };
  return Response.json({ jsonrpc: '2.0', id: request.data.id, error });
}

/** The request without its body, which was read already. Clients that only say `application/json` are answered that too. */
function plain({ url, headers }: Request): Request {
  const version = headers.get('mcp-protocol-version');
  return new Request(url, {
    method: 'POST',
    headers: {
      Accept: 'application/json, text/event-stream',
      'Content-Type': 'application/json',
      ...(version !== null && { 'Mcp-Protocol-Version': version }),
    },
  });
}
