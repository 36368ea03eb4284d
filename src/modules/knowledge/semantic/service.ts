export { SEMANTIC_KINDS, type SemanticItem, semanticItem, semanticMembers } from './item.ts';
