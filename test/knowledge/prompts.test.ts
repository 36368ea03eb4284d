import { describe, expect, it } from 'vitest';
import type { Concept } from '../../src/modules/knowledge/concepts/concept.ts';
import { composePrompt, PROMPTS } from '../../src/modules/knowledge/prompts/compose.ts';
import type { Resource } from '../../src/modules/knowledge/resources/reading.ts';
import { chunkConcepts } from '../../src/modules/knowledge/suggestions/prompt-texts.ts';

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

/** Makes concepts with long descriptions, and counts how often their full text is produced. */
function makeConcepts(count: number, characters: number) {
  const counts = { whole: 0 };
  const madeConcepts = Array.from({ length: count }, (_, index) => ({
    id: String(index),
    status: 'active',
    get content() {
      return {
        name: `Concept ${index}`,
        type: 'term',
        aliases: [],
        tags: [],
        description: 'd'.repeat(characters),
        get evidence() {
          // Only the whole text asks for it.
          counts.whole += 1;
          return '';
        },
      };
    },
  }));
  return { told: counts, list: madeConcepts as unknown as Resource<Concept>[] };
}

describe('the concepts of a prompt', () => {
  it('are written in full if they fit into one section', () => {
    const { list } = makeConcepts(3, 1_000);
    const [chunk = '', ...others] = chunkConcepts(list);
    expect([others, chunk.split('\n').length, chunk.includes('d'.repeat(1_000))]).toEqual([[], 3, true]);
  });

  it('are abbreviated once a section is full, without producing the full text of all concepts', () => {
    const { list, told } = makeConcepts(2_000, 10_000);
    const chunks = chunkConcepts(list);
    expect(told.whole).toBeLessThan(10);
    expect(chunks.join('\n').split('\n')).toHaveLength(2_000);
    for (const chunk of chunks) expect(chunk.length).toBeLessThanOrEqual(60_000);
  });

  it('have no section if there are no concepts', () => {
    expect(chunkConcepts([])).toEqual([]);
  });
});
