import { z } from 'zod';

const text = { type: 'string', maxLength: 8000 } as const;
const BOOLEAN_OR_TEXT_SCHEMA = { type: ['boolean', 'string'], maxLength: 5 } as const;

/**
 * Returns the schema of a body that is read attribute by attribute, ignoring the case of their names; unknown attributes may have
 * any value. @param properties the attributes that are read, for the description
 */
const makeBodySchema = (description: string, properties: Readonly<Record<string, unknown>>) =>
  z.unknown().meta({ type: 'object', additionalProperties: true, description, properties });

const name = {
  type: 'object',
  properties: { formatted: text, givenName: text, familyName: text },
  additionalProperties: true,
};
const members = {
  type: 'array',
  maxItems: 20_000,
  items: { type: 'object', properties: { value: text }, required: ['value'], additionalProperties: true },
};
const schemas = { type: 'array', maxItems: 100, items: text };

export const userBody = makeBodySchema('A user of RFC 7643; what is not named here is taken and not kept.', {
  schemas,
  userName: text,
  displayName: text,
  name,
  active: BOOLEAN_OR_TEXT_SCHEMA,
  externalId: text,
});

export const groupBody = makeBodySchema('A group of RFC 7643.', {
  schemas,
  displayName: text,
  externalId: text,
  members,
});

export const patchBody = makeBodySchema('A PatchOp of RFC 7644.', {
  schemas,
  Operations: {
    type: 'array',
    maxItems: 1000,
    items: {
      type: 'object',
      properties: { op: text, path: text, value: { description: 'Whatever the path is of.' } },
      required: ['op'],
      additionalProperties: true,
    },
  },
});

export const searchBody = makeBodySchema('A SearchRequest of RFC 7644.', {
  schemas,
  filter: text,
  startIndex: { type: 'integer' },
  count: { type: 'integer' },
  sortBy: text,
  sortOrder: text,
  attributes: schemas,
  excludedAttributes: schemas,
});

const attributes = z.string().optional().meta({
  description: 'Attributes to answer, separated by commas; `id` and `schemas` always are.',
});
const excludedAttributes = z.string().optional().meta({ description: 'Attributes to leave out, separated by commas.' });

/** The query of an endpoint that returns one resource. */
export const resourceQuery = z.object({ attributes, excludedAttributes });

const makeIntegerParameter = (description: string) => z.string().optional().meta({ description, type: 'integer' });

const ignoredParameter = z.string().optional().meta({ description: 'Ignored.' });

/** The query of a discovery list: clients may send paging and sorting (RFC 7644, section 4), which are ignored, but no filter. */
export const discoveryQuery = z.object({
  filter: z.string().optional().meta({ description: 'Refused.' }),
  startIndex: ignoredParameter,
  count: ignoredParameter,
  sortBy: ignoredParameter,
  sortOrder: ignoredParameter,
});

/** The query of a list. */
export const listQuery = resourceQuery.extend({
  filter: z.string().optional().meta({ description: 'A filter of RFC 7644: `userName eq "ana@example.com"`.' }),
  startIndex: makeIntegerParameter('The first resource of the page, counted from 1.'),
  count: makeIntegerParameter('The most resources on the page: 100 when not sent, 1000 at most.'),
  sortBy: z.string().optional().meta({
    description:
      'Of users `userName`, of groups `displayName`, of both `displayName`, `meta.created` or `meta.lastModified`.',
  }),
  sortOrder: z.string().optional().meta({ description: '`ascending`, or `descending`.' }),
});
