import type { Principal } from '../../access/actors.ts';
import { endpointFor } from '../endpoint.ts';
import type { Surface } from '../surface.ts';
import * as console from './console.ts';

/** Where anybody learns how to prove who they are, by RFC 9728. */
export const METADATA_PATH = '/.well-known/oauth-protected-resource';

/** Endpoints for agents, which call with a token or a key, and are answered failures in the words of the console. */
export const endpoint = endpointFor<Principal>();

export const surface: Surface = {
  ...console.surface,
  name: 'mcp',
  credential: 'agent',
  bases: ['/mcp', METADATA_PATH],
  metadataPath: `${METADATA_PATH}/mcp`,
  title: 'Model Context Protocol',
  description:
    'Tools for agents, which read and change nothing. With a session or service token, or an API key and its secret: `Bearer sa_…:SECRET`.',
};
