import ask from './ask.v1.txt';
import conceptGeneration from './concept-generation.v1.txt';
import dataRule from './data-rule.v1.txt';
import dataRuleAsk from './data-rule-ask.v1.txt';
import improveConcept from './improve-concept.v1.txt';
import improveNode from './improve-node.v1.txt';
import improveRelation from './improve-relation.v1.txt';
import improveSemantic from './improve-semantic.v1.txt';
import ontologyGeneration from './ontology-generation.v1.txt';
import promoteOntology from './promote-ontology.v1.txt';
import promoteSemantic from './promote-semantic.v1.txt';

/** A prompt and the version recorded in its suggestions. A changed text is a new file with a new version. */
interface Prompt {
  version: string;
  text: string;
  /** The text that tells the model how to treat the sections; the text of `data-rule.v1.txt` unless given. */
  rule?: string;
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
  ask: { version: 'ask.v1', text: ask, rule: dataRuleAsk },
} as const satisfies Record<string, Prompt>;

/** A section of a prompt, whose text comes from other people. */
export interface PromptSection {
  /** The title that describes the text. */
  title: string;
  text: string;
}

/**
 * Composes a prompt with its sections. Each stands between tags with a random word that no text can contain, so that no
 * text can end its section or imitate another section.
 */
export function composePrompt(
  { text, rule = dataRule }: Prompt,
  sections: PromptSection[],
): { systemPrompt: string; userPrompt: string } {
  const nonce = crypto.randomUUID().replaceAll('-', '');
  const data = sections
    .filter((section) => section.text !== '')
    .map((section) => `<data-${nonce} what="${section.title}">\n${section.text}\n</data-${nonce}>`);
  return {
    systemPrompt: `${text.trim()}\n\n${rule.trim().replaceAll('{{nonce}}', nonce)}`,
    userPrompt: data.join('\n\n'),
  };
}
