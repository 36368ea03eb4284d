/** The actions on nodes and relations: a caller who may list them may also get them. */
export const ONTOLOGY_ACTIONS = {
  list: 'ontology:list',
  create: 'ontology:create',
  get: 'ontology:list',
  update: 'ontology:update',
  archive: 'ontology:delete',
} as const;
