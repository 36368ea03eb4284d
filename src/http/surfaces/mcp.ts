import type { Principal } from '../../access/actors.ts';
import { createEndpointFunction } from '../endpoint.ts';
import { INVALID_REQUEST_CODE, PARSE_ERROR_CODE } from '../mcp/protocol.ts';
import { makeChallenge } from '../oauth-metadata.ts';
import type { ErrorParts, Surface } from '../surface.ts';
import * as console from './console.ts';

/** Declares an endpoint for agents, which call with a token or a key; failures are worded like the console's. */
export const endpoint = createEndpointFunction<Principal>();

export const surface: Surface = {
  ...console.surface,
  name: 'mcp',
  credential: 'agent',
  basePaths: ['/mcp'],
  formatChallenge: makeChallenge('/mcp'),
  // Clients read what is wrong with a message in the terms of the protocol alone.
  makeErrorBody: (words) => (words.status === 400 ? makeRefusalBody(words) : console.surface.makeErrorBody(words)),
  title: 'Model Context Protocol',
  description:
    'Tools for agents, which read and change nothing. With a session or service token, as a program that somebody let in, or with an API key and its secret: `Bearer sa_…:SECRET`.',
};

/** Makes the body of a JSON-RPC refusal of a body that holds no message to answer. */
const makeRefusalBody = ({ code, message, details }: ErrorParts) => ({
  jsonrpc: '2.0',
  id: null,
  error: {
    code: code === 'INVALID_JSON' ? PARSE_ERROR_CODE : INVALID_REQUEST_CODE,
    message,
    ...(details !== undefined && { data: details }),
  },
});
