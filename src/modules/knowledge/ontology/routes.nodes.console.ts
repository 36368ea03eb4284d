import { z } from 'zod';
import { concurrentChange } from '../../../db/failures.ts';
import { pagesQuery } from '../../../http/surfaces/knowledge.ts';
import { createResourceEndpoints } from '../resources/endpoints.ts';
import { searchQuery, statusQuery } from '../resources/fields.ts';
import { makeRecordSchema, viewResource } from '../resources/views.ts';
import { ONTOLOGY_ACTIONS } from './actions.ts';
import { NODE_TYPES, nodeFields, ontologyNode } from './node.ts';

export const ontologyNodeEndpoints = createResourceEndpoints({
  definition: ontologyNode,
  path: '/api/v1/domain-knowledge/ontology/nodes',
  actions: ONTOLOGY_ACTIONS,
  resource: 'node',
  names: { singular: 'an ontology node', plural: 'ontology nodes', short: 'node' },
  ids: { singular: 'OntologyNode', plural: 'OntologyNodes' },
  descriptions: {
    list: 'By type of node, status and text; archived ones only if `status` asks for them. Newest first.',
    create:
      'A class, role, event, object or state of the business, which may have a parent. Relations between nodes are created by themselves.',
    get: 'With its attributes, constraints and what it stands for in the data, also when it is archived.',
    archive: 'It disappears from lists and its name can be used again; relations that refer to it stay.',
  },
  viewSchema: makeRecordSchema(nodeFields).meta({ id: 'OntologyNode' }),
  view: (_ctx, nodes) => nodes.map(viewResource),
  query: pagesQuery.extend({ search: searchQuery, status: statusQuery, node_type: z.enum(NODE_TYPES).optional() }),
  filter: ({ search, status, node_type }) => ({ search, status, facet: node_type }),
  // Its parent may change meanwhile.
  fails: { create: [concurrentChange] },
});
