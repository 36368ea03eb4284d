import type { Principal } from '../../access/actors.ts';
import { endpointFor } from '../endpoint.ts';
import { INVALID_REQUEST, PARSE_ERROR } from '../mcp/protocol.ts';
import { makeChallenge } from '../oauth-metadata.ts';
import type { ErrorWords, Surface } from '../surface.ts';
import * as console from './console.ts';

/** Endpoints for agents, which call with a token or a key, and are answered failures in the words of the console. */
export const endpoint = endpointFor<Principal>();

export const surface: Surface = {
  ...console.surface,
  name: 'mcp',
  credential: 'agent',
  bases: ['/mcp'],
  challenge: makeChallenge('/mcp'),
  // Clients read what is wrong with a message in the terms of the protocol alone.
  errorOf: (words) => (words.status === 400 ? makeRefusalBody(words) : console.surface.errorOf(words)),
  title: 'Model Context Protocol',
  description:
    'Tools for agents, which read and change nothing. With a session or service token, as a program that somebody let in, or with an API key and its secret: `Bearer sa_…:SECRET`.',
};

/** The body of a refusal by JSON-RPC, of what holds no message to answer. */
const makeRefusalBody = ({ code, message, details }: ErrorWords) => ({
  jsonrpc: '2.0',
  id: null,
  error: {
    code: code === 'INVALID_JSON' ? PARSE_ERROR : INVALID_REQUEST,
    message,
    ...(details !== undefined && { data: details }),
  },
});
