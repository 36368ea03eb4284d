import conceptGeneration from './concept-generation.v1.txt';
import dataRule from './data-rule.v1.txt';
import improveConcept from './improve-concept.v1.txt';
import improveNode from './improve-node.v1.txt';
import improveRelation from './improve-relation.v1.txt';
import improveSemantic from './improve-semantic.v1.txt';
import ontologyGeneration from './ontology-generation.v1.txt';
import promoteOntology from './promote-ontology.v1.txt';
import promoteSemantic from './promote-semantic.v1.txt';

/** A prompt's text and the version that suggestions made with it carry. A changed text is a new file and a new version. */
interface Prompt {
  version: string;
  text: string;
}

export const PROMPTS = {
  conceptGeneration: { version: 'concept-generation.v1', text: conceptGeneration },
  ontologyGeneration: { version: 'ontology-generation.v1', text: ontologyGeneration },
  improveConcept: { version: 'improve-concept.v1', text: improveConcept },
  improveSemantic: { version: 'improve-semantic.v1', text: improveSemantic },
  improveNode: { version: 'improve-node.v1', text: improveNode },
  improveRelation: { version: 'improve-relation.v1', text: improveRelation },
  promoteSemantic: { version: 'promote-semantic.v1', text: promoteSemantic },
  promoteOntology: { version: 'promote-ontology.v1', text: promoteOntology },
} as const satisfies Record<string, Prompt>;

/** A piece of material: what it is, in our own words, and the text. */
export interface Material {
  what: string;
  text: string;
}

/**
 * A prompt with its material. Each piece stands between marks that hold a random word, which no text can know: what is
 * written inside can neither end it nor pass for anything else.
 */
export function compose({ text }: Prompt, materials: Material[]): { system: string; user: string } {
  const nonce = crypto.randomUUID().replaceAll('-', '');
  const pieces = materials
    .filter((material) => material.text !== '')
    .map((material) => `<data-${nonce} what="${material.what}">\n${material.text}\n</data-${nonce}>`);
  return {
    system: `${text.trim()}\n\n${dataRule.trim().replaceAll('{{nonce}}', nonce)}`,
    user: pieces.join('\n\n'),
  };
}
