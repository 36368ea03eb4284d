import type { Principal } from '../../access/actors.ts';
import { createEndpointFunction } from '../endpoint.ts';
import { makePageQuery } from '../list-query.ts';
import type { Surface } from '../surface.ts';
import * as console from './console.ts';

export { makeListSchema as listOf, viewList } from './sharing.ts';

/**
 * Declares an endpoint of domain knowledge, which people and programs call with a token; failures are worded like the console's.
 */
export const endpoint = createEndpointFunction<Principal>();

export const surface: Surface = {
  ...console.surface,
  name: 'knowledge',
  basePaths: ['/api/v1/domain-knowledge'],
  title: 'Domain knowledge',
  description:
    'Concepts, a semantic layer and an ontology, with every version, and suggestions by an AI model, which people review. With a session or service token.',
};

/** Schema of the query of every list: which page. */
export const pagesQuery = makePageQuery('per_page');
