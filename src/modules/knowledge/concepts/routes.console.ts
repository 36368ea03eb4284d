import { z } from 'zod';
import { pagesQuery } from '../../../http/surfaces/knowledge.ts';
import { createResourceEndpoints } from '../resources/endpoints.ts';
import { searchQuery, statusQuery } from '../resources/fields.ts';
import { makeRecordSchema, viewResource } from '../resources/views.ts';
import { CONCEPT_TYPES, concept, conceptFields } from './concept.ts';

export const conceptEndpoints = createResourceEndpoints({
  definition: concept,
  path: '/api/v1/domain-knowledge/concepts',
  names: { singular: 'a concept', plural: 'concepts', short: 'concept' },
  ids: { singular: 'Concept', plural: 'Concepts' },
  descriptions: {
    list: 'By type, status and text; archived ones only if `status` asks for them. Newest first.',
    create:
      'A term, rule or hint of the business, in words. Its name must be free among the concepts that are not archived.',
    get: 'As it is now, also when it is archived. What it was before is told by its versions.',
    archive: 'Nothing is erased: it disappears from lists and its name can be used again; references to it stay.',
  },
  viewSchema: makeRecordSchema(conceptFields).meta({ id: 'Concept' }),
  view: (_ctx, concepts) => concepts.map(viewResource),
  query: pagesQuery.extend({ search: searchQuery, status: statusQuery, type: z.enum(CONCEPT_TYPES).optional() }),
  filter: ({ search, status, type }) => ({ search, status, facet: type }),
});
