import { z } from 'zod';
import { pagesQuery } from '../../../http/surfaces/knowledge.ts';
import { createResourceEndpoints } from '../resources/endpoints.ts';
import { makeTextSchema, statusQuery } from '../resources/fields.ts';
import { normalizeName } from '../resources/service.ts';
import { makeRecordSchema, viewResource } from '../resources/views.ts';
import { ONTOLOGY_ACTIONS } from './actions.ts';
import { ontologyRelation, relationFields } from './relation.ts';

export const ontologyRelationEndpoints = createResourceEndpoints({
  definition: ontologyRelation,
  path: '/api/v1/domain-knowledge/ontology/relations',
  actions: ONTOLOGY_ACTIONS,
  resource: 'relation',
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
});
