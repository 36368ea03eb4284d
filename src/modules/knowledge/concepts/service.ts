export { CONCEPT_TYPES, type Concept, concept, conceptMembers } from './concept.ts';
