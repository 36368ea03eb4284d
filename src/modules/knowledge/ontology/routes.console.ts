import { z } from 'zod';
import { concurrentChange } from '../../../db/failures.ts';
import { pagesQuery } from '../../../http/surfaces/knowledge.ts';
import { normalizeName } from '../resources/definition.ts';
import { createResourceEndpoints } from '../resources/endpoints.ts';
import { makeTextSchema, searchQuery, statusQuery } from '../resources/fields.ts';
import { makeRecordSchema, viewResource } from '../resources/views.ts';
import { NODE_TYPES, nodeFields, ontologyNode, ontologyRelation, relationFields } from './definitions.ts';

export const ontologyEndpoints = [
  ...createResourceEndpoints({
    definition: ontologyNode,
    path: '/api/v1/domain-knowledge/ontology/nodes',
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
  }),
  ...createResourceEndpoints({
    definition: ontologyRelation,
    path: '/api/v1/domain-knowledge/ontology/relations',
    names: { singular: 'an ontology relation', plural: 'ontology relations', short: 'relation' },
    ids: { singular: 'OntologyRelation', plural: 'OntologyRelations' },
    descriptions: {
      list: 'By predicate, subject, object and status; archived ones only if `status` asks for them. Newest first.',
      create:
        'Says how one node relates to another, such as `Customer places Order`. Subject, predicate and object stand together once among the relations that are not archived.',
      get: 'With the ids of both its nodes, also when it is archived.',
      archive: 'It disappears from lists, and the same relation can be created again.',
    },
    viewSchema: makeRecordSchema(relationFields).meta({ id: 'OntologyRelation' }),
    view: (_ctx, relations) => relations.map(viewResource),
    query: pagesQuery.extend({
      status: statusQuery,
      predicate: makeTextSchema(200).optional(),
      subject_node_id: z.string().max(24).optional(),
      object_node_id: z.string().max(24).optional(),
    }),
    filter: ({ status, predicate, subject_node_id, object_node_id }) => ({
      status,
      facet: predicate === undefined ? undefined : normalizeName(predicate),
      subjectId: subject_node_id,
      objectId: object_node_id,
    }),
  }),
];
