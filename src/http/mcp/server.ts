import {
  createMcpHandler,
  isLegacyRequest,
  isSpecType,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { shorten } from '../../kernel/text.ts';
import { INVALID_REQUEST, LEGACY_VERSIONS, makeRefusal, PROTOCOL_VERSIONS } from './protocol.ts';
import type { ToolResult } from './results.ts';

/** A tool as clients list it. */
export interface ListedTool {
  name: string;
  title: string;
  description: string;
  inputSchema: { type: 'object'; [more: string]: unknown };
  outputSchema: { type: 'object'; [more: string]: unknown };
}

export interface Tools {
  version: string;
  /** For a model: which tool to call when. */
  instructions: string;
  list(): ListedTool[];
  /** @returns undefined for a tool that does not exist */
  call(name: string, sent: Record<string, unknown>): Promise<ToolResult | undefined>;
}

/** A validator that is never called: the SDK's own need `eval`, for elicitation, which no tool uses. */
const NO_VALIDATOR = {
  getValidator(): never {
    throw new Error('Nothing is validated by JSON Schema.');
  },
};

/** The tools, as one server that answers in the terms of either era of the protocol. */
function createServer(tools: Tools, supportedProtocolVersions: readonly string[]): Server {
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
    tools: tools.list().map((tool) => ({
      ...tool,
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    })),
  }));
  server.setRequestHandler('tools/call', async ({ params: { name, arguments: sent = {} } }) => {
    const result = await tools.call(name, sent);
    if (!result)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${shorten(name, 80).toWellFormed()}`);
    return result;
  });
  return server;
}

/** Handles a message by its version: earlier than 2026-07-28 they began with a handshake. Nothing is stored between. */
export async function handleMessage(request: Request, message: unknown, tools: Tools): Promise<Response> {
  const asked = copyWithoutBody(request);
  if (!(await isLegacyRequest(asked, message))) {
    const handler = createMcpHandler(() => createServer(tools, PROTOCOL_VERSIONS), {
      legacy: 'reject',
      responseMode: 'json',
    });
    return handler.fetch(asked, { parsedBody: message });
  }
  const version = request.headers.get('mcp-protocol-version');
  if (version !== null && !LEGACY_VERSIONS.includes(version)) {
    return makeRefusal(INVALID_REQUEST, `Mcp-Protocol-Version must be ${LEGACY_VERSIONS.join(' or ')}.`);
  }
  // The SDK would answer it as an error of ours, at whatever length.
  const { id, method } = Object(message) as { id?: string | number; method?: string };
  if (method === 'initialize' && id !== undefined && !isSpecType.InitializeRequest(message)) {
    const error = { code: ProtocolErrorCode.InvalidParams, message: 'Invalid params for initialize.' };
    return Response.json({ jsonrpc: '2.0', id, error });
  }
  const server = createServer(tools, LEGACY_VERSIONS);
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  try {
    return await transport.handleRequest(asked, { parsedBody: message });
  } finally {
    await server.close();
  }
}

/** The headers that repeat values of a message, by the protocol. */
const REPEATED_HEADERS = ['mcp-protocol-version', 'mcp-method', 'mcp-name'];

/** The request without its body, which was read already. Clients that only say `application/json` are answered that too. */
function copyWithoutBody({ url, headers }: Request): Request {
  const repeated = REPEATED_HEADERS.flatMap((name): [string, string][] => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value]];
  });
  return new Request(url, {
    method: 'POST',
    headers: [['Accept', 'application/json, text/event-stream'], ['Content-Type', 'application/json'], ...repeated],
  });
}
