import type { ApiResponse, Caller } from '../support/api.ts';

export const KNOWLEDGE_PATH = '/api/v1/domain-knowledge';

let createdCount = 0;

/** Makes a name that is unique in the test run. */
export const makeName = (prefix: string): string => {
  return `${prefix} ${++createdCount}`;
};

/** An id of the right form that no record has. */
export const UNKNOWN_ID = 'f'.repeat(24);

async function createResource(as: Caller, path: string, json: Record<string, unknown>): Promise<string> {
  const { status, body } = await as.post(`${KNOWLEDGE_PATH}${path}`, { json });
  if (status !== 201) throw new Error(`Making ${path} answered ${status}: ${JSON.stringify(body)}`);
  return body._id;
}

const makeNameAndDescription = (subjectWord: string) => ({
  name: makeName(subjectWord),
  description: `What a ${subjectWord} is.`,
});

export const createConcept = (as: Caller, fields: Record<string, unknown> = {}): Promise<string> =>
  createResource(as, '/concepts', { ...makeNameAndDescription('concept'), ...fields });

/** Creates a semantic item, by default an entity with a new concept. */
export const createItem = async (as: Caller, fields: Record<string, unknown> = {}): Promise<string> =>
  createResource(as, '/semantic', {
    kind: 'entity',
    ...makeNameAndDescription('item'),
    ...(fields.source_concept_ids === undefined && { source_concept_ids: [await createConcept(as)] }),
    ...fields,
  });

export const createNode = (as: Caller, fields: Record<string, unknown> = {}): Promise<string> =>
  createResource(as, '/ontology/nodes', { ...makeNameAndDescription('node'), node_type: 'class', ...fields });

export const createRelation = (as: Caller, subject: string, predicate: string, object: string): Promise<string> =>
  createResource(as, '/ontology/relations', {
    subject_node_id: subject,
    predicate,
    object_node_id: object,
    description: 'How they belong together.',
  });

/** Returns the names of the fields in a 422 answer. */
export const readInvalidFields = ({ status, body }: ApiResponse): string[] => {
  if (status !== 422) throw new Error(`Answered ${status} and not 422: ${JSON.stringify(body)}`);
  return body.details.map(({ field }: { field: string }) => field);
};
