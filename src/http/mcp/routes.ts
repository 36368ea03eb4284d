import { z } from 'zod';
import type { Config } from '../../config.ts';
import { defineFailure, Failure } from '../../kernel/failure.ts';
import { logError } from '../../platform/log.ts';
import type { Locale } from '../../texts/locales.ts';
import { type Perform, prepared, type Route } from '../endpoint.ts';
import type { SurfaceEndpoints } from '../openapi.ts';
import { makeInternalError, wordFailure } from '../surface.ts';
import { surface } from '../surfaces/console.ts';
import { endpoint } from '../surfaces/mcp.ts';
import { INVALID_REQUEST_CODE, makeRefusal, PROTOCOL_VERSIONS } from './protocol.ts';
import { type ToolResult, toFailedResult, toResult } from './results.ts';
import type { ListedTool } from './server.ts';
import { type ArgumentsSchema, makeArgumentsSchema, makeOutputSchema, type Tool, toRouteInput } from './tools.ts';

export const foreignOrigin = defineFailure('mcp.foreign_origin', 'forbidden', {
  message: 'Pages of this origin may not call the tools.',
});

/** Refuses pages of other origins. The request's Host header does not count, since anybody's page can be served under it. */
function requireOwnOrigin({ ALLOWED_ORIGINS, PUBLIC_URL }: Config, origin: string | undefined): void {
  const ownOrigins = PUBLIC_URL === undefined ? [] : [new URL(PUBLIC_URL).origin];
  if (
    origin !== undefined &&
    ![...ownOrigins, ...ALLOWED_ORIGINS].some((allowedOrigin) => allowedOrigin === '*' || allowedOrigin === origin)
  )
    throw foreignOrigin();
}

/** Returns true if an object has no members, without listing them, as there may be many. */
function isEmpty(sentMessage: object | null): boolean {
  for (const _name in sentMessage) return false;
  return true;
}

/** Schema of a message that is not empty. The protocol checks the rest, and refuses in its own words. */
const message = z
  .unknown()
  .refine((sentMessage) => typeof sentMessage !== 'object' || !isEmpty(sentMessage), 'must be a JSON-RPC 2.0 message')
  .meta({
    type: 'object',
    additionalProperties: true,
    description: 'One JSON-RPC 2.0 message; batches are not accepted.',
  });

const mcpResponseSchema = z
  .object({ jsonrpc: z.literal('2.0'), id: z.union([z.string(), z.number(), z.null()]) })
  .loose()
  .meta({ id: 'McpMessage' });

/** Tools and instructions for agents. Constant: nothing that people of a company write becomes a model's instructions. */
export interface AgentTools {
  /** Tools in the order in which they are listed. */
  tools: readonly Tool[];
  /** Instructions for a model: which tool to call when. */
  instructions: string;
}

/**
 * Makes the endpoint of the Model Context Protocol, whose tools perform routes of `listSurfaces`, with their authorization and
 * failures.
 */
export function makeMcpEndpoints({ tools, instructions }: AgentTools, listSurfaces: () => SurfaceEndpoints[]) {
  let routes: Map<string, Route> | undefined;
  const schemas = new Map<string, ArgumentsSchema>();

  const findRoute = (operation: string): Route => {
    routes ??= new Map(
      listSurfaces().flatMap((listedSurface) =>
        listedSurface.endpoints.map(
          (foundEndpoint) =>
            [foundEndpoint.contract.operationId, { surface: listedSurface.surface, endpoint: foundEndpoint }] as const,
        ),
      ),
    );
    const route = routes.get(operation);
    if (!route) throw new Error(`There is no operation ${operation}.`);
    return route;
  };

  const describeArguments = (tool: Tool): ArgumentsSchema => {
    const schema = schemas.get(tool.name) ?? makeArgumentsSchema(tool, findRoute(tool.operationId).endpoint);
    schemas.set(tool.name, schema);
    return schema;
  };

  const listTools = (): ListedTool[] =>
    tools.map((tool) => {
      const { name, title, description } = tool;
      const result = makeOutputSchema(findRoute(tool.operationId).endpoint);
      return { name, title, description, inputSchema: describeArguments(tool), outputSchema: result };
    });

  const callTool = async (
    name: string,
    callArguments: Record<string, unknown>,
    perform: Perform,
    locale: Locale,
  ): Promise<ToolResult | undefined> => {
    const tool = tools.find((listedTool) => listedTool.name === name);
    if (!tool) return undefined;
    const route = findRoute(tool.operationId);
    try {
      const makeInput = () => toRouteInput(tool, route.endpoint.contract, describeArguments(tool), callArguments);
      return toResult(await perform(route, makeInput));
    } catch (error) {
      if (error instanceof Failure) return toFailedResult(wordFailure(surface, error, locale).body);
      logError('tool_failed', error, { tool: name });
      return toFailedResult(makeInternalError(surface, locale));
    }
  };

  return [
    endpoint(
      {
        method: 'post',
        path: '/mcp',
        access: 'authenticated',
        forPrograms: true,
        unlessDenied: 'mcp:connect',
        operationId: 'sendMcpMessage',
        summary: 'Send a Model Context Protocol message',
        safe: true,
        description: `Streamable HTTP without sessions, protocol ${PROTOCOL_VERSIONS.join(' or ')}. Tools only read; each needs the permission of the route that it calls.`,
        checkOrigin: requireOwnOrigin,
        body: message,
        exactNumbers: true,
        // A subscription is acknowledged and ended at once, as events of a stream.
        returns: prepared(mcpResponseSchema, 'text/event-stream'),
        acknowledgedRequests: 'The message was a notification or a response; there is no body.',
        otherAnswers: { 400: mcpResponseSchema, 404: mcpResponseSchema },
        fails: [foreignOrigin],
      },
      async ({ ctx, body, request, perform }) => {
        if (Array.isArray(body))
          return makeRefusal(INVALID_REQUEST_CODE, 'Send one message per request: batches are not accepted.');
        // Loaded by the first call: every other request does without the SDK.
        const { handleMessage } = await import('./server.ts');
        const { locale } = ctx.caller();
        return handleMessage(request, body, {
          version: ctx.config.VERSION,
          instructions,
          listTools,
          callTool: (name, callArguments) => callTool(name, callArguments, perform, locale),
        });
      },
    ),
  ];
}
