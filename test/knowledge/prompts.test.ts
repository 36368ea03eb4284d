import { expect, it } from 'vitest';
import { composePrompt, PROMPTS } from '../../src/modules/knowledge/prompts/compose.ts';

/** For each version of a prompt, the beginning of the SHA-256 of its text, including the rule about data. */
const KNOWN_DIGESTS: Record<string, string> = {
  'ask.v1': '21341537ddcd',
  'concept-generation.v1': 'e5f0405169e0',
  'ontology-generation.v1': 'c6ae6996656e',
  'improve-concept.v1': 'd86bc117c173',
  'improve-semantic.v1': '0cd96dd4fb64',
  'improve-node.v1': '82998a414205',
  'improve-relation.v1': '37a6078ca854',
  'promote-semantic.v1': '340737ccebb5',
  'promote-ontology.v1': '04df8146de13',
};

const computeDigest = async (text: string): Promise<string> => {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Buffer.from(bytes).toString('hex').slice(0, 12);
};

it('the version of a prompt always has the same text, because another text needs another version', async () => {
  const digests: Record<string, string> = {};
  for (const prompt of Object.values(PROMPTS)) {
    const { systemPrompt: system } = composePrompt(prompt, []);
    const [, tag = ''] = /<data-(\w{32}) /.exec(system) ?? [];
    digests[prompt.version] = await computeDigest(system.replaceAll(tag, 'MARK'));
  }
  expect(digests).toEqual(KNOWN_DIGESTS);
});
