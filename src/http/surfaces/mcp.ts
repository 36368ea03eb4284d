import type { Principal } from '../../access/actors.ts';
import { endpointFor } from '../endpoint.ts';
import { challengeOf } from '../oauth-metadata.ts';
import type { Surface } from '../surface.ts';
import * as console from './console.ts';

/** Endpoints for agents, which call with a token or a key, and are answered failures in the words of the console. */
export const endpoint = endpointFor<Principal>();

export const surface: Surface = {
  ...console.surface,
  name: 'mcp',
  credential: 'agent',
  bases: ['/mcp'],
  challenge: challengeOf('/mcp'),
  title: 'Model Context Protocol',
  description:
    'Tools for agents, which read and change nothing. With a session or service token, as a program that somebody let in, or with an API key and its secret: `Bearer sa_…:SECRET`.',
};
