import type { ApiResponse, Caller } from '../support/api.ts';

export const KNOWLEDGE_PATH = '/api/v1/domain-knowledge';

let createdCount = 0;

/** A name that nothing else in the run has. */
export const aName = (what: string): string => {
  createdCount += 1;
  return `${what} ${createdCount}`;
};

/** An id of the right shape that nothing has. */
export const NOBODY = 'f'.repeat(24);

async function make(as: Caller, path: string, json: Record<string, unknown>): Promise<string> {
  const { status, body } = await as.post(`${KNOWLEDGE_PATH}${path}`, { json });
  if (status !== 201) throw new Error(`Making ${path} answered ${status}: ${JSON.stringify(body)}`);
  return body._id;
}

const described = (what: string) => ({ name: aName(what), description: `What a ${what} is.` });

export const aConcept = (as: Caller, fields: Record<string, unknown> = {}): Promise<string> =>
  make(as, '/concepts', { ...described('concept'), ...fields });

/** A semantic item, by default an entity of a concept of its own. */
export const anItem = async (as: Caller, fields: Record<string, unknown> = {}): Promise<string> =>
  make(as, '/semantic', {
    kind: 'entity',
    ...described('item'),
    ...(fields.source_concept_ids === undefined && { source_concept_ids: [await aConcept(as)] }),
    ...fields,
  });

export const aNode = (as: Caller, fields: Record<string, unknown> = {}): Promise<string> =>
  make(as, '/ontology/nodes', { ...described('node'), node_type: 'class', ...fields });

export const aRelation = (as: Caller, subject: string, predicate: string, object: string): Promise<string> =>
  make(as, '/ontology/relations', {
    subject_node_id: subject,
    predicate,
    object_node_id: object,
    description: 'How they belong together.',
  });

/** The fields that a 422 names. */
export const fieldsOf = ({ status, body }: ApiResponse): string[] => {
  if (status !== 422) throw new Error(`Answered ${status} and not 422: ${JSON.stringify(body)}`);
  return body.details.map(({ field }: { field: string }) => field);
};
