/** The actions of nodes and relations: who may list them may get them. */
export const ONTOLOGY_ACTIONS = {
  list: 'ontology:list',
  create: 'ontology:create',
  get: 'ontology:list',
  update: 'ontology:update',
  archive: 'ontology:delete',
} as const;
