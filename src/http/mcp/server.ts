import {
  createMcpHandler,
  isJSONRPCRequest,
  isLegacyRequest,
  isSpecType,
  type JSONRPCRequest,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { shorten } from '../../kernel/text.ts';
import { INVALID_REQUEST_CODE, LEGACY_VERSIONS, makeRefusal, PROTOCOL_VERSIONS } from './protocol.ts';
import type { ToolResult } from './results.ts';

/** Tool in the form that clients list. */
export interface ListedTool {
  name: string;
  title: string;
  description: string;
  inputSchema: { type: 'object'; [key: string]: unknown };
  outputSchema: { type: 'object'; [key: string]: unknown };
}

export interface ToolServer {
  version: string;
  /** Instructions for a model: which tool to call when. */
  instructions: string;
  listTools(): ListedTool[];
  /** Calls a tool. @returns undefined for a tool that does not exist */
  callTool(name: string, sentArguments: Record<string, unknown>): Promise<ToolResult | undefined>;
}

/** Placeholder validator that is never called: the SDK's own need `eval`, for elicitation, which no tool uses. */
const NO_VALIDATOR = {
  getValidator(): never {
    throw new Error('Nothing is validated by JSON Schema.');
  },
};

/** Creates a server that lists and calls the tools, for clients of these protocol versions. */
function createServer(tools: ToolServer, supportedProtocolVersions: readonly string[]): Server {
  const server = new Server(
    { name: 'data-console', title: 'Data Console', version: tools.version },
    {
      capabilities: { tools: {} },
      instructions: tools.instructions,
      jsonSchemaValidator: NO_VALIDATOR,
      supportedProtocolVersions: [...supportedProtocolVersions],
    },
  );
  server.setRequestHandler('tools/list', () => ({
    tools: tools.listTools().map((tool) => ({
      ...tool,
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    })),
  }));
  server.setRequestHandler('tools/call', async ({ params: { name, arguments: callArguments = {} } }) => {
    const result = await tools.callTool(name, callArguments);
    if (!result)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${shorten(name, 80).toWellFormed()}`);
    return result;
  });
  return server;
}

/** Handles a message: versions before 2026-07-28 begin with a handshake. Nothing is stored between messages. */
export async function handleMessage(request: Request, message: unknown, tools: ToolServer): Promise<Response> {
  const bodilessRequest = copyWithoutBody(request);
  // The list of tools is one page.
  if (isJSONRPCRequest(message) && message.method === 'tools/list' && message.params?.cursor !== undefined)
    return refuseParams(message, 'There is no such cursor.');
  if (!(await isLegacyRequest(bodilessRequest, message))) {
    const handler = createMcpHandler(() => createServer(tools, PROTOCOL_VERSIONS), {
      legacy: 'reject',
      responseMode: 'json',
    });
    return handler.fetch(bodilessRequest, { parsedBody: message });
  }
  const version = request.headers.get('mcp-protocol-version');
  if (version !== null && !LEGACY_VERSIONS.includes(version)) {
    const problem = PROTOCOL_VERSIONS.includes(version)
      ? `A client of ${version} sends requests and notifications only.`
      : `Mcp-Protocol-Version must be one of ${PROTOCOL_VERSIONS.join(', ')}.`;
    return makeRefusal(INVALID_REQUEST_CODE, problem);
  }
  if (isJSONRPCRequest(message) && message.method === 'initialize' && !isSpecType.InitializeRequest(message))
    return refuseParams(message, 'Invalid params for initialize.');
  const server = createServer(tools, LEGACY_VERSIONS);
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  try {
    return await transport.handleRequest(bodilessRequest, { parsedBody: message });
  } finally {
    await server.close();
  }
}

/** Answers a request whose parameters the SDK would refuse as an error of ours, at whatever length. */
const refuseParams = ({ id }: JSONRPCRequest, message: string): Response =>
  Response.json({ jsonrpc: '2.0', id, error: { code: ProtocolErrorCode.InvalidParams, message } });

/** Headers that repeat values of a message, by the protocol. */
const REPEATED_HEADERS = ['mcp-protocol-version', 'mcp-method', 'mcp-name'];

/** Copies the request without its body, which was already read. Clients that accept only JSON are answered, too. */
function copyWithoutBody({ url, headers }: Request): Request {
  const repeatedHeaders = REPEATED_HEADERS.flatMap((name): [string, string][] => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value]];
  });
  return new Request(url, {
    method: 'POST',
    headers: [
      ['Accept', 'application/json, text/event-stream'],
      ['Content-Type', 'application/json'],
      ...repeatedHeaders,
    ],
  });
}
