import { describe, expect, it } from 'vitest';
import type { Concept } from '../../src/modules/knowledge/concepts/concept.ts';
import type { Resource } from '../../src/modules/knowledge/resources/reading.ts';
import { chunkConcepts } from '../../src/modules/knowledge/suggestions/prompt-texts.ts';

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
