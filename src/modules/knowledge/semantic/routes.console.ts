import { z } from 'zod';
import { concurrentChange } from '../../../db/failures.ts';
import { pagesQuery } from '../../../http/surfaces/knowledge.ts';
import { createResourceEndpoints } from '../resources/endpoints.ts';
import { semanticItemInUse } from '../resources/failures.ts';
import { searchQuery, statusQuery } from '../resources/fields.ts';
import { makeRecordSchema, validationErrors, viewResource } from '../resources/views.ts';
import { filterVisibleErrors } from './check.ts';
import { SEMANTIC_KINDS, semanticFields, semanticItem } from './item.ts';

export const semanticEndpoints = createResourceEndpoints({
  definition: semanticItem,
  path: '/api/v1/domain-knowledge/semantic',
  names: { singular: 'a semantic item', plural: 'semantic items', short: 'item' },
  ids: { singular: 'SemanticItem', plural: 'SemanticItems' },
  descriptions: {
    list: 'By kind, status and text; archived ones only if `status` asks for them. Newest first.',
    create:
      'An entity, metric or dimension with the tables and columns that it stands for, or a mapping alone. Active metrics and dimensions can be queried at once.',
    get: 'With the tables and columns that it stands for, also when it is archived.',
    archive:
      'It disappears from lists, metric queries no longer take it, and its name can be used again; references to it stay.',
  },
  viewSchema: makeRecordSchema({ ...semanticFields, validation_errors: validationErrors }).meta({ id: 'SemanticItem' }),
  view: async (ctx, items) =>
    (await filterVisibleErrors(ctx, items)).map((item) => ({
      ...viewResource(item),
      validation_errors: item.validationErrors,
    })),
  query: pagesQuery.extend({ search: searchQuery, status: statusQuery, kind: z.enum(SEMANTIC_KINDS).optional() }),
  filter: ({ search, status, kind }) => ({ search, status, facet: kind }),
  fails: { create: [concurrentChange], update: [semanticItemInUse] },
});
