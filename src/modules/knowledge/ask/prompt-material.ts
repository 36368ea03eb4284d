import { findReadDenials } from '../../../access/denials.ts';
import type { PrincipalContext } from '../../../context.ts';
import { readTogether } from '../../../db/client.ts';
import { sampleValues } from '../metrics/dimension-values.ts';
import { findHiddenItems } from '../metrics/hidden-items.ts';
import type { PromptSection } from '../prompts/compose.ts';
import { makeQuestionKey } from '../questions/question.ts';
import { denyHiddenQuestions } from '../questions/service.ts';
import { joinLines } from '../suggestions/prompt-texts.ts';
import * as store from './store.ts';

/** Maximum numbers of read items and verified questions, and the maximum length of an item's description in characters. */
const MATERIAL_LIMITS = { items: 500, description: 300, verified: 200 };
/** The maximum number of dimensions whose values are sampled. */
const MAX_SAMPLED_DIMENSIONS = 30;
/** The maximum number of sampled values of a dimension, and the maximum length of a value in characters. */
const SAMPLE_LIMITS = { count: 25, length: 80 };
/** The maximum number of verified questions in the prompt. */
const MAX_EXAMPLES = 20;
/** The maximum number of synonyms of an item in the prompt. */
const MAX_SYNONYMS = 20;
/** The maximum number of characters of the items in the prompt. */
const MAX_ITEMS_LENGTH = 60_000;
/** The maximum number of characters of the verified questions in the prompt. */
const MAX_EXAMPLES_LENGTH = 20_000;

/** A metric or dimension that can be queried, with other names that people use for it. */
type QueryableItem = Omit<Awaited<ReturnType<typeof store.selectQueryableItems>>[number], 'concepts'> & {
  synonyms: string[];
};

/** What may answer a question; the items and verified questions that share words with it come first. */
export interface PromptMaterial {
  items: QueryableItem[];
  verifiedQuestions: Awaited<ReturnType<typeof store.selectVerifiedQuestions>>;
}

const splitWords = (text: string): string[] => makeQuestionKey(text).split(' ');

/** Counts the words of a question, of three characters or more, that occur in the texts. */
function countCommonWords(question: ReadonlySet<string>, texts: readonly string[]): number {
  const words = new Set(texts.flatMap(splitWords));
  return [...words].filter((word) => word.length > 2 && question.has(word)).length;
}

const sortByRelevance = <T>(question: string, items: readonly T[], getTexts: (item: T) => readonly string[]): T[] => {
  const words = new Set(splitWords(question));
  const scoredItems = items.map((item) => ({ item, score: countCommonWords(words, getTexts(item)) }));
  return scoredItems.toSorted((a, b) => b.score - a.score).map(({ item }) => item);
};

/** Reads the metrics, dimensions and verified questions that the caller may use, the most relevant for a question first. */
export async function readPromptMaterial(ctx: PrincipalContext, question: string): Promise<PromptMaterial> {
  const { companyId } = ctx.actor;
  const hiddenItems = await findHiddenItems(ctx);
  const deniedQuestions = await denyHiddenQuestions(ctx, hiddenItems);
  const { items, verified } = await readTogether(ctx.db, {
    items: store.selectQueryableItems(ctx.db, companyId, {
      limit: MATERIAL_LIMITS.items,
      maxDescriptionLength: MATERIAL_LIMITS.description,
      hiddenIds: hiddenItems.ids,
    }),
    verified: store.selectVerifiedQuestions(ctx.db, companyId, deniedQuestions, MATERIAL_LIMITS.verified),
  });
  const concepts = new Map(items.map(({ id, concepts }) => [id, JSON.parse(concepts) as string[]]));
  const namedConcepts = await store.selectAliases(
    ctx.db,
    companyId,
    [...new Set([...concepts.values()].flat())],
    findReadDenials(ctx.actor, 'concept'),
  );
  const namesById = new Map(
    namedConcepts.map(({ id, name, aliases }) => [id, [name, ...(JSON.parse(aliases) as string[])]]),
  );
  const queryableItems = items.map(({ concepts: _ids, ...item }): QueryableItem => {
    const synonyms = (concepts.get(item.id) ?? []).flatMap((id) => namesById.get(id) ?? []);
    return { ...item, synonyms: [...new Set(synonyms)].filter((name) => name !== item.name).slice(0, MAX_SYNONYMS) };
  });
  return {
    items: sortByRelevance(question, queryableItems, (item) => [item.name, ...item.synonyms, item.description]),
    verifiedQuestions: sortByRelevance(question, verified, (verifiedQuestion) => [verifiedQuestion.question]),
  };
}

/** Builds the data sections of the prompt: the question, today's date, and the items and examples to choose from. */
export async function buildSections(
  ctx: PrincipalContext,
  question: string,
  { items, verifiedQuestions }: PromptMaterial,
): Promise<PromptSection[]> {
  const dimensions = items.filter(({ kind }) => kind === 'dimension').slice(0, MAX_SAMPLED_DIMENSIONS);
  const sampledValues = await sampleValues(
    ctx,
    dimensions.map(({ id }) => id),
    SAMPLE_LIMITS,
  );
  const lines = items.map(({ id, kind, name, description, synonyms }) => {
    const { type, values = [] } = sampledValues.get(id) ?? {};
    return JSON.stringify({
      kind,
      name,
      description,
      ...(synonyms.length > 0 && { other_names: synonyms }),
      ...(type && { type }),
      ...(values.length > 0 && { some_values: values }),
    });
  });
  const examples = verifiedQuestions
    .slice(0, MAX_EXAMPLES)
    .map(({ question: text, query }) => JSON.stringify({ question: text, query }));
  return [
    { title: 'the question', text: question },
    { title: 'the day today, in UTC', text: new Date(ctx.now()).toISOString().slice(0, 10) },
    { title: 'the metrics and dimensions', text: joinLines(lines, MAX_ITEMS_LENGTH) },
    { title: 'verified questions with their queries', text: joinLines(examples, MAX_EXAMPLES_LENGTH) },
  ];
}
