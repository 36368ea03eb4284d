import type { Principal } from '../../access/actors.ts';
import { endpointFor } from '../endpoint.ts';
import { pageQuery } from '../list-query.ts';
import type { Surface } from '../surface.ts';
import * as console from './console.ts';

export { list, listSchema as listOf } from './sharing.ts';

/** Endpoints of domain knowledge: called by people and programs with a token, worded like the console. */
export const endpoint = endpointFor<Principal>();

export const surface: Surface = {
  ...console.surface,
  name: 'knowledge',
  bases: ['/api/v1/domain-knowledge'],
  title: 'Domain knowledge',
  description:
    'Concepts, a semantic layer and an ontology, with every version, and suggestions by an AI model, which people review. With a session or service token.',
};

/** The query of every list: which page. */
export const pages = pageQuery('per_page');
