export { NODE_TYPES, nodeMembers, type OntologyNode, ontologyNode } from './node.ts';
export { type OntologyRelation, ontologyRelation, relationMembers } from './relation.ts';
