import { z } from 'zod';
import type { Content } from '../../../db/schema/knowledge-resources.ts';
import { askModel } from '../../../platform/ai.ts';
import { CONCEPT_TYPES, type Concept, concept } from '../concepts/service.ts';
import { compose, PROMPTS } from '../prompts/compose.ts';
import { MAX_ITEMS } from '../resources/members.ts';
import type { Resource } from '../resources/service.ts';
import {
  conceptsText,
  fitting,
  GROUNDS_SHAPE,
  groundsIn,
  namesStagedBy,
  type Proposal,
  rowOf,
} from '../suggestions/service.ts';
import { type Batch, type BatchTurn, SourceGone } from './batch.ts';
import { readBatch } from './sources.ts';

const PROMPT = PROMPTS.conceptGeneration;
/** Candidates of one answer that are looked at; the schema has room for no more in any case. */
const MAX_CANDIDATES = 200;

const SHAPE = z.object({
  candidates: z.array(
    z.object({
      action: z.enum(['create', 'enrich']),
      existing_concept_id: z.string().nullable(),
      name: z.string(),
      description: z.string(),
      type: z.enum(CONCEPT_TYPES),
      aliases: z.array(z.string()),
      tags: z.array(z.string()),
      ...GROUNDS_SHAPE,
    }),
  ),
});

const answered = z.object({ candidates: z.array(z.unknown()) });

const candidateMembers = z.object({
  action: z.enum(['create', 'enrich']),
  existing_concept_id: z.string().nullish(),
  name: z.unknown().optional(),
  description: z.unknown().optional(),
  type: z.unknown().optional(),
  aliases: z.unknown().optional(),
  tags: z.unknown().optional(),
});

/** Asks for the concepts of one part of the material, or of one business domain where there is no text. */
export async function conceptBatch(turn: BatchTurn): Promise<Batch> {
  const { ctx, settings, job, usage } = turn;
  const given = await materialsOf(turn);
  const { text, concepts } = await conceptsText(ctx, given.map((material) => material.text).join('\n'));
  const staged = await namesStagedBy(ctx, job.id);
  const proposed = staged
    .filter(({ targetType }) => targetType === 'concept_create')
    .map(({ targetName }) => targetName);
  const materials = [
    ...given,
    { what: 'existing concepts', text },
    { what: 'names already proposed', text: fitting(proposed.map((name) => JSON.stringify(name))) },
  ];
  const { value: candidates, model } = await askModel(
    settings,
    {
      name: 'concepts',
      ...compose(PROMPT, materials),
      shape: SHAPE,
      read: (answer) => answered.parse(answer).candidates,
    },
    usage,
  );
  const known = new Map(concepts.map((resource) => [resource.id, resource]));
  const names = new Set(concepts.map(({ content }) => concept.keyOf(content)));
  const taken = new Set(staged.map(({ candidateKey }) => candidateKey));
  const rows = candidates.slice(0, MAX_CANDIDATES).flatMap((candidate) => {
    const read = proposalOf(candidate, known, names);
    const key = read && keyOf(read);
    if (!read || taken.has(key as string)) return [];
    taken.add(key as string);
    const of = {
      createdByUserId: job.createdByUserId,
      requestId: job.requestId,
      jobId: job.id,
      candidateKey: key as string,
    };
    return [rowOf(ctx, { ...read, model, promptVersion: PROMPT.version }, of)];
  });
  return { rows, rejected: candidates.length - rows.length };
}

async function materialsOf({ ctx, job }: BatchTurn) {
  const { businessDomains = [], source } = job.input;
  const domainsText = (domains: typeof businessDomains) => fitting(domains.map((domain) => JSON.stringify(domain)));
  if (!source) {
    return [
      { what: 'business domain', text: domainsText(businessDomains.slice(job.processedCount, job.processedCount + 1)) },
    ];
  }
  const text = await readBatch(ctx, source, job.processedCount);
  if (text === undefined) throw new SourceGone();
  return [
    { what: 'business domains', text: domainsText(businessDomains) },
    { what: `part ${job.processedCount + 1} of ${job.totalCount} of a document`, text },
  ];
}

type Read = Omit<Proposal, 'model' | 'promptVersion'>;

const keyOf = ({ targetId, targetName }: Read): string =>
  targetId === null ? `create\n${concept.keyOf({ name: targetName } as Concept)}` : `enrich\n${targetId}`;

/** What a candidate proposes; undefined for one that is not valid, or names a concept that it should enrich. */
function proposalOf(candidate: unknown, known: Map<string, Resource<Concept>>, names: Set<string>): Read | undefined {
  const members = candidateMembers.safeParse(candidate);
  if (!members.success) return undefined;
  const { action, existing_concept_id, ...content } = members.data;
  const grounds = grounded(candidate);
  if (!grounds) return undefined;
  if (action === 'enrich') {
    const existing = known.get(existing_concept_id ?? '');
    return existing && enrichment(existing, content, grounds);
  }
  const parsed = concept.create.safeParse({
    ...withoutNulls(content),
    source: 'model',
    confidence: grounds.confidence,
  });
  if (!parsed.success) return undefined;
  const name = parsed.data.name as string;
  if (names.has(concept.keyOf(parsed.data as Concept))) return undefined;
  const target = { targetType: 'concept_create' as const, targetId: null, targetVersion: null, targetName: name };
  return { ...grounds, ...target, conceptId: null, conceptName: null, payload: parsed.data };
}

function enrichment(
  existing: Resource<Concept>,
  { description, type, aliases, tags }: Content,
  grounds: ReturnType<typeof groundsIn>,
): Read | undefined {
  const parsed = concept.changes.safeParse(withoutNulls({ description, type, aliases, tags }));
  if (!parsed.success) return undefined;
  const { content } = existing;
  const { aliases: moreAliases = [], tags: moreTags = [], ...rest } = parsed.data;
  // Enriching adds to what people have collected; it takes nothing away.
  const wanted: Content = {
    ...rest,
    aliases: union(content.aliases, moreAliases),
    tags: union(content.tags, moreTags),
  };
  const payload = Object.fromEntries(
    Object.entries(wanted).filter(
      ([member, value]) => JSON.stringify(value) !== JSON.stringify(content[member as keyof Concept]),
    ),
  );
  if (Object.keys(payload).length === 0) return undefined;
  return {
    ...grounds,
    targetType: 'concept',
    targetId: existing.id,
    targetVersion: existing.version,
    targetName: content.name,
    conceptId: existing.id,
    conceptName: content.name,
    payload,
  };
}

function grounded(candidate: unknown): ReturnType<typeof groundsIn> | undefined {
  try {
    return groundsIn(candidate);
  } catch {
    return undefined;
  }
}

const withoutNulls = (content: Content): Content =>
  Object.fromEntries(Object.entries(content).filter(([, value]) => value !== null && value !== undefined));

const union = (kept: string[], more: string[]): string[] => [...new Set([...kept, ...more])].slice(0, MAX_ITEMS);
